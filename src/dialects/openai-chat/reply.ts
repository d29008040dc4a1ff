import type { Encoded, ReplyContext } from '../dialect.ts';
import { FramingError } from '../framing-error.ts';
import type { Choice, Finish, JsonObject, ModelReply, Part, ReplyHead, TokenLogprob } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { Losses } from '../losses.ts';
import { needsBlocks, partBlock, providerPart, reasoningPart } from './blocks.ts';
import { decodeUsage, encodeUsage } from './usage.ts';
import {
  type ChatReply,
  finishReason,
  type Logprobs,
  type Said,
  type ToolCall,
  wireFinish,
  wireLogprobs,
} from './wire.ts';

const HEAD_MEMBERS = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier']);
const CHOICE_MEMBERS = new Set(['index', 'message', 'delta', 'logprobs', 'finish_reason']);
export const MESSAGE_MEMBERS = new Set([
  'role',
  'content',
  'refusal',
  'tool_calls',
  'reasoning_content',
  'reasoning',
  'content_blocks',
]);

export function decodeReply(body: unknown): ModelReply {
  if (!isObject(body) || !Array.isArray(body.choices)) throw new FramingError('the answer is no chat completion');
  const choices = objectsIn(body.choices).toSorted(
    (one, other) => (countIn(one.index) ?? 0) - (countIn(other.index) ?? 0),
  );
  return present<ModelReply>({
    ...decodeHead(body),
    choices: choices.map(decodeChoice),
    usage: isObject(body.usage) ? decodeUsage(body.usage) : undefined,
  });
}

/** From a completion, or from the first chunk of a streamed one. */
export function decodeHead(body: JsonObject): ReplyHead {
  const tier = textIn(body.service_tier);
  const rest = restOf(body, HEAD_MEMBERS);
  return present<ReplyHead>({
    id: someTextIn(body.id),
    model: someTextIn(body.model),
    createdAt: countIn(body.created),
    serviceTier: tier === 'default' ? 'standard' : tier,
    ext: rest && { 'openai-chat': rest },
  });
}

export const decodeFinish = (raw: string, said: Said): Finish => ({ reason: finishReason(raw, said), raw });

const saidIn = (parts: readonly Part[]): Said => ({
  hasCalls: parts.some((part) => part.type === 'tool-call'),
  hasRefusal: parts.some((part) => part.type === 'refusal'),
});

function decodeChoice(choice: JsonObject): Choice {
  const message = objectIn(choice.message);
  const raw = textIn(choice.finish_reason);
  const parts = messageParts(message, objectIn(choice.logprobs));
  const rest = { ...restOf(choice, CHOICE_MEMBERS), ...messageRest(message) };
  return present<Choice>({
    parts,
    finish: raw === undefined ? { reason: 'other' } : decodeFinish(raw, saidIn(parts)),
    ext: Object.keys(rest).length > 0 ? { 'openai-chat': rest } : undefined,
  });
}

/** Members of the message that we do not know, such as its annotations; empty lists say nothing. */
export function messageRest(message: JsonObject): JsonObject {
  const rest = restOf(message, MESSAGE_MEMBERS) ?? {};
  const said = Object.entries(rest).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return said.length > 0 ? { message: Object.fromEntries(said) } : {};
}

function messageParts(message: JsonObject, logprobs: JsonObject): Part[] {
  const blocks = Array.isArray(message.content_blocks) ? objectsIn(message.content_blocks) : null;
  const parts: Part[] = [];
  const thoughts = someTextIn(message.reasoning_content) ?? someTextIn(message.reasoning);
  if (blocks) parts.push(...blocks.map(partOfBlock));
  else if (thoughts) parts.push({ type: 'reasoning', text: thoughts });
  // Some compatible providers answer with a list of parts.
  if (!blocks && Array.isArray(message.content)) parts.push(...objectsIn(message.content).map(partOfBlock));
  const content = someTextIn(message.content);
  if (content && !blocks) parts.push(withLogprobs({ type: 'text', text: content }, logprobs.content));
  const refusal = someTextIn(message.refusal);
  if (refusal && !blocks) parts.push(withLogprobs({ type: 'refusal', text: refusal }, logprobs.refusal));
  for (const call of objectsIn(message.tool_calls)) parts.push(callPart(call));
  return blocks && logprobs.content ? withFirstText(parts, logprobs.content) : parts;
}

function withLogprobs(part: Part, logprobs: unknown): Part {
  return Array.isArray(logprobs) ? ({ ...part, logprobs: logprobs as TokenLogprob[] } as Part) : part;
}

/** Tokens are listed for the whole content; they go to its first text. */
function withFirstText(parts: Part[], logprobs: unknown): Part[] {
  const first = parts.findIndex((part) => part.type === 'text');
  return parts.map((part, index) => (index === first ? withLogprobs(part, logprobs) : part));
}

export function partOfBlock(block: JsonObject): Part {
  const known = reasoningPart(block) ?? providerPart(block);
  if (known) return known;
  if (block.type === 'text') return { type: 'text', text: textIn(block.text) ?? '' };
  if (block.type === 'refusal') return { type: 'refusal', text: textIn(block.refusal) ?? '' };
  return { type: 'opaque', dialect: 'openai-chat', raw: block };
}

