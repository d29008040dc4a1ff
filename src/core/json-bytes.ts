import { textOf } from './bytes.ts';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-marks.ts';
import { closingQuote } from './json-text.ts';

/** Where one member of a JSON object's top level stands in its bytes. */
export interface Member {
  /** First byte of the value. */
  readonly start: number;
  /** One past its last byte. */
  readonly end: number;
  /** First byte of the name, its quote. */
  readonly name: number;
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
}

/** One past the closing quote of the string that starts at `from`; the length when it never closes. */
function skipString(bytes: Uint8Array, from: number): number {
  const quote = closingQuote(bytes, from + 1);
  return quote < 0 ? bytes.length : quote + 1;
}

function skipValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at;
    at++;
  }
  return at;
}

/** Names that were asked for before: the code's own, and a few that configs name. */
const quotedNames = new Map<string, string>();

function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    text = JSON.stringify(name);
    if (quotedNames.size > 1_000) quotedNames.clear();
    quotedNames.set(name, text);
  }
  return text;
}

/**
 * Finds the top-level members of that name without parsing the rest, so that an edit can replace their bytes and leave
 * every other byte (big integers, duplicate keys, spacing) as it was. Bytes that are no JSON object have no members.
 * The name is plain ASCII.
 */
export function findMembers(bytes: Uint8Array, name: string, atMost = Number.POSITIVE_INFINITY): Member[] {
  const wanted = quoted(name);
  const members: Member[] = [];
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return members;
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === QUOTE) {
    const nameAt = at;
    const keyEnd = skipString(bytes, at);
    const isWanted = keyMatches(bytes, at, keyEnd, name, wanted);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) return members;
    const start = skipSpace(bytes, at + 1);
    const end = skipValue(bytes, start);
    if (isWanted && members.push({ start, end, name: nameAt }) >= atMost) return members;
    at = skipSpace(bytes, end);
    if (bytes[at] !== COMMA) return members;
    at = skipSpace(bytes, at + 1);
  }
  return members;
}

/** Whether the bytes are one object, from its first brace to its last, as far as `findMembers` reads it. */
export function isWholeObject(bytes: Uint8Array): boolean {
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return false;
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === QUOTE) {
    at = skipSpace(bytes, skipString(bytes, at));
    if (bytes[at] !== COLON) return false;
    at = skipSpace(bytes, skipValue(bytes, skipSpace(bytes, at + 1)));
    if (bytes[at] !== COMMA) break;
    at = skipSpace(bytes, at + 1);
  }
  return bytes[at] === CLOSE_BRACE && skipSpace(bytes, at + 1) === bytes.length;
}

/** A letter can be written in six, as `\u006d`. */
export const LONGEST_LETTER = 6;

/** Escapes make a name longer: what is shorter is another name, and what is as long is the same only byte by byte. */
function keyMatches(bytes: Uint8Array, start: number, end: number, name: string, wanted: string): boolean {
  const longer = end - start - wanted.length;
  if (longer < 0 || end - start > wanted.length * LONGEST_LETTER) return false;
  if (longer > 0) return hasEscape(bytes, start, end) && decodedKey(bytes, start, end) === name;
  for (let index = 0; index < wanted.length; index++)
    if (bytes[start + index] !== wanted.charCodeAt(index)) return false;
  return true;
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] !== BACKSLASH) at++;
  return at < end;
}

function decodedKey(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(textOf(bytes, start, end));
  } catch {
    return undefined;
  }
}

/** The object with one more member at its end; bytes that are no JSON object stay as they are. */
export function appendMember(bytes: Uint8Array, name: string, json: string): Uint8Array {
  const open = skipSpace(bytes, 0);
  const close = bytes.lastIndexOf(CLOSE_BRACE);
  if (bytes[open] !== OPEN_BRACE || close < open) return bytes;
  const isEmpty = skipSpace(bytes, open + 1) === close;
  return splice(bytes, { start: close, end: close }, `${isEmpty ? '' : ','}${JSON.stringify(name)}:${json}`);
}

/** The object with more members at its beginning, given as `"a":1,"b":2`. Null: the bytes begin no JSON object. */
export function prependMembers(bytes: Uint8Array, members: string): Uint8Array | null {
  const open = skipSpace(bytes, 0);
  if (bytes[open] !== OPEN_BRACE) return null;
  const at = skipSpace(bytes, open + 1);
  const isEmpty = bytes[at] === CLOSE_BRACE;
  return splice(bytes, { start: at, end: at }, isEmpty ? members : `${members},`);
}

/**
 * The object without members that findMembers found, and without the commas beside them. In one go: a body may hold the
 * same name a million times.
 */
export function removeMembers(bytes: Uint8Array, members: readonly Member[]): Uint8Array {
  const kept = new Uint8Array(bytes.length);
  let size = 0;
  let at = 0;
  const keep = (end: number) => {
    kept.set(bytes.subarray(at, end), size);
    size += end - at;
  };
  for (const { name, end } of members) {
    keep(name);
    const after = skipSpace(bytes, end);
    at = bytes[after] === COMMA ? skipSpace(bytes, after + 1) : end;
    if (at === end) size = withoutComma(kept, size);
  }
  keep(bytes.length);
  return kept.subarray(0, size);
}

/** Where the bytes end when the comma at their end, if there is one, goes with the space around it. */
function withoutComma(bytes: Uint8Array, size: number): number {
  let before = size - 1;
  while (isSpace(bytes[before])) before--;
  return bytes[before] === COMMA ? before : size;
}

/** The bytes with one stretch replaced. */
export function splice(
  bytes: Uint8Array,
  { start, end }: Pick<Member, 'start' | 'end'>,
  replacement: string,
): Uint8Array {
  const insert = Buffer.from(replacement);
  const result = new Uint8Array(bytes.length - (end - start) + insert.length);
  result.set(bytes.subarray(0, start), 0);
  result.set(insert, start);
  result.set(bytes.subarray(end), start + insert.length);
  return result;
}
