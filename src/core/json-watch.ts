import { LONGEST_LETTER } from './json-bytes.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, IS_MARK, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-marks.ts';
import { closingQuote, endsEscaped } from './json-text.ts';

const SPACE = 0x20;

/**
 * Sees the members of that name at the top level of a JSON object while its bytes pass, however they are cut. Of bodies
 * that are too large to be held; `findMembers` does the same for those that are not.
 */
export class MemberWatch {
  readonly #name: string;
  /** Null until its first byte. What is no object has no members. */
  #isObject: boolean | null = null;
  #depth = 0;
  #isKeyNext = false;
  #isInString = false;
  /** Whether what has come of a string ends in a backslash that escapes what comes next. */
  #isEscaped = false;
  /** What has come of a name at the top level; null outside of names, and of names that are too long. */
  #key: string | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  /** How many of them have their name complete with this piece. */
  push(piece: Uint8Array): number {
    let found = 0;
    let depth = this.#depth;
    let at = this.#isObject === null ? this.#begin(piece) : 0;
    while (at < piece.length) {
      if (this.#isInString) {
        at = this.#string(piece, at);
        if (!this.#isInString && this.#takeKey()) found++;
        continue;
      }
      while (at < piece.length && IS_MARK[piece[at]!] === 0) at++;
      if (at === piece.length) break;
      const byte = piece[at++]!;
      if (byte === QUOTE) {
        this.#isInString = true;
        this.#key = this.#isObject && depth === 1 && this.#isKeyNext ? '' : null;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        this.#isKeyNext = depth === 1;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
      else if (depth !== 1) continue;
      else if (byte === COLON) this.#isKeyNext = false;
      else if (byte === COMMA) this.#isKeyNext = true;
    }
    this.#depth = depth;
    return found;
  }

  /** Up to its first byte that is no space. */
  #begin(piece: Uint8Array): number {
    let at = 0;
    while (at < piece.length && piece[at]! <= SPACE) at++;
    if (at < piece.length) this.#isObject = piece[at] === OPEN_BRACE;
    return at;
  }

  /** Goes on behind the string's end, or to the end of the piece. */
  #string(piece: Uint8Array, from: number): number {
    const inside = this.#isEscaped ? from + 1 : from;
    const quote = closingQuote(piece, inside);
    const end = quote < 0 ? piece.length : quote;
    this.#isEscaped = quote < 0 && endsEscaped(piece, inside, end);
    this.#isInString = quote < 0;
    this.#collect(piece, from, end);
    return end + 1;
  }

  #collect(piece: Uint8Array, from: number, end: number) {
    if (this.#key === null) return;
    const isTooLong = this.#key.length + end - from > this.#name.length * LONGEST_LETTER;
    this.#key = isTooLong
      ? null
      : this.#key + Buffer.from(piece.buffer, piece.byteOffset + from, end - from).toString('latin1');
  }

  #takeKey(): boolean {
    const key = this.#key;
    this.#key = null;
    if (key === null) return false;
    try {
      return key === this.#name || (key.includes('\\') && JSON.parse(`"${key}"`) === this.#name);
    } catch {
      return false;
    }
  }
}