export function callPart(call: JsonObject): Part {
  const id = textIn(call.id) ?? '';
  if (call.type === 'custom') {
    const custom = objectIn(call.custom);
    return {
      type: 'tool-call',
      id,
      name: textIn(custom.name) ?? '',
      argsText: textIn(custom.input) ?? '',
      custom: true,
    };
  }
  const called = objectIn(call.function);
  return { type: 'tool-call', id, name: textIn(called.name) ?? '', argsText: someTextIn(called.arguments) ?? '{}' };
}

export function encodeReply(reply: ModelReply, context: ReplyContext): Encoded<ChatReply> {
  const losses = new Losses('openai-chat');
  const ext = losses.requestExt(reply.ext);
  if (reply.usage) losses.ext(reply.usage, 'usage');
  const body: ChatReply = present({
    ...ext,
    ...encodeHead(reply, context, 'chat.completion'),
    choices: reply.choices.map((choice, index) => encodeChoice(choice, index, context, losses)),
    usage: reply.usage && encodeUsage(reply.usage, losses),
  });
  return losses.with(body);
}

export function encodeHead<Kind extends string>(head: ReplyHead, context: ReplyContext, object: Kind) {
  const tier = head.serviceTier === 'standard' ? 'default' : head.serviceTier;
  return present({
    id: head.id ?? context.id,
    object,
    created: head.createdAt ?? Math.floor(context.now / 1000),
    model: head.model ?? context.request.model,
    service_tier: tier as ChatReply['service_tier'],
  });
}

function encodeChoice(
  choice: Choice,
  index: number,
  context: ReplyContext,
  losses: Losses,
): ChatReply['choices'][number] {
  const path = `choices[${index}]`;
  const { message: more, ...ext } = losses.ext(choice, path) ?? {};
  losses.ext(choice.finish, `${path}.finish`);
  if (choice.finish.stopSequence !== undefined)
    losses.member({}, `${path}.finish`, 'stopSequence', 'chat does not tell it');
  const { parts } = choice;
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [wireCall(part)] : []));
  const message = {
    role: 'assistant' as const,
    content: joinedText(parts, 'text'),
    refusal: joinedText(parts, 'refusal'),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(context.isStrict ? context.showsThoughts && thoughtText(parts) : extensions(parts)),
    ...objectIn(more),
  };
  noteParts(parts, path, context, losses);
  const said = saidIn(parts);
  const finish_reason = wireFinish(choice.finish.reason, said.hasRefusal);
  if (finishReason(finish_reason, said) !== choice.finish.reason)
    losses.change({}, `${path}.finish`, `given as ${finish_reason}`);
  return { ...ext, index, message, logprobs: encodeLogprobs(parts), finish_reason };
}

function joinedText(parts: readonly Part[], type: 'text' | 'refusal'): string | null {
  const texts = parts.flatMap((part) => (part.type === type ? [part.text] : []));
  return texts.length > 0 ? texts.join('') : null;
}

export const wireCall = ({ id, name, argsText, custom }: Extract<Part, { type: 'tool-call' }>): ToolCall =>
  custom
    ? { id, type: 'custom', custom: { name, input: argsText } }
    : { id, type: 'function', function: { name, arguments: argsText } };

/** `reasoning_content` is what most clients read; the blocks have the signatures and everything else. */
function extensions(parts: readonly Part[]): JsonObject {
  if (!needsBlocks(parts)) return {};
  const content_blocks = parts.map(partBlock).filter((block) => block !== null);
  return { ...thoughtText(parts), content_blocks };
}

function thoughtText(parts: readonly Part[]): JsonObject {
  const thoughts = parts.flatMap((part) => (part.type === 'reasoning' && part.text ? [part.text] : []));
  return thoughts.length > 0 ? { reasoning_content: thoughts.join('') } : {};
}

function encodeLogprobs(parts: readonly Part[]): Logprobs | null {
  const of = (type: 'text' | 'refusal') => {
    const lists = parts.flatMap((part) => (part.type === type && part.logprobs ? [wireLogprobs(part.logprobs)] : []));
    return lists.length > 0 ? lists.flat() : null;
  };
  const content = of('text');
  const refusal = of('refusal');
  return content || refusal ? { content, refusal } : null;
}

function noteParts(parts: readonly Part[], path: string, { isStrict }: ReplyContext, losses: Losses) {
  const hasBlocks = !isStrict && needsBlocks(parts);
  for (const type of ['text', 'refusal'])
    if (!hasBlocks && parts.filter((part) => part.type === type).length > 1)
      losses.change({}, path, `its ${type}s are given as one`);
  for (const [index, part] of parts.entries()) {
    const at = `${path}.parts[${index}]`;
    losses.ext(part, at);
    const isPlain = part.type === 'text' || part.type === 'refusal' || part.type === 'tool-call';
    const fitsBlocks = !isStrict && !isPlain && partBlock(part) !== null;
    const isAfterCall = part.type !== 'tool-call' && parts[index - 1]?.type === 'tool-call';
    if (isAfterCall) losses.change(part, at, 'given before the calls of tools');
    if (!isPlain && !fitsBlocks) losses.node(part, at, 'a plain chat message has no place for it', false);
  }
}
