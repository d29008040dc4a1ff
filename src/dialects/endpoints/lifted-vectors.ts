import { textOf } from '../../core/bytes.ts';
import { BACKSLASH, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../core/json-marks.ts';
import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { objectsIn } from '../json.ts';

/**
 * An answer whose lists of numbers stand beside it. A thousand vectors are a million numbers: parsed and written as a
 * whole they would hold the event loop up for a good part of a second.
 */
export interface Lifted {
  /** JSON in which each list of numbers holds one number instead: its place in `vectors`. */
  readonly skeleton: Uint8Array;
  /** As the provider wrote them, with their brackets. */
  readonly vectors: readonly Uint8Array[];
}

/** So many bytes of numbers are read in one turn of the event loop: some milliseconds. */
const BYTES_A_TURN = 256 << 10;
/** What it costs to begin with a list, in bytes that are read. */
const BEGIN = 64;
/** Of texts and lists in an answer. No provider takes so many inputs at once. */
const MOST_LOOKS = 60_000;

/** Takes the lists of numbers out of an answer. Throws `FramingError` where a list that begins with a number is none. */
export async function liftVectors(answer: Uint8Array): Promise<Lifted> {
  const pieces: Uint8Array[] = [];
  const vectors: Uint8Array[] = [];
  let taken = 0;
  let read = 0;
  for (const [start, end] of numberLists(answer)) {
    const vector = answer.subarray(start, end);
    read += vector.byteLength + BEGIN;
    if (read > BYTES_A_TURN) {
      read = 0;
      await nextTurn();
    }
    numbersIn(vector);
    pieces.push(answer.subarray(taken, start), Buffer.from(`[${vectors.length}]`));
    vectors.push(vector);
    taken = end;
  }
  pieces.push(answer.subarray(taken));
  return { skeleton: Buffer.concat(pieces), vectors };
}

/** OpenAI's list of embeddings as bytes, with the vectors back in their places, as numbers or as the client asked for. */
export async function writeEmbeddings(
  { data, ...rest }: JsonObject,
  vectors: readonly Uint8Array[],
  format: unknown,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"data":[`)];
  let written = 0;
  for (const [at, { embedding, ...item }] of objectsIn(data).entries()) {
    const vector = vectors[(embedding as readonly number[])[0]!]!;
    written += vector.byteLength + BEGIN;
    if (written > BYTES_A_TURN) {
      written = 0;
      await nextTurn();
    }
    pieces.push(
      Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(item).slice(0, -1)},"embedding":`),
      format === 'base64' ? Buffer.from(`"${asBase64(numbersIn(vector))}"`) : vector,
      CLOSE,
    );
  }
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}

const CLOSE = Buffer.from('}');
const MINUS = 0x2d;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Where lists that begin with a number stand, outside of texts. */
function* numberLists(bytes: Uint8Array): Generator<readonly [start: number, end: number]> {
  let quote = bytes.indexOf(QUOTE);
  let bracket = bytes.indexOf(OPEN_BRACKET);
  for (let looks = 0; bracket >= 0; looks++) {
    if (looks === MOST_LOOKS) throw new FramingError(`it has more than ${MOST_LOOKS} texts and lists`);
    if (quote >= 0 && quote < bracket) {
      const end = endOfText(bytes, quote);
      quote = bytes.indexOf(QUOTE, end);
      if (bracket < end) bracket = bytes.indexOf(OPEN_BRACKET, end);
      continue;
    }
    let first = bracket + 1;
    while (isSpace(bytes[first])) first++;
    if (!isDigit(bytes[first]) && bytes[first] !== MINUS) {
      bracket = bytes.indexOf(OPEN_BRACKET, first);
      continue;
    }
    const close = bytes.indexOf(CLOSE_BRACKET, first);
    if (close < 0) throw new FramingError('a list of numbers has no end');
    if (quote >= 0 && quote < close) throw new FramingError('a list of numbers holds a text');
    yield [bracket, close + 1];
    bracket = bytes.indexOf(OPEN_BRACKET, close);
  }
}

/** Behind the quote that ends the text. */
function endOfText(bytes: Uint8Array, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end >= 0 && isEscaped(bytes, end)) end = bytes.indexOf(QUOTE, end + 1);
  return end < 0 ? bytes.length : end + 1;
}

function isEscaped(bytes: Uint8Array, at: number): boolean {
  let before = at - 1;
  while (bytes[before] === BACKSLASH) before--;
  return (at - 1 - before) % 2 === 1;
}

function numbersIn(vector: Uint8Array): readonly number[] {
  try {
    if (vector.indexOf(OPEN_BRACE) < 0) return JSON.parse(textOf(vector)) as readonly number[];
  } catch {
    // Said below.
  }
  throw new FramingError('a list of numbers holds something else');
}

/** Little-endian 32-bit floats, as OpenAI sends them. */
export function asBase64(vector: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true);
  return Buffer.from(view.buffer).toString('base64');
}
