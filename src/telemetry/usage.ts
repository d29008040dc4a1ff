import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { textOf } from '../core/bytes.ts';
import type { Usage } from './record.ts';

/** Reading more than this of a body for its usage would cost more than it tells. */
export const HEAD_BYTES = 8 * 1024;
const TAIL_BYTES = 16 * 1024;
const DECODED_LIMIT = 4 * 1024 * 1024;
/** Up to this size a whole JSON body is parsed: exact, and as cheap as searching. */
const PARSE_BELOW = 4 * 1024;
/** A usage object of any provider is far smaller; a longer one is something else of that name. */
const LONGEST_USAGE = 8 * 1024;

export interface Reading {
  readonly usage?: Usage;
  /** The model that answered, as the provider names it. */
  readonly model?: string;
}

export interface BodyEnds {
  readonly contentType: string | null;
  /** The whole body, or its first bytes. */
  readonly head: Uint8Array;
  /** The last bytes; null when `head` is the whole body. */
  readonly tail: Uint8Array | null;
}

/** Finds what a provider says about tokens and model, in any dialect, streamed or not, cut or whole. Never throws. */
export function readUsage({ contentType, head, tail }: BodyEnds): Reading {
  try {
    const isEventStream = contentType?.includes('event-stream') ?? false;
    if (!tail && !isEventStream && head.byteLength <= PARSE_BELOW) {
      const whole = parse(textOf(head));
      if (whole) return fromWhole(whole);
    }
    return search(head, tail, isEventStream);
  } catch {
    return {};
  }
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function fromWhole(whole: unknown): Reading {
  if (Array.isArray(whole)) {
    // Gemini without alt=sse streams a JSON array; each element counts up, the last one is complete.
    const last = whole.findLast((element) => isObject(element) && isObject(element.usageMetadata));
    return isObject(last) ? fromObject(last) : {};
  }
  return isObject(whole) ? fromObject(whole) : {};
}

function fromObject(body: Json): Reading {
  const inner = isObject(body.response) ? body.response : isObject(body.message) ? body.message : body;
  const raw = inner.usage ?? inner.usageMetadata ?? (isObject(inner.meta) ? inner.meta : undefined);
  const usage = isObject(raw) ? interpret(raw) : undefined;
  const model = nameIn(inner.model) ?? nameIn(inner.modelVersion);
  return usage ? (model === null ? { usage } : { usage, model }) : model === null ? {} : { model };
}

const nameIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function search(head: Uint8Array, tail: Uint8Array | null, isEventStream: boolean): Reading {
  const isWhole = tail === null;
  const prepare = isEventStream ? unframe : (text: string) => text;
  const isShort = isWhole && head.byteLength <= HEAD_BYTES + TAIL_BYTES;
  const headText = prepare(textOf(isShort ? head : head.subarray(0, HEAD_BYTES)));
  const last = tail ?? head.subarray(Math.max(0, head.byteLength - TAIL_BYTES));
  const tailText = isShort ? headText : prepare(textOf(last));

  let raw = lastUsage(tailText) ?? lastUsage(headText);
  if (!raw && isWhole && !isShort) raw = lastUsage(prepare(middle(head)));
  // Anthropic counts the input at the start of a stream and the output at its end.
  if (raw && headText.includes('"message_start"')) raw = { ...firstUsage(headText), ...raw };
  const usage = raw && interpret(raw);
  const model =
    stringMember(headText, '"model"') ?? stringMember(tailText, '"model"') ?? lastModelVersion(tailText, headText);
  return { ...(usage && { usage }), ...(model && { model }) };
}

/** Providers that put usage before or between large members. */
function middle(body: Uint8Array): string {
  const at = Buffer.prototype.lastIndexOf.call(body, '"usage');
  return at < 0 ? '' : textOf(body.subarray(at, at + LONGEST_USAGE));
}

/** Event streams may spread one JSON text over several data lines; raw line ends cannot be inside its strings. */
const unframe = (text: string) => text.replace(/(?:\r\n|\r|\n)data: ?/g, '\n');

/** In a JSON string the quotes of `"usage"` would be escaped, so an unescaped match is a member's name. */
const MEMBER = /"usage(?:Metadata)?"\s*:\s*\{/y;
const MOST_TRIES = 2_000;

function lastUsage(text: string): Json | undefined {
  let from = text.length;
  for (let tries = 0; tries < MOST_TRIES && from > 0; tries++) {
    const at = text.lastIndexOf('"usage', from - 1);
    if (at < 0) return undefined;
    const found = usageAt(text, at);
    if (found) return found;
    from = at;
  }
  return undefined;
}

function firstUsage(text: string): Json | undefined {
  for (let at = text.indexOf('"usage'); at >= 0; at = text.indexOf('"usage', at + 1)) {
    const found = usageAt(text, at);
    if (found) return found;
  }
  return undefined;
}

function usageAt(text: string, at: number): Json | undefined {
  MEMBER.lastIndex = at;
  const match = MEMBER.exec(text);
  if (!match) return undefined;
  const start = MEMBER.lastIndex - 1;
  const end = objectEnd(text, start);
  const value = end < 0 ? undefined : parse(text.slice(start, end));
  return isObject(value) && interpret(value) ? value : undefined;
}

function objectEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + LONGEST_USAGE);
  let depth = 0;
  let inString = false;
  for (let at = start; at < limit; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

function stringMember(text: string, quotedName: string): string | undefined {
  for (let at = text.indexOf(quotedName); at >= 0; at = text.indexOf(quotedName, at + 1)) {
    const match = /^\s*:\s*("(?:[^"\\]|\\.){1,256}")/.exec(
      text.slice(at + quotedName.length, at + quotedName.length + 300),
    );
    const value = match && parse(match[1]!);
    if (typeof value === 'string') return value;
  }
  return undefined;
}

