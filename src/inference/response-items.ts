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
  if (type !== 'reasoning') item.status ??= 'completed';
  return { id, item };
}

function contentList({ role, content }: JsonObject): unknown {
  if (typeof content !== 'string') return content;
  if (role !== 'assistant') return [{ type: 'input_text', text: content }];
  return [{ type: 'output_text', text: content, annotations: [], logprobs: [] }];
}

/** An item that stands for one that is stored. */
export const isReference = (item: unknown): item is { readonly id: string } =>
  isObject(item) &&
  typeof item.id === 'string' &&
  (item.type === 'item_reference' || ((item.type ?? null) === null && (item.role ?? null) === null));
