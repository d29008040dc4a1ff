import { newObjectId, type ObjectKind } from '../core/object-ids.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject, objectsIn, textIn } from '../dialects/json.ts';
import { withShownTools } from '../dialects/responses/shown-tools.ts';

/** An item as it is stored and listed: with its type, an id, and content that is a list. */
export interface StoredItem {
  readonly id: string;
  readonly item: JsonObject;
}

const KINDS: Readonly<Record<string, ObjectKind>> = {
  message: 'message',
  function_call: 'functionCall',
  function_call_output: 'functionCallOutput',
  reasoning: 'reasoning',
};

/** Items that have no status at the vendor's, or not always one. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set([
  ...['reasoning', 'compaction', 'compaction_trigger', 'additional_tools', 'configuration_update', 'program'],
  ...['mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response'],
]);

/** The items of an input that the dialect has read before, so they are what they should be. */
export function inputItems(input: unknown, now: number): StoredItem[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsIn(input);
  return items.map((item) => storedItem(item, now));
}

export const outputItems = (output: unknown, now: number): StoredItem[] =>
  objectsIn(output).map((item) => storedItem(item, now));

function storedItem(given: JsonObject, now: number): StoredItem {
  const type = textIn(given.type) ?? 'message';
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type]! : 'responseItem';
  const id = textIn(given.id) || newObjectId(kind, now);
  const item: Record<string, unknown> = { ...(type === 'additional_tools' ? withShownTools(given) : given), id, type };
  if (type === 'message') item.content = contentList(given);
  if (Array.isArray(given.output) && type.endsWith('_output')) item.output = given.output.map(filledPart);
  if (!WITHOUT_STATUS.has(type)) item.status ??= 'completed';
  return { id, item };
}

function contentList({ role, content }: JsonObject): unknown {
  if (typeof content !== 'string') return Array.isArray(content) ? content.map(filledPart) : content;
  if (role !== 'assistant') return [{ type: 'input_text', text: content }];
  return [{ type: 'output_text', text: content, annotations: [], logprobs: [] }];
}

/** With what a client may leave out and every reader finds. */
function filledPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  if (part.type === 'input_image') return { ...part, detail: part.detail ?? 'auto' };
  return part.type === 'output_text' ? { ...part, annotations: part.annotations ?? [] } : part;
}

/** An item that stands for one that is stored. */
export const isReference = (item: unknown): item is { readonly id: string } =>
  isObject(item) &&
  typeof item.id === 'string' &&
  (item.type === 'item_reference' || ((item.type ?? null) === null && (item.role ?? null) === null));
