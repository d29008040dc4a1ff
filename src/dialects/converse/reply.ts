import { FramingError } from '../framing-error.ts';
import type { Choice, Finish, JsonObject, ModelReply, Part, TokenUsage } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { kindOf } from '../media.ts';
import { finishReason } from './wire.ts';

const REPLY_MEMBERS = new Set(['output', 'stopReason', 'usage', 'additionalModelResponseFields', 'serviceTier']);

export function decodeReply(body: unknown): ModelReply {
  const content = objectIn(objectIn(objectIn(body).output).message).content;
  if (!isObject(body) || !Array.isArray(content)) throw new FramingError('the answer is no Converse message');
  const rest = restOf(body, REPLY_MEMBERS);
  const choice = present<Choice>({
    parts: objectsIn(content).map(readBlock),
    finish: readFinish(body),
    ext: rest && { converse: rest },
  });
  const usage = isObject(body.usage) ? readUsage(body.usage) : undefined;
  return present<ModelReply>({ choices: [choice], usage, serviceTier: readTier(body.serviceTier) });
}

export function readTier(tier: unknown): string | undefined {
  const type = textIn(objectIn(tier).type);
  return type === 'default' ? 'standard' : type;
}

/** From an answer, or from the event that ends a streamed one. */
export function readFinish({ stopReason, additionalModelResponseFields }: JsonObject): Finish {
  const raw = textIn(stopReason);
  const { stop_sequence, ...rest } = objectIn(additionalModelResponseFields);
  const hasMore = Object.keys(rest).length > 0;
  return present<Finish>({
    reason: raw === undefined ? 'other' : finishReason(raw),
    raw,
    stopSequence: someTextIn(stop_sequence),
    ext: hasMore ? { converse: { additionalModelResponseFields: rest } } : undefined,
  });
}

const COUNTED = new Set([
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
  'cacheDetails',
]);

/** Here `inputTokens` leaves out what was read from the cache or written to it. */
export function readUsage(usage: JsonObject): TokenUsage {
  const uncached = countIn(usage.inputTokens);
  const read = countIn(usage.cacheReadInputTokens);
  const written = countIn(usage.cacheWriteInputTokens);
  const outputTokens = countIn(usage.outputTokens);
  const inputTokens = uncached === undefined ? undefined : uncached + (read ?? 0) + (written ?? 0);
  const total = countIn(usage.totalTokens);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens,
    outputTokens,
    totalTokens: total === (inputTokens ?? 0) + (outputTokens ?? 0) ? undefined : total,
    cachedInputTokens: read,
    cacheWriteTokens: written,
    cacheWrite5mTokens: writtenFor(usage.cacheDetails, '5m'),
    cacheWrite1hTokens: writtenFor(usage.cacheDetails, '1h'),
    ext: rest && { converse: rest },
  });
}

const writtenFor = (details: unknown, ttl: string): number | undefined =>
  countIn(objectsIn(details).find((detail) => detail.ttl === ttl)?.inputTokens);

/** A block of an answer; blocks have no type but the name of their only member. */
export function readBlock(block: JsonObject): Part {
  return knownPart(block) ?? { type: 'opaque', dialect: 'converse', raw: block };
}

function knownPart(block: JsonObject): Part | undefined {
  if (typeof block.text === 'string') return { type: 'text', text: block.text };
  if (isObject(block.toolUse)) return readCall(block.toolUse);
  if (isObject(block.reasoningContent)) return readThought(block.reasoningContent);
  if (isObject(block.image)) return readImage(block.image);
  return isObject(block.citationsContent) ? readCited(block.citationsContent) : undefined;
}

/** A tool that the service runs itself is no call for the client. */
function readCall({ toolUseId, name, input, type }: JsonObject): Part | undefined {
  if (type !== undefined && type !== null) return undefined;
  return {
    type: 'tool-call',
    id: textIn(toolUseId) ?? '',
    name: textIn(name) ?? '',
    argsText: JSON.stringify(input ?? {}),
  };
}

function readThought({ reasoningText, redactedContent }: JsonObject): Part | undefined {
  if (typeof redactedContent === 'string')
    return { type: 'reasoning', redacted: redactedContent, signedBy: 'converse' };
  if (!isObject(reasoningText)) return undefined;
  const signature = someTextIn(reasoningText.signature);
  const signed = signature === undefined ? {} : ({ signature, signedBy: 'converse' } as const);
  return present<Part>({ type: 'reasoning', text: someTextIn(reasoningText.text), ...signed });
}

export function readImage({ format, source }: JsonObject): Part | undefined {
  const { bytes, s3Location } = objectIn(source);
  const mime = `image/${textIn(format) ?? 'png'}`;
  const uri = textIn(objectIn(s3Location).uri);
  if (typeof bytes === 'string')
    return { type: 'media', kind: kindOf(mime), source: { type: 'data', data: bytes }, mime };
  return uri === undefined ? undefined : { type: 'media', kind: 'image', source: { type: 'url', url: uri }, mime };
}

function readCited({ content, citations }: JsonObject): Part {
  const text = objectsIn(content)
    .map((piece) => textIn(piece.text) ?? '')
    .join('');
  const listed = objectsIn(citations);
  return present<Part>({
    type: 'text',
    text,
    ext: listed.length > 0 ? { converse: { citations: listed } } : undefined,
  });
}
