import { copyOf } from '../core/bytes.ts';
import { LONGEST_LETTER } from '../core/json-bytes.ts';
import { BACKSLASH, COLON, COMMA, IS_MARK, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-marks.ts';
import { closingQuote, endsEscaped } from '../core/json-text.ts';
import { mayNameMcp } from './body-words.ts';
import type { Opening } from './call.ts';

/** Members whose texts are secrets, however deep these lie in them. */
const SECRETS: ReadonlySet<unknown> = new Set(['authorization', 'authorization_token', 'headers']);
const HEADERS = 'headers';
const ADDRESS = 'server_url';
const LONGEST_NAME = 'authorization_token'.length * LONGEST_LETTER;

const ASTERISK = 0x2a;
const QUESTION_MARK = 0x3f;
const SLASH = 0x2f;

/**
 * A body as the log may keep it: what a client gives for MCP servers (`authorization`, `authorization_token`, `headers`,
 * the query of `server_url`) is masked. Every byte stands where it stood, so sizes and the ends of what is kept stay as they are.
 */
export const loggedBody = (body: Pick<Opening, 'head' | 'words'>): Uint8Array =>
  mayNameMcp(body) ? new SecretsMask().push(body.head) : body.head;

/** Masks the pieces of a JSON body while they pass, however they are cut. */
export class SecretsMask {
  #isInText = false;
  /** Whether what has come of a text ends in a backslash that escapes what comes next. */
  #isEscaped = false;
  /** How the text is kept that is passing: as it is, without the query of its address, or not at all. */
  #text: 'shown' | 'address' | 'hidden' = 'shown';
  /** What has come of a text that may be a name; null: it is too long for one that is looked for. */
  #read: string | null = null;
  /** The name of the member whose value comes next. */
  #name: unknown = null;
  #isValue = false;
  /** How many braces and brackets are open in a member whose texts are hidden; 0 outside of these. */
  #depth = 0;
  /** Whether it is an object of headers, whose own names are no secrets. */
  #isHeaders = false;

  /** The piece as the log may keep it: itself, where nothing of it is a secret. */
  push(piece: Uint8Array): Uint8Array {
    let shown = piece;
    const hide = (from: number, end: number) => {
      if (from >= end) return;
      if (shown === piece) shown = copyOf(piece);
      shown.fill(ASTERISK, from, end);
    };
    let at = 0;
    while (at < piece.length) {
      if (this.#isInText) {
        at = this.#passText(piece, at, hide);
        continue;
      }
      while (at < piece.length && IS_MARK[piece[at]!] === 0) at++;
      if (at < piece.length) this.#passMark(piece[at++]!);
    }
    return shown;
  }

  #passMark(mark: number): void {
    if (mark === QUOTE) {
      this.#isInText = true;
      this.#text = this.#howToKeep();
      this.#read = this.#isValue ? null : '';
      return;
    }
    if (mark === COLON) {
      this.#name = decoded(this.#read);
      this.#isValue = true;
      return;
    }
    if (mark === OPEN_BRACE || mark === OPEN_BRACKET) this.#open(mark);
    else if (mark !== COMMA && this.#depth > 0) this.#depth--;
    this.#isValue = false;
    this.#name = null;
  }

  #open(mark: number): void {
    if (this.#depth === 0) {
      if (!this.#isValue || !SECRETS.has(this.#name)) return;
      this.#isHeaders = this.#name === HEADERS && mark === OPEN_BRACE;
    }
    this.#depth++;
  }

  #howToKeep(): 'shown' | 'address' | 'hidden' {
    if (this.#depth > 0) return this.#depth === 1 && this.#isHeaders && !this.#isValue ? 'shown' : 'hidden';
    if (!this.#isValue) return 'shown';
    if (SECRETS.has(this.#name)) return 'hidden';
    return this.#name === ADDRESS ? 'address' : 'shown';
  }

  /** Goes on behind the text's end, or to the end of the piece. */
  #passText(piece: Uint8Array, from: number, hide: (from: number, end: number) => void): number {
    const inside = this.#isEscaped ? from + 1 : from;
    const quote = closingQuote(piece, inside);
    const end = quote < 0 ? piece.length : quote;
    if (this.#text === 'hidden') hide(from, end);
    const query = this.#text === 'address' ? queryIn(piece, from, end) : -1;
    if (query >= 0) {
      hide(query, end);
      this.#text = 'hidden';
    }
    this.#collect(piece, from, end);
    this.#isEscaped = quote < 0 && endsEscaped(piece, inside, end);
    this.#isInText = quote < 0;
    return end + 1;
  }

  #collect(piece: Uint8Array, from: number, end: number): void {
    if (this.#read === null) return;
    const isTooLong = this.#read.length + end - from > LONGEST_NAME;
    this.#read = isTooLong ? null : this.#read + Buffer.prototype.latin1Slice.call(piece, from, end);
  }
}

function decoded(read: string | null): unknown {
  if (!read?.includes('\\')) return read;
  try {
    return JSON.parse(`"${read}"`);
  } catch {
    return null;
  }
}

/** Where an address has its query, or a letter that may begin one, since it is written as an escape: by habit only slashes are. -1: nowhere. */
function queryIn(piece: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const byte = piece[at];
    if (byte === QUESTION_MARK) return at + 1;
    if (byte !== BACKSLASH) continue;
    if (piece[at + 1] !== SLASH) return at;
    at++;
  }
  return -1;
}
