import type { Encoded, ReplyContext } from '../dialect.ts';
import { FramingError } from '../framing-error.ts';
import type { Choice, Finish, JsonObject, ModelReply, Part, ReplyHead, TokenUsage } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, parsed, present, restOf, someTextIn, textIn } from '../json.ts';
import { Losses } from '../losses.ts';
import { redactedPart, sealed, thinkingPart } from './signature.ts';
import { finishReason, type MessageReply, type ReplyBlock, stopReason, type Usage } from './wire.ts';

const HEAD_MEMBERS = new Set([
  'id',
  'type',
  'role',
  'model',
  'content',
  'stop_reason',
  'stop_sequence',
  'stop_details',
  'usage',
]);

export function decodeReply(body: unknown): ModelReply {
  if (!isObject(body) || !Array.isArray(body.content)) throw new FramingError('the answer is no Anthropic message');
  const parts = objectsIn(body.content).map(blockPart);
  const finish = decodeFinish(body);
  const usage = isObject(body.usage) ? decodeUsage(body.usage) : undefined;
  const choice: Choice = { parts, finish };
  return present<ModelReply>({ ...decodeHead(body), choices: [choice], usage });
}

export function decodeHead(message: JsonObject): ReplyHead {
  const rest = restOf(message, HEAD_MEMBERS);
  return present<ReplyHead>({
    id: someTextIn(message.id),
    model: someTextIn(message.model),
    serviceTier: textIn(objectIn(message.usage).service_tier),
    ext: rest && { anthropic: rest },
  });
}

/** From a message, or from the delta that ends a streamed one. */
export function decodeFinish(holder: JsonObject): Finish {
  const raw = textIn(holder.stop_reason);
  const rest = isObject(holder.stop_details) ? { stop_details: holder.stop_details } : undefined;
  return present<Finish>({
    reason: raw === undefined ? 'other' : finishReason(raw),
    raw,
    stopSequence: textIn(holder.stop_sequence),
    ext: rest && { anthropic: rest },
  });
}

const COUNTED = new Set([
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'service_tier',
]);

/** Here `input_tokens` leaves out what was read from the cache or written to it. */
export function decodeUsage(usage: JsonObject): TokenUsage {
  const uncached = countIn(usage.input_tokens);
  const read = countIn(usage.cache_read_input_tokens);
  const written = countIn(usage.cache_creation_input_tokens);
  const creation = objectIn(usage.cache_creation);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens: uncached === undefined ? undefined : uncached + (read ?? 0) + (written ?? 0),
    outputTokens: countIn(usage.output_tokens),
    cachedInputTokens: read,
    cacheWriteTokens: written,
    cacheWrite5mTokens: countIn(creation.ephemeral_5m_input_tokens),
    cacheWrite1hTokens: countIn(creation.ephemeral_1h_input_tokens),
    reasoningTokens: countIn(objectIn(usage.output_tokens_details).thinking_tokens),
    ext: rest && { anthropic: rest },
  });
}

const BLOCK_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
  tool_use: new Set(['type', 'id', 'name', 'input']),
};

/** A block of an answer, or the beginning of one in a stream. */
export function blockPart(block: JsonObject): Part {
  const type = textIn(block.type) ?? '';
  const part = knownPart(type, block);
  if (!part) return { type: 'opaque', dialect: 'anthropic', raw: block };
  const rest = restOf(block, BLOCK_MEMBERS[type]!);
  const { caller, ...others } = rest ?? {};
  const ext = objectIn(caller).type === 'direct' ? others : rest;
  return ext && Object.keys(ext).length > 0 ? { ...part, ext: { anthropic: ext } } : part;
}

function knownPart(type: string, block: JsonObject): Part | undefined {
  switch (type) {
    case 'text':
      return { type: 'text', text: textIn(block.text) ?? '' };
    case 'thinking':
      return thinkingPart(textIn(block.thinking) ?? '', textIn(block.signature));
    case 'redacted_thinking':
      return redactedPart(textIn(block.data) ?? '');
    case 'tool_use': {
      const { id, name, input } = block;
      return {
        type: 'tool-call',
        id: textIn(id) ?? '',
        name: textIn(name) ?? '',
        argsText: JSON.stringify(input ?? {}),
      };
    }
    default:
      return undefined;
  }
}

