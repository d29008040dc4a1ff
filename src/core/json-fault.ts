import { findMembers } from './json-bytes.ts';

/** Where a JSON text is broken, as an offset; null where it is not. */
export function syntaxFault(text: string): number | null {
  const scan = new Scan(text);
  try {
    scan.value(0);
    scan.space();
    return scan.at === text.length ? null : scan.at;
  } catch (error) {
    if (error instanceof Broken) return scan.at;
    throw error;
  }
}

/** The line of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** The line on which the value of a path stands, or as much of the path as there is; for texts that are JSON. */
export function lineOf(text: string, path: readonly PropertyKey[]): number {
  const bytes = Buffer.from(text);
  let [start, end] = [0, bytes.length];
  for (const step of path) {
    const found = typeof step === 'string' ? findMembers(bytes.subarray(start, end), step).at(-1) : undefined;
    if (!found) break;
    end = start + found.end;
    start += found.start;
  }
  return lineAt(bytes.toString('utf8', 0, start), start);
}

class Broken extends Error {}

const DEEPEST = 64;
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

/** Walks over one JSON text and stops where it is broken. */
class Scan {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  space() {
    this.#take(SPACE);
  }

  value(depth: number) {
    this.space();
    if (depth > DEEPEST) throw new Broken();
    const first = this.#text[this.at];
    if (first === '{') this.#list('}', () => this.#member(depth));
    else if (first === '[') this.#list(']', () => this.value(depth + 1));
    else if (!this.#take(STRING) && !this.#take(SCALAR)) throw new Broken();
  }

  #list(close: string, item: () => void) {
    this.at++;
    this.space();
    if (this.#skip(close)) return;
    do {
      item();
      this.space();
    } while (this.#skip(','));
    if (!this.#skip(close)) throw new Broken();
  }

  #member(depth: number) {
    this.space();
    if (!this.#take(STRING)) throw new Broken();
    this.space();
    if (!this.#skip(':')) throw new Broken();
    this.value(depth + 1);
  }

  #skip(character: string): boolean {
    if (this.#text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }
}
