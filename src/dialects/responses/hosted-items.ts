import { madeAt } from '../../core/object-ids.ts';
import type { JsonObject } from '../ir.ts';
import { isObject, objectIn, objectsIn, textIn } from '../json.ts';

/** Items of tools that run beside the model, and what they are to a model that only knows functions. */

export const FILE_SEARCH = 'file_search';
export const CODE_INTERPRETER = 'code_interpreter';
export const IMAGE_GENERATION = 'image_generation';
export const WEB_SEARCH = 'web_search';

/** The name of a server's tool as a function: providers take letters, digits, lines and 64 of them. */
export function mcpFunctionName(server: string, tool: string): string {
  const name = `${server}__${tool}`.replace(/[^a-zA-Z0-9_-]/g, '_');
  return name.length <= 64 ? name : `${name.slice(0, 50)}_${Bun.hash(`${server} ${tool}`).toString(36).slice(0, 13)}`;
}

/** What a call of a tool is to a model: a call of a function, and its output. */
export const asFunction = (call: {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: string;
}): JsonObject[] => [
  { type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments },
  { type: 'function_call_output', call_id: call.id, output: call.output },
];

/** Items without those of tools that run beside the model: these become calls of functions, with what came of them. */
export function plainItems(items: readonly unknown[]): unknown[] {
  const refused = new Set(
    objectsIn(items).flatMap(({ type, approve, approval_request_id }) =>
      type === 'mcp_approval_response' && approve === false ? [approval_request_id] : [],
    ),
  );
  return items.flatMap((item) => (isObject(item) ? plainItem(item, refused.has(item.id)) : [item]));
}

function plainItem(item: JsonObject, isRefused: boolean): readonly unknown[] {
  const id = textIn(item.id) ?? 'call_unknown';
  switch (item.type) {
    case 'file_search_call': {
      const args = JSON.stringify({ queries: Array.isArray(item.queries) ? item.queries : [] });
      return asFunction({ id, name: FILE_SEARCH, arguments: args, output: foundIn(item) });
    }
    case 'code_interpreter_call': {
      const args = JSON.stringify({ code: textIn(item.code) ?? '' });
      const logs = objectsIn(item.outputs).map((output) => textIn(output.logs) ?? '');
      return asFunction({ id, name: CODE_INTERPRETER, arguments: args, output: logs.join('\n') || NOT_REPEATED });
    }
    case 'image_generation_call': {
      // One of a provider is known there by its id.
      if (madeAt('imageGenerationCall', id) === null) return [item];
      const args = JSON.stringify({ prompt: textIn(item.revised_prompt) ?? '' });
      const output = item.status === 'completed' ? 'The image was made, and the user sees it.' : 'No image was made.';
      return asFunction({ id, name: IMAGE_GENERATION, arguments: args, output });
    }
    case 'web_search_call': {
      if (madeAt('webSearchCall', id) === null) return [item];
      const { query, sources } = objectIn(item.action);
      const found = objectsIn(sources).map(({ url }) => `- ${textIn(url) ?? ''}`);
      const args = JSON.stringify({ query: textIn(query) ?? '' });
      return asFunction({ id, name: WEB_SEARCH, arguments: args, output: ['Sources:', ...found].join('\n') });
    }
    case 'mcp_call': {
      const name = mcpFunctionName(textIn(item.server_label) ?? '', textIn(item.name) ?? '');
      const output = textIn(item.output) ?? errorText(item.error) ?? NOT_REPEATED;
      return asFunction({ id, name, arguments: textIn(item.arguments) || '{}', output });
    }
    case 'mcp_approval_request': {
      if (!isRefused) return [];
      const name = mcpFunctionName(textIn(item.server_label) ?? '', textIn(item.name) ?? '');
      return asFunction({ id, name, arguments: textIn(item.arguments) || '{}', output: REFUSED });
    }
    case 'mcp_list_tools':
    case 'mcp_approval_response':
      return [];
    default:
      return [item];
  }
}

const REFUSED = 'The user did not allow this call.';
const NOT_REPEATED = 'Done; what came of it is not repeated here.';

/** Why a call of a server's tool came to nothing, as the vendor tells it. */
export type McpCallError =
  | { readonly type: 'mcp_protocol_error' | 'http_error'; readonly code: number; readonly message: string }
  | { readonly type: 'mcp_tool_execution_error'; readonly content: readonly JsonObject[] };

/** The same in words. */
export function mcpErrorText(error: unknown): string {
  const { message, content } = objectIn(error);
  const texts = objectsIn(content).flatMap(({ text }) => textIn(text) ?? []);
  return textIn(message) ?? (texts.length > 0 ? texts.join('\n') : JSON.stringify(error));
}

/** Before errors had a form of their own they were texts, and clients send again what they were given. */
const errorText = (error: unknown): string | undefined =>
  typeof error === 'string' ? `Error: ${error}` : isObject(error) ? `Error: ${mcpErrorText(error)}` : undefined;

function foundIn(item: JsonObject): string {
  const results = objectsIn(item.results);
  if (results.length === 0) return NOT_REPEATED;
  return results
    .map((result) => `${JSON.stringify(textIn(result.filename) ?? '')}\n${textIn(result.text) ?? ''}`)
    .join('\n\n');
}

/** What clients are shown only when they ask for it, by `include`. */
const ON_REQUEST: Readonly<Record<string, { readonly member: string; readonly include: string }>> = {
  file_search_call: { member: 'results', include: 'file_search_call.results' },
  code_interpreter_call: { member: 'outputs', include: 'code_interpreter_call.outputs' },
};

const SOURCES = 'web_search_call.action.sources';

export const INCLUDED_HERE: readonly string[] = [...Object.values(ON_REQUEST).map(({ include }) => include), SOURCES];

/** An item as a client is shown it. */
export function shownItem(item: JsonObject, include: ReadonlySet<string>): JsonObject {
  if (item.type === 'web_search_call' && !include.has(SOURCES)) {
    const { sources: _, ...action } = objectIn(item.action);
    return { ...item, action };
  }
  const rule = ON_REQUEST[textIn(objectIn(item).type) ?? ''];
  return rule && item[rule.member] !== undefined && !include.has(rule.include)
    ? { ...item, [rule.member]: null }
    : item;
}