export function encodeReply(reply: ModelReply, context: ReplyContext): Encoded<MessageReply> {
  const losses = new Losses('anthropic');
  const choice = reply.choices[0] ?? { parts: [], finish: { reason: 'other' } };
  for (let index = 1; index < reply.choices.length; index++)
    losses.node({}, `choices[${index}]`, 'anthropic has one answer per call');
  const content = choice.parts.flatMap((part, index) => {
    const block = replyBlock(part, `choices[0].parts[${index}]`, losses);
    return block ? [block] : [];
  });
  const head = losses.requestExt(reply.ext);
  noteUnsayable(choice, reply, losses);
  return losses.with({
    ...emptyMessage(reply, context),
    ...head,
    content,
    ...encodeFinish(choice.finish),
    usage: encodeUsage(reply.usage ?? {}, reply.serviceTier),
  } as MessageReply);
}

function noteUnsayable(choice: Choice, { usage, createdAt }: ModelReply, losses: Losses) {
  if (createdAt !== undefined) losses.node({}, 'createdAt', 'anthropic does not say when', false);
  if (!usage) losses.change({}, 'usage', 'given as zeros, because a message always has it');
  const { reason } = choice.finish;
  if (finishReason(stopReason(reason)) !== reason)
    losses.change({}, 'choices[0].finish', `given as ${stopReason(reason)}`);
  losses.ext(choice, 'choices[0]');
  losses.ext(choice.finish, 'choices[0].finish');
  losses.ext(usage ?? {}, 'usage');
  for (const name of ['totalTokens', 'audioInputTokens', 'audioOutputTokens'] as const)
    if (usage?.[name] !== undefined) losses.member({}, 'usage', name, 'anthropic does not count this');
}

export const emptyMessage = (head: ReplyHead, context: ReplyContext): MessageReply => ({
  id: head.id ?? context.id,
  type: 'message',
  role: 'assistant',
  model: head.model ?? context.request.model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: encodeUsage({}),
});

export const encodeFinish = ({ reason, stopSequence, ext }: Finish) => ({
  stop_reason: stopReason(reason),
  stop_sequence: stopSequence ?? null,
  stop_details: ext?.anthropic?.stop_details ?? null,
});

export function encodeUsage(usage: TokenUsage, serviceTier?: string): Usage {
  const { inputTokens = 0, cachedInputTokens: read, cacheWriteTokens: written } = usage;
  const { cacheWrite5mTokens: short, cacheWrite1hTokens: long, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - (read ?? 0) - (written ?? 0)),
    output_tokens: usage.outputTokens ?? 0,
    cache_read_input_tokens: read ?? null,
    cache_creation_input_tokens: written ?? null,
    cache_creation:
      short === undefined && long === undefined
        ? null
        : { ephemeral_5m_input_tokens: short ?? 0, ephemeral_1h_input_tokens: long ?? 0 },
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
    service_tier: (serviceTier as Usage['service_tier']) ?? null,
    inference_geo: null,
    speed: null,
    ...usage.ext?.anthropic,
  };
}

/** A part as a whole block of an answer; null when answers here cannot have it. */
export function replyBlock(part: Part, path: string, losses: Losses): ReplyBlock | null {
  const block = sayableBlock(part, path, losses);
  return block && part.type !== 'opaque' ? ({ ...block, ...losses.ext(part, path) } as ReplyBlock) : block;
}

function sayableBlock(part: Part, path: string, losses: Losses): ReplyBlock | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (part.logprobs) losses.member(part, path, 'logprobs', 'answers of anthropic have none');
      if (part.type === 'refusal') losses.change(part, path, 'given as text');
      return { type: 'text', text: part.text };
    case 'reasoning':
      if (part.redacted !== undefined) return { type: 'redacted_thinking', data: sealed(part.redacted, part.signedBy) };
      return { type: 'thinking', thinking: part.text ?? '', signature: sealed(part.signature ?? '', part.signedBy) };
    case 'tool-call': {
      const input = parsed(part.argsText || '{}');
      if (!isObject(input)) losses.member(part, path, 'argsText', 'the model did not write a JSON object');
      return { type: 'tool_use', id: part.id, name: part.name, input: objectIn(input), caller: { type: 'direct' } };
    }
    case 'opaque':
      if (part.dialect === 'anthropic') return part.raw as unknown as ReplyBlock;
      break;
  }
  losses.node(part, path, 'answers of anthropic cannot have this');
  return null;
}
