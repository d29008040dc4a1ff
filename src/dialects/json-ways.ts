import { takesSchemas } from './anthropic/models.ts';
import { vendorOf } from './converse/models.ts';
import type { Changed, Quirks } from './dialect.ts';
import type { DialectName, JsonFormat, ModelRequest, Turn } from './ir.ts';
import { jsonByTool, schemaByTool } from './json-tool.ts';

/**
 * How a provider is made to answer in JSON: by its own setting, by a function that the model must call, or by words. Only
 * words leave it to the model, so such an answer is checked (`relay/json-check.ts`).
 */
export interface JsonWay {
  readonly request: ModelRequest;
  /** The answer comes as a call of a function. */
  readonly isCalled: boolean;
  /** What the answer is checked against, where the model was asked in words. */
  readonly checked: JsonFormat | null;
  readonly changed: readonly Changed[];
}

export function jsonWay(request: ModelRequest, into: DialectName, { lacksSchemas }: Quirks = {}): JsonWay {
  const { responseFormat: format } = request;
  const isUnknown = lacksSchemas === true && format?.type === 'schema';
  if (!format || format.type === 'text' || (!isUnknown && hasOwn(request, format, into)))
    return { request, isCalled: false, checked: null, changed: [] };
  const path = request.origin?.names.responseFormat ?? 'responseFormat';
  const { responseFormat: _format, ...others } = request;
  const called = CALLS.has(into) && mayForce(request) ? forced(others, format) : null;
  if (called)
    return {
      request: called,
      isCalled: true,
      checked: null,
      changed: [{ path, how: 'by a function that must be called' }],
    };
  const asked = {
    ...others,
    turns: instructed(request.turns, format),
    // Some JSON is closer to JSON of a schema than any text.
    ...(isUnknown && { responseFormat: { type: 'json' as const } }),
  };
  return { request: asked, isCalled: false, checked: format, changed: [{ path, how: 'by words, and checked' }] };
}

/** Dialects whose providers can be told which function to call, and have no setting for "any JSON object". */
const CALLS: ReadonlySet<DialectName> = new Set(['anthropic', 'converse']);

/** Not beside other tools or thoughts, with which a call cannot be forced. */
function mayForce({ tools = [], reasoning }: ModelRequest): boolean {
  const isThinking = reasoning !== undefined && reasoning.mode !== 'off' && reasoning.effort !== 'none';
  return tools.length === 0 && !isThinking;
}

const forced = (request: ModelRequest, format: JsonFormat): ModelRequest | null =>
  format.type === 'json' ? jsonByTool(request) : schemaByTool(request, format);

/** Whether the provider has a setting for this format that works beside the rest of the call. */
function hasOwn({ model, tools = [] }: ModelRequest, { type }: JsonFormat, into: DialectName): boolean {
  switch (into) {
    case 'anthropic':
      return type === 'schema' && takesSchemas(model);
    case 'converse': {
      const vendor = vendorOf(model);
      return type === 'schema' && (vendor === 'anthropic' ? takesSchemas(model) : vendor !== 'amazon');
    }
    // Both refuse a call that has tools and wants JSON; Gemini from its third generation on does not.
    case 'gemini':
      return tools.length === 0 || !/gemini-[12]\b/.test(model);
    case 'cohere':
      return tools.length === 0;
    default:
      return true;
  }
}

/** The wish in words, behind the instructions that the client gave at the beginning. */
function instructed(turns: readonly Turn[], format: JsonFormat): readonly Turn[] {
  const wish: Turn = { role: 'system', parts: [{ type: 'text', text: wishFor(format) }] };
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return first < 0 ? [...turns, wish] : [...turns.slice(0, first), wish, ...turns.slice(first)];
}

function wishFor(format: JsonFormat): string {
  const plain =
    'When you answer the user, the answer is one JSON object and nothing else: no words before or after it, no code fence. This does not change how you call tools.';
  return format.type === 'json'
    ? plain
    : `${plain} The object fits this JSON Schema:\n${JSON.stringify(format.schema)}`;
}

/** The same call once more, with the answer that was wrong and what is wrong with it. */
export function repairing(request: ModelRequest, answer: string, fault: string): ModelRequest {
  const wrong: Turn[] =
    answer.trim() === '' ? [] : [{ role: 'assistant', parts: [{ type: 'text', text: answer.trim() }] }];
  const said = `Your answer cannot be used: ${fault}. Give the same answer again as one JSON object and nothing else.`;
  return { ...request, turns: [...request.turns, ...wrong, { role: 'user', parts: [{ type: 'text', text: said }] }] };
}
