import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-marks.ts';

const SPACE = 0x20;

/** A letter can be written in six, as `\u006d`. */
const LONGEST_LETTER = 6;

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
  /** Backslashes at the end of what has come of a string. */
  #backslashes = 0;
  /** What has come of a name at the top level; null outside of names, and of names that are too long. */
  #key: string | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  /** How many of them have their name complete with this piece. */
  push(piece: Uint8Array): number {
    let found = 0;
    for (let at = 0; at < piece.length; ) {
      if (!this.#isInString) this.#step(piece[at++]!);
      else {
        const end = this.#string(piece, at);
        at = end.at;
        if (end.isOver && this.#takeKey()) found++;
      }
    }
    return found;
  }

  #step(byte: number) {
    if (this.#isObject === null && byte > SPACE) this.#isObject = byte === OPEN_BRACE;
    if (byte === QUOTE) {
      this.#isInString = true;
      this.#backslashes = 0;
      this.#key = this.#isObject && this.#depth === 1 && this.#isKeyNext ? '' : null;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth++;
      this.#isKeyNext = this.#depth === 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
    else if (this.#depth !== 1) return;
    else if (byte === COLON) this.#isKeyNext = false;
    else if (byte === COMMA) this.#isKeyNext = true;
  }

  /** Goes on to the string's end, to a quote in it, or to the end of the piece. */
  #string(piece: Uint8Array, from: number): { readonly at: number; readonly isOver: boolean } {
    const quote = piece.indexOf(QUOTE, from);
    const end = quote < 0 ? piece.length : quote;
    let backslashes = 0;
    while (end - backslashes > from && piece[end - 1 - backslashes] === BACKSLASH) backslashes++;
    if (end - backslashes === from) backslashes += this.#backslashes;
    const isOver = quote >= 0 && backslashes % 2 === 0;
    this.#backslashes = quote < 0 ? backslashes : 0;
    const at = quote < 0 ? end : quote + 1;
    this.#collect(piece, from, isOver ? end : at);
    if (isOver) this.#isInString = false;
    return { at, isOver };
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
