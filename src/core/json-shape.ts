import { textOf } from './bytes.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  IS_MARK,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-marks.ts';
import { endsEscaped, SHORT_TEXT } from './json-text.ts';

/** How much structure JSON may have before it is parsed: what reading it costs grows with this, not with its bytes. */
export interface ShapeLimits {
  /** Objects and lists inside each other. */
  readonly depth: number;
  /** Members of objects, and objects and lists themselves. */
  readonly members: number;
  /** Values of every kind. */
  readonly values: number;
  /** Names and texts. */
  readonly texts: number;
}

/** Deeper than anything that people or programs write, and no walk that calls itself comes near the end of its stack. */
export const DEEPEST = 64;

/** For what is read member by member into another form: conversations, tools, lists of embeddings. */
export const READ_LIMITS: ShapeLimits = { depth: DEEPEST, members: 30_000, values: 400_000, texts: 100_000 };

/** For what a schema checks, which costs several microseconds for each value. */
export const CHECKED_LIMITS: ShapeLimits = { depth: DEEPEST, members: 10_000, values: 20_000, texts: 30_000 };
/** The same for routes that take thousands of messages at once. */
export const LARGE_CHECKED_LIMITS: ShapeLimits = { depth: DEEPEST, members: 20_000, values: 20_000, texts: 40_000 };

/** Why JSON is refused before it is parsed, and which member of its top level holds the fault; null: no member's. */
export interface ShapeFault {
  readonly why: string;
  readonly member: string | null;
}

const LONGEST_NAME = 100;

/**
 * What is wrong with the shape of some JSON, found in one pass over its bytes that neither parses nor calls itself. It stops
 * at the first fault, so that it costs no more than what is allowed. What is no JSON at all may pass: the parser says so.
 */
export function shapeFault(bytes: Uint8Array, limits: ShapeLimits): ShapeFault | null {
  if (!beginsLikeOne(bytes)) return null;
  const scan = new ShapeScan(bytes, limits);
  const why = scan.run();
  return why === null ? null : { why, member: scan.member };
}

/** An image or a page is no JSON, whatever brackets are in it; a parser stops at its first letter. */
function beginsLikeOne(bytes: Uint8Array): boolean {
  let at = 0;
  while (at < bytes.length && SPACES.has(bytes[at]!)) at++;
  return bytes[at] === OPEN_BRACE || bytes[at] === OPEN_BRACKET || isMark(bytes, at);
}

const SPACES: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** The byte order mark, which some readers pass over. */
const isMark = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf;

/** Bytes outside of texts, and escapes in them: all that is walked one by one. */
const MOST_WALKED = 12 << 20;
/** What looking for a quote costs, in bytes that are walked. */
const LOOK = 16;

class ShapeScan {
  readonly #bytes: Uint8Array;
  readonly #limits: ShapeLimits;
  /** Where the walk ends unless texts are passed over. */
  #end = MOST_WALKED;
  /** Where the name begins of the member of the top level that is walked. */
  #name = -1;

  constructor(bytes: Uint8Array, limits: ShapeLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  run(): string | null {
    const bytes = this.#bytes;
    const { depth: deepest, members: mostMembers, values: mostValues, texts: mostTexts } = this.#limits;
    const { length } = bytes;
    let depth = 0;
    let members = 0;
    let values = 1;
    let texts = 0;
    let lastText = -1;
    let at = 0;
    let end = Math.min(length, this.#end);
    while (at < end) {
      while (at < end && IS_MARK[bytes[at]!] === 0) at++;
      if (at === end) break;
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        lastText = at;
        at = this.#afterText(at);
        end = Math.min(length, this.#end);
        if (++texts > mostTexts) return `has more than ${mostTexts} names and texts; send less at once`;
        continue;
      }
      if (byte === COMMA) values++;
      else if (byte === COLON) {
        members++;
        if (depth === 1) this.#name = lastText;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        members++;
        values++;
        if (++depth > deepest) return `is nested deeper than ${deepest} levels`;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
      if (members > mostMembers) return `has more than ${mostMembers} members, objects and lists; send less at once`;
      if (values > mostValues) return `has more than ${mostValues} values; send less at once`;
      at++;
    }
    return at < length ? `has more than ${MOST_WALKED >> 20} MiB outside of its texts; send less at once` : null;
  }

  get member(): string | null {
    if (this.#name < 0) return null;
    const end = this.#afterText(this.#name);
    if (end - this.#name > LONGEST_NAME) return null;
    try {
      return (JSON.parse(textOf(this.#bytes, this.#name, end)) as string).toWellFormed();
    } catch {
      return null;
    }
  }

  /**
   * One past the closing quote; the length when there is none. As `closingQuote` finds it, but what is walked by hand
   * counts, and the walk ends when it was too much.
   */
  #afterText(from: number): number {
    const bytes = this.#bytes;
    let at = from + 1;
    while (at < this.#end) {
      const near = Math.min(bytes.length, at + SHORT_TEXT);
      while (at < near) {
        const byte = bytes[at]!;
        if (byte === QUOTE) return at + 1;
        at += byte === BACKSLASH ? 2 : 1;
      }
      const quote = bytes.indexOf(QUOTE, at);
      const next = quote < 0 ? bytes.length : quote + 1;
      this.#end += next - at - LOOK;
      if (quote < 0 || !endsEscaped(bytes, at, quote)) return next;
      at = next;
    }
    return at;
  }
}