const lastModelVersion = (...texts: string[]) =>
  texts.map((text) => stringMember(text, '"modelVersion"')).find((name) => name !== undefined);

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

const sum = (...values: (number | undefined)[]): number | undefined =>
  values.some((value) => value !== undefined)
    ? values.reduce<number>((total, value) => total + (value ?? 0), 0)
    : undefined;

const member = (object: Json, name: string): number | undefined => count(object[name]);

const nested = (object: Json, outer: string, name: string): number | undefined => {
  const inner = object[outer];
  return isObject(inner) ? count(inner[name]) : undefined;
};

/** One provider's usage object in our words; undefined when it counts nothing that is paid. */
function interpret(raw: Json): Usage | undefined {
  return (
    fromGemini(raw) ??
    fromOpenAi(raw) ??
    fromInputOutput(raw) ??
    fromConverse(raw) ??
    fromCohere(raw) ??
    fromDuration(raw)
  );
}

/** Transcriptions that are paid by time. */
function fromDuration(raw: Json): Usage | undefined {
  const seconds = raw.type === 'duration' ? member(raw, 'seconds') : undefined;
  return seconds === undefined ? undefined : { seconds };
}

/** Gemini counts each kind of content by itself. */
function ofModality(details: unknown, modality: string): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const one = details.find((each) => isObject(each) && each.modality === modality);
  return isObject(one) ? member(one, 'tokenCount') : undefined;
}

function fromGemini(raw: Json): Usage | undefined {
  const prompt = member(raw, 'promptTokenCount');
  const total = member(raw, 'totalTokenCount');
  if (prompt === undefined && total === undefined) return undefined;
  const thoughts = member(raw, 'thoughtsTokenCount');
  return usageOf({
    input: sum(prompt, member(raw, 'toolUsePromptTokenCount')),
    // Conversations in real time have another name for it.
    output: sum(member(raw, 'candidatesTokenCount') ?? member(raw, 'responseTokenCount'), thoughts),
    total,
    cached: member(raw, 'cachedContentTokenCount'),
    reasoning: thoughts,
    audioInput: ofModality(raw.promptTokensDetails, 'AUDIO'),
    imageInput: ofModality(raw.promptTokensDetails, 'IMAGE'),
    audioOutput: ofModality(raw.candidatesTokensDetails ?? raw.responseTokensDetails, 'AUDIO'),
    imageOutput: ofModality(raw.candidatesTokensDetails ?? raw.responseTokensDetails, 'IMAGE'),
  });
}

function fromOpenAi(raw: Json): Usage | undefined {
  const input = member(raw, 'prompt_tokens');
  const output = member(raw, 'completion_tokens');
  if (input === undefined && output === undefined) return undefined;
  return usageOf({
    input,
    output,
    total: member(raw, 'total_tokens'),
    // DeepSeek has a name of its own for it.
    cached: nested(raw, 'prompt_tokens_details', 'cached_tokens') ?? member(raw, 'prompt_cache_hit_tokens'),
    reasoning: nested(raw, 'completion_tokens_details', 'reasoning_tokens'),
    audioInput: nested(raw, 'prompt_tokens_details', 'audio_tokens'),
    imageInput: nested(raw, 'prompt_tokens_details', 'image_tokens'),
    audioOutput: nested(raw, 'completion_tokens_details', 'audio_tokens'),
    imageOutput: nested(raw, 'completion_tokens_details', 'image_tokens'),
  });
}

/** Conversations in sound say `input_token_details` where Responses says `input_tokens_details`. */
const either = (raw: Json, side: 'input' | 'output', name: string): number | undefined =>
  nested(raw, `${side}_tokens_details`, name) ?? nested(raw, `${side}_token_details`, name);

