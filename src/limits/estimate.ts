import { includesBytes } from '../core/bytes.ts';
import { findMembers, type Member } from '../core/json-bytes.ts';
import { BACKSLASH, COLON, COMMA, OPEN_BRACKET, QUOTE } from '../core/json-marks.ts';

/** What a call may take at most, as far as its request tells. */
export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface EstimatedBody {
  /** What was read of the body; null when there is none. */
  readonly bytes: Uint8Array | null;
  readonly isJson: boolean;
  /** Whether it is text of another kind. What is neither is media: a form with a file, a recording. */
  readonly isText?: boolean;
  /** Whether more follows that was not read. */
  readonly hasMore: boolean;
  /** Of the whole body, where the client declared it. */
  readonly length?: number | null;
  readonly model: string | null;
}

/** English prose and JSON take about 4 bytes per token, Chinese and Japanese about as many: 3 per character. */
const BYTES_PER_TOKEN = 4;
/** An image, a short recording, a page: about what providers charge for a large picture. */
const MEDIA_TOKENS = 1_500;
/** A long recording or document takes more than a picture. */
const MEDIA_BYTES_PER_TOKEN = 512;
/** No piece of media is shorter. */
const SHORTEST_MEDIA = 512;
/** The members in which requests of all dialects carry media. What stands elsewhere is read as text, whatever it looks like. */
const MEDIA_MEMBERS = new Set([
  'url',
  'image_url',
  'document_url',
  'data',
  'file_data',
  'b64_json',
  'bytes',
  'bytesBase64Encoded',
  'image',
  'images',
  'audio',
  'video',
  'file',
  'mask',
]);
const DATA_URL = Buffer.from('data:');
/** Where the comma of a data URL is looked for. */
const LONGEST_TYPE = 256;
/** No request means more; without a bound one absurd number would not fit into a counter. */
const MOST_TOKENS = 1e12;

/** What a call without its own limit on output may produce; the first name that the model's begins with. */
const OUTPUT_CAPS: readonly (readonly [RegExp, number])[] = [
  [/embed|moderation|rerank|whisper|transcribe|tts|dall-e|image/, 0],
  [/^gpt-[56]/, 128_000],
  [/^o[134](-|$)/, 100_000],
  [/^gemini-(2\.5|3)/, 65_536],
  [/^gpt-4\.1/, 32_768],
  [/^gpt-4o/, 16_384],
  [/^(gemini|gpt-4$|deepseek|command-a)/, 8_192],
];
const DEFAULT_OUTPUT = 4_096;

/**
 * The prompt by its bytes, the answer by the largest that was asked for. Base64 in a member that carries media is no text:
 * each such string counts as a piece of media, and so does a body that is no text, or the part of a large one that was not
 * read.
 */
export function estimateTokens(body: EstimatedBody): TokenEstimate {
  const { bytes, isJson, isText = false, hasMore, length, model } = body;
  if (!bytes) return { inputTokens: 0, outputTokens: 0 };
  const size = Math.max(bytes.byteLength, length ?? 0);
  if (!isJson) {
    const inputTokens = isText ? Math.ceil(size / BYTES_PER_TOKEN) : mediaTokens(size);
    return { inputTokens, outputTokens: capOf(model) };
  }
  const media = bytes.byteLength < SHORTEST_MEDIA ? NO_MEDIA : mediaIn(viewOf(bytes));
  const unread = hasMore ? mediaTokens(size - bytes.byteLength) : 0;
  const inputTokens = Math.ceil((bytes.byteLength - media.bytes) / BYTES_PER_TOKEN) + media.tokens + unread;
  // Most requests say neither, and four searches are less than eight.
  const saysNothing = !includesBytes(bytes, BOUNDS) && !SEVERAL.some((name) => includesBytes(bytes, name));
  return { inputTokens, outputTokens: saysNothing ? capOf(model) : outputIn(viewOf(bytes), model) };
}

const mediaTokens = (bytes: number): number => Math.max(MEDIA_TOKENS, Math.ceil(bytes / MEDIA_BYTES_PER_TOKEN));

const NO_MEDIA = { tokens: 0, bytes: 0 };

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The same few models come again and again; the bound is for clients that invent names. */
const MOST_CAPS = 1_000;
const caps = new Map<string, number>();

