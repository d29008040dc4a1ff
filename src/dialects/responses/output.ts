import type { JsonObject, Part, RefusalPart, TextPart, ToolCallPart } from '../ir.ts';
import { objectIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { readThought, thoughtItem } from './thoughts.ts';
import {
  type ImageItem,
  type ItemStatus,
  type OutputContent,
  type OutputItem,
  type OutputMessage,
  readLogprobs,
  wireLogprobs,
} from './wire.ts';

/** Items of an answer, and the parts they mean. */

/** Texts and refusals in a row are the content of one message; every other part is an item of its own. */
export const isSaid = (part: Part): part is TextPart | RefusalPart => part.type === 'text' || part.type === 'refusal';

export function outputContent(part: TextPart | RefusalPart): OutputContent {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.text };
  return { type: 'output_text', text: part.text, annotations: [], logprobs: wireLogprobs(part.logprobs ?? []) };
}

/** The content of an answer, with what only this dialect knows of it. */
export function replyContent(part: TextPart | RefusalPart): OutputContent {
  const { message, ...members } = part.ext?.responses ?? {};
  return { ...outputContent(part), ...members };
}

export const messageItem = (
  parts: readonly (TextPart | RefusalPart)[],
  id: string,
  status: ItemStatus,
): OutputMessage => ({
  ...objectIn(parts[0]?.ext?.responses?.message),
  type: 'message',
  id,
  role: 'assistant',
  status,
  content: parts.map(replyContent),
});

/** A part that is an item of its own; null when answers here cannot have it. */
export function partItem(part: Part, id: string, status: ItemStatus): OutputItem | null {
  switch (part.type) {
    case 'tool-call':
      return { ...part.ext?.responses, ...callItem(part, id, status) };
    case 'reasoning':
      return thoughtItem(part, id);
    case 'media':
      return part.kind === 'image' && part.source.type === 'data' ? imageItem(part.source.data, id, status) : null;
    case 'opaque':
      return part.dialect === 'responses' ? (part.raw as unknown as OutputItem) : null;
    default:
      return null;
  }
}

function callItem({ id: call_id, name, argsText, custom }: ToolCallPart, id: string, status: ItemStatus): OutputItem {
  if (custom) return { type: 'custom_tool_call', id, call_id, name, input: argsText };
  return { type: 'function_call', id, call_id, name, arguments: argsText, status };
}

const imageItem = (data: string, id: string, status: ItemStatus): ImageItem =>
  status === 'in_progress'
    ? { type: 'image_generation_call', id, status, result: null }
    : { type: 'image_generation_call', id, status: 'completed', result: data };

/** Ids follow from the response's own, so that its stream and its stored form have the same ones. */
export function itemId(part: Part, responseId: string, index: number): string {
  return `${prefixOf(part)}_${responseId.replace(/^resp_/, '').replace(/[^A-Za-z0-9]/g, '')}${index}`;
}

function prefixOf(part: Part): string {
  if (part.type === 'tool-call') return part.custom ? 'ctc' : 'fc';
  if (part.type === 'reasoning') return 'rs';
  return part.type === 'media' ? 'ig' : 'msg';
}

const MESSAGE_MEMBERS = new Set(['type', 'id', 'role', 'status', 'content']);
const CONTENT_MEMBERS = new Set(['type', 'text', 'refusal', 'logprobs']);
const CALL_MEMBERS = new Set(['type', 'id', 'call_id', 'name', 'arguments', 'input', 'status']);

/** The parts of an item. A thought of which nothing is shown is none. */
export function itemParts(item: JsonObject): Part[] {
  switch (item.type) {
    case 'message': {
      const content = Array.isArray(item.content) ? item.content.map(objectIn) : [];
      return withMessage(content.map(contentPart), messageRest(item));
    }
    case 'function_call':
    case 'custom_tool_call':
      return [readCall(item)];
    case 'reasoning': {
      const part = readThought(item);
      return part.text === undefined && part.redacted === undefined ? [] : [part];
    }
    default:
      return [{ type: 'opaque', dialect: 'responses', raw: item }];
  }
}

/** Members of a message that only this dialect has. */
export const messageRest = (item: JsonObject): JsonObject | undefined => restOf(item, MESSAGE_MEMBERS);

/** What belongs to the message stays with its first part. */
export function withMessage(parts: readonly Part[], message: JsonObject | undefined): Part[] {
  const [first, ...others] = parts;
  if (!first || !message) return [...parts];
  return [{ ...first, ext: { ...first.ext, responses: { ...first.ext?.responses, message } } }, ...others];
}

export function contentPart(content: JsonObject): Part {
  const ext = contentExt(content);
  if (content.type === 'refusal')
    return present<Part>({ type: 'refusal', text: textIn(content.refusal) ?? '', ext: ext && { responses: ext } });
  if (content.type !== 'output_text') return { type: 'opaque', dialect: 'responses', raw: content };
  const logprobs = readLogprobs(content.logprobs);
  return present<Part>({
    type: 'text',
    text: textIn(content.text) ?? '',
    logprobs,
    ext: ext && { responses: ext },
  });
}

/** Members of a content that have no meaning elsewhere; a list without annotations says nothing. */
export function contentExt(content: JsonObject): JsonObject | undefined {
  const { annotations, ...rest } = restOf(content, CONTENT_MEMBERS) ?? {};
  const isSaying = !Array.isArray(annotations) || annotations.length > 0;
  return restOf({ ...rest, ...(isSaying && { annotations }) }, new Set());
}

export function readCall(item: JsonObject): ToolCallPart {
  const { caller, ...others } = restOf(item, CALL_MEMBERS) ?? {};
  const rest = objectIn(caller).type === 'direct' ? others : present({ ...others, caller });
  const isCustom = item.type === 'custom_tool_call';
  return present<ToolCallPart>({
    type: 'tool-call',
    id: textIn(item.call_id) ?? '',
    name: textIn(item.name) ?? '',
    argsText: isCustom ? (textIn(item.input) ?? '') : (someTextIn(item.arguments) ?? '{}'),
    custom: isCustom ? true : undefined,
    ext: Object.keys(rest).length > 0 ? { responses: rest } : undefined,
  });
}
