import { includesBytes } from '../core/bytes.ts';
import { findMembers, type Member } from '../core/json-bytes.ts';

/** What a call may take at most, as far as its request tells. */
export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface EstimatedBody {
  /** What was read of the body; null when there is none. */
  readonly bytes: Uint8Array | null;
  readonly isJson: boolean;
  /** Whether more follows that was not read. */
  readonly hasMore: boolean;
  readonly model: string | null;
}

/** English prose and JSON take about 4 bytes per token; other scripts take more tokens than this says. */
const BYTES_PER_TOKEN = 4;
/** An image, a recording, a document: about what providers charge for a large picture. */
const MEDIA_TOKENS = 1_500;
/** A string without a space that is longer than this and looks like base64 is media, not text. */
const LONGEST_WORD = 512;
const DATA_URL = Buffer.from('data:');
/** Where the comma of a data URL is looked for. */
const LONGEST_TYPE = 256;
/** Nobody means more; without a bound one absurd number would not fit into a counter. */
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
 * The prompt by its size, the answer by the largest that was asked for. Base64 is no text: every data URL and every long
 * unbroken string of its alphabet counts as one piece of media, and so does a body that is not JSON, or the part of a
 * large one that was not read.
 */
export function estimateTokens({ bytes, isJson, hasMore, model }: EstimatedBody): TokenEstimate {
  if (!bytes) return { inputTokens: 0, outputTokens: 0 };
  if (!isJson) return { inputTokens: MEDIA_TOKENS, outputTokens: capOf(model) };
  const media = bytes.byteLength < LONGEST_WORD ? NO_MEDIA : mediaIn(viewOf(bytes));
  const pieces = media.count + (hasMore ? 1 : 0);
  const inputTokens = Math.ceil((bytes.byteLength - media.bytes) / BYTES_PER_TOKEN) + pieces * MEDIA_TOKENS;
  // Most requests say neither, and three searches are less than seven.
  const saysNothing = !includesBytes(bytes, BOUNDS) && !SEVERAL.some((name) => includesBytes(bytes, name));
  return { inputTokens, outputTokens: saysNothing ? capOf(model) : outputIn(viewOf(bytes), model) };
}

const NO_MEDIA = { count: 0, bytes: 0 };

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
const SEVERAL = [Buffer.from('"n"'), Buffer.from('"candidateCount"')];

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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Steps from string to string; only long ones are looked into, and text is told apart at its first space. */
function mediaIn(body: Buffer): { count: number; bytes: number } {
  let count = 0;
  let bytes = 0;
  let start = body.indexOf(QUOTE);
  while (start >= 0) {
    const end = endOfString(body, start + 1);
    const length = end - start - 1;
    if (length > LONGEST_WORD && isMedia(body, start + 1, end)) {
      count++;
      bytes += length;
    }
    start = body.indexOf(QUOTE, end + 1);
  }
  return { count, bytes };
}

/** Where the closing quote stands, or the end when it was not read. */
function endOfString(body: Buffer, from: number): number {
  for (let at = from; ; at++) {
    at = body.indexOf(QUOTE, at);
    if (at < 0) return body.byteLength;
    let backslashes = 0;
    while (body[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}

/** To the last byte: prose behind the beginning of a data URL is prose. */
function isMedia(body: Buffer, start: number, end: number): boolean {
  const isUrl = body.compare(DATA_URL, 0, DATA_URL.length, start, start + DATA_URL.length) === 0;
  const comma = isUrl ? body.subarray(start, start + LONGEST_TYPE).indexOf(',') : -1;
  for (let at = comma < 0 ? start : start + comma + 1; at < end; at++) if (!IN_BASE64[body[at]!]) return false;
  return true;
}

/** Both alphabets, padding, and what JSON puts before a slash or instead of a line break. */
const IN_BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/=_\-\\]/.test(String.fromCharCode(byte)) ? 1 : 0,
);