/** Responses and Anthropic share these names, but only Anthropic leaves cached tokens out of `input_tokens`. */
function fromInputOutput(raw: Json): Usage | undefined {
  const uncached = member(raw, 'input_tokens');
  const output = member(raw, 'output_tokens');
  if (uncached === undefined && output === undefined) return undefined;
  const read = member(raw, 'cache_read_input_tokens');
  const written = member(raw, 'cache_creation_input_tokens');
  return usageOf({
    input: sum(uncached, read, written),
    output,
    total: member(raw, 'total_tokens'),
    cached: read ?? either(raw, 'input', 'cached_tokens'),
    written,
    writtenForAnHour: nested(raw, 'cache_creation', 'ephemeral_1h_input_tokens'),
    reasoning: nested(raw, 'output_tokens_details', 'reasoning_tokens'),
    audioInput: either(raw, 'input', 'audio_tokens'),
    imageInput: either(raw, 'input', 'image_tokens'),
    audioOutput: either(raw, 'output', 'audio_tokens'),
    imageOutput: nested(raw, 'output_tokens_details', 'image_tokens'),
  });
}

function fromConverse(raw: Json): Usage | undefined {
  const uncached = member(raw, 'inputTokens');
  const output = member(raw, 'outputTokens');
  if (uncached === undefined && output === undefined) return undefined;
  const read = member(raw, 'cacheReadInputTokens');
  const written = member(raw, 'cacheWriteInputTokens');
  return usageOf({
    input: sum(uncached, read, written),
    output,
    total: member(raw, 'totalTokens'),
    cached: read,
    written,
  });
}

function fromCohere(raw: Json): Usage | undefined {
  const tokens = isObject(raw.tokens) ? raw.tokens : isObject(raw.billed_units) ? raw.billed_units : undefined;
  if (!tokens) return undefined;
  const input = member(tokens, 'input_tokens');
  const output = member(tokens, 'output_tokens');
  const searches = nested(raw, 'billed_units', 'search_units');
  if (input === undefined && output === undefined) return searches === undefined ? undefined : { searches };
  return searches === undefined ? usageOf({ input, output }) : { ...usageOf({ input, output }), searches };
}

interface Counts {
  readonly input?: number;
  readonly output?: number;
  readonly total?: number;
  readonly cached?: number;
  readonly written?: number;
  readonly writtenForAnHour?: number;
  readonly reasoning?: number;
  readonly audioInput?: number;
  readonly audioOutput?: number;
  readonly imageInput?: number;
  readonly imageOutput?: number;
}

function usageOf(counts: Counts): Usage {
  const { input, output, total = sum(input, output), cached, written, reasoning } = counts;
  // One by one: every call passes here, and each spread would be an object more.
  const usage: { -readonly [Member in keyof Usage]: Usage[Member] } = {};
  if (input !== undefined) usage.inputTokens = input;
  if (output !== undefined) usage.outputTokens = output;
  if (total !== undefined) usage.totalTokens = total;
  if (cached !== undefined) usage.cachedInputTokens = cached;
  if (written !== undefined) usage.cacheWriteTokens = written;
  if (reasoning !== undefined) usage.reasoningTokens = reasoning;
  // Providers name these with every call, and they are nearly always 0.
  if (counts.writtenForAnHour) usage.cacheWriteHourTokens = counts.writtenForAnHour;
  if (counts.audioInput) usage.audioInputTokens = counts.audioInput;
  if (counts.audioOutput) usage.audioOutputTokens = counts.audioOutput;
  if (counts.imageInput) usage.imageInputTokens = counts.imageInput;
  if (counts.imageOutput) usage.imageOutputTokens = counts.imageOutput;
  return usage;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Decode = (bytes: Uint8Array, options: { maxOutputLength: number; finishFlush: number }) => Promise<Buffer>;

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants;
// A flush instead of a finish: the readable part of a body that was cut is better than nothing.
const DECODERS: Readonly<Record<string, readonly [Decode, number]>> = {
  gzip: [promisify(zlib.gunzip) as Decode, Z_SYNC_FLUSH],
  'x-gzip': [promisify(zlib.gunzip) as Decode, Z_SYNC_FLUSH],
  deflate: [promisify(zlib.inflate) as Decode, Z_SYNC_FLUSH],
  br: [promisify(zlib.brotliDecompress) as Decode, BROTLI_OPERATION_FLUSH],
  zstd: [promisify(zlib.zstdDecompress) as Decode, ZSTD_e_flush],
};

export const isEncoded = (contentEncoding: string | null | undefined): boolean =>
  !!contentEncoding && contentEncoding.trim().toLowerCase() !== 'identity';

/** The body before its content encoding, off the event loop and bounded; null when it cannot be had. */
export async function decodeForUsage(contentEncoding: string, bytes: Uint8Array): Promise<Uint8Array | null> {
  try {
    let decoded = bytes;
    for (const coding of contentEncoding.toLowerCase().split(',').reverse()) {
      const name = coding.trim();
      if (name === '' || name === 'identity') continue;
      const decoder = DECODERS[name];
      if (!decoder) return null;
      const [decode, finishFlush] = decoder;
      decoded = await decode(decoded, { maxOutputLength: DECODED_LIMIT, finishFlush });
    }
    return decoded;
  } catch {
    return null;
  }
}