function capOf(model: string | null): number {
  if (model === null) return DEFAULT_OUTPUT;
  let cap = caps.get(model);
  if (cap === undefined) {
    const name = model.toLowerCase().replace(/^.*\//, '');
    cap = OUTPUT_CAPS.find(([pattern]) => pattern.test(name))?.[1] ?? DEFAULT_OUTPUT;
    if (caps.size < MOST_CAPS) caps.set(model, cap);
  }
  return cap;
}

/** What the names of all members that bound an answer begin with, and those that ask for several answers. */
const BOUNDS = Buffer.from('"max');
const SEVERAL = [Buffer.from('"n"'), Buffer.from('"best_of"'), Buffer.from('"candidateCount"')];

function outputIn(body: Buffer, model: string | null): number {
  const google = nested(body, 'generationConfig');
  const amazon = nested(body, 'inferenceConfig');
  const asked = [
    ...numbersAt(body, 'max_tokens'),
    ...numbersAt(body, 'max_completion_tokens'),
    ...numbersAt(body, 'max_output_tokens'),
    ...google.flatMap((config) => numbersAt(config, 'maxOutputTokens')),
    ...amazon.flatMap((config) => numbersAt(config, 'maxTokens')),
  ];
  const answers = Math.max(
    1,
    ...numbersAt(body, 'n'),
    ...numbersAt(body, 'best_of'),
    ...google.flatMap((config) => numbersAt(config, 'candidateCount')),
  );
  const each = asked.length > 0 ? Math.max(...asked) : capOf(model);
  return Math.min(each * answers, MOST_TOKENS);
}

/** Looks for the name anywhere first, which is much faster than walking the body. */
function membersOf(body: Buffer, name: string): Member[] {
  return body.includes(`"${name}"`) ? findMembers(body, name) : [];
}

const nested = (body: Buffer, name: string): Buffer[] =>
  membersOf(body, name).map(({ start, end }) => body.subarray(start, end));

/** What is no number above 0 is the provider's to refuse. */
const numbersAt = (body: Buffer, name: string): number[] =>
  membersOf(body, name)
    .map(({ start, end }) => (end - start <= 32 ? Number(body.toString('latin1', start, end)) : Number.NaN))
    .filter((value) => value > 0)
    .map((value) => Math.min(Math.ceil(value), MOST_TOKENS));

/** None of the members that carry media has a longer name. */
const LONGEST_NAME = 32;

/**
 * Base64 has no quotation mark in it, and what is shorter is not looked at. So one look back from where it would have to reach
 * passes over all that stands before the last mark: a text full of marks is walked in long steps.
 */
function mediaIn(body: Buffer): { tokens: number; bytes: number } {
  let tokens = 0;
  let bytes = 0;
  /** Of the last piece that stands in a list; another piece may follow it there. */
  let listedEnd = -1;
  let start = body.indexOf(QUOTE);
  while (start >= 0 && start + SHORTEST_MEDIA + 1 < body.byteLength) {
    const last = body.lastIndexOf(QUOTE, start + SHORTEST_MEDIA + 1);
    if (last > start) {
      start = last;
      continue;
    }
    const next = body.indexOf(QUOTE, start + SHORTEST_MEDIA + 2);
    // Where no mark follows, the part that was read ends within it.
    const end = next < 0 ? body.byteLength : next;
    const length = end - start - 1;
    const place = placeOf(body, start, listedEnd);
    if (place && isBase64(body, start + 1, end)) {
      tokens += mediaTokens(length);
      bytes += length;
      if (place === 'list') listedEnd = end;
    }
    start = next;
  }
  return { tokens, bytes };
}

/** Whether the string that starts there is the value of a member that carries media, or in its list; null: neither. */
function placeOf(body: Buffer, start: number, listedEnd: number): 'value' | 'list' | null {
  let at = beforeSpace(body, start - 1);
  if (body[at] === COMMA && listedEnd >= 0 && beforeSpace(body, at - 1) === listedEnd) return 'list';
  const isListed = body[at] === OPEN_BRACKET;
  if (isListed) at = beforeSpace(body, at - 1);
  if (body[at] !== COLON) return null;
  const end = beforeSpace(body, at - 1);
  const name = body.toString('latin1', Math.max(0, end - LONGEST_NAME), end);
  if (body[end] !== QUOTE || !MEDIA_MEMBERS.has(name.slice(name.lastIndexOf('"') + 1))) return null;
  return isListed ? 'list' : 'value';
}

function beforeSpace(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at--;
  return at;
}

/** Where the closing quote stands, or the end when it was not read. */

/** To the last byte: prose behind the beginning of a data URL is prose. */
function isBase64(body: Buffer, start: number, end: number): boolean {
  const isUrl = body.compare(DATA_URL, 0, DATA_URL.length, start, start + DATA_URL.length) === 0;
  const comma = isUrl ? body.subarray(start, start + LONGEST_TYPE).indexOf(',') : -1;
  for (let at = comma < 0 ? start : start + comma + 1; at < end; at++) {
    if (IN_BASE64[body[at]!]) continue;
    // JSON writes a slash or a line break with a backslash; other escapes are letters of some script.
    if (body[at] !== BACKSLASH || !ESCAPED_IN_BASE64.includes(body[++at]!)) return false;
  }
  return true;
}

/** Both alphabets, and padding. */
const IN_BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/=_-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);
const ESCAPED_IN_BASE64 = Buffer.from('/nr');
