import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import { isObject } from '../dialects/json.ts';
import type { TextPart, Transformed } from './check.ts';
import {
  awsEventsIn,
  type Events,
  eventsIn,
  type JoinedText,
  joinTexts,
  linesIn,
  type Piece,
  type Unit,
} from './events.ts';
import { foldedJson } from './folded-json.ts';
import { boundaryIn, findFields } from './form.ts';
import { JsonCursor } from './json-cursor.ts';
import { type Edit, editsOf, type Stretch, spliced } from './splice.ts';
import type { Side } from './text-context.ts';
import { findTexts, Unreadable } from './texts.ts';

/** A body as checks see it, and the way back to its bytes. Immutable: a change makes another one. */
export interface Reading {
  readonly texts: readonly TextPart[];
  /** Null where it is not JSON. */
  readonly json: unknown;
  /** The model that it names. */
  readonly model: string | null;
  /** Why its texts cannot be judged; null when they can. */
  readonly obstacle: string | null;
  readonly isEmpty: boolean;
  readonly bytes: Uint8Array;
  /** The body with something else in its place; null when that is not possible. */
  changed(to: Transformed): Reading | null;
}

/** How the body is described by the headers that came with it. */
export interface BodyHead {
  readonly type: string;
  readonly encoding: string | null;
}

const MEDIA = /^(?:audio|image|video|font)\//i;
const isJsonType = (type: string) => /^application\/([\w.-]+\+)?json\b/i.test(type);

/** Throws `Unreadable` where two programs may read the body in two ways. */
export function readBody(bytes: Uint8Array | null, { type, encoding }: BodyHead, side: Side): Reading {
  if (!bytes || bytes.byteLength === 0) return EMPTY;
  if (encoding !== null && encoding !== 'identity') return opaque(bytes, `it is encoded (${encoding.slice(0, 40)})`);
  // What nearly all bodies are.
  if (type === 'application/json') return readUnicode(bytes, type, side);
  const boundary = boundaryIn(type);
  if (boundary !== null) return readForm(bytes, boundary);
  if (MEDIA.test(type)) return opaque(bytes, `it is ${type.split(';')[0]}, not text`);
  if (/^text\/event-stream\b/i.test(type)) return readEvents(bytes, side);
  if (/^application\/vnd\.amazon\.eventstream\b/i.test(type)) return readAws(bytes, side);
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return opaque(bytes, 'it is a form of another kind');
  return readUnicode(bytes, type, side);
}

function readUnicode(bytes: Uint8Array, type: string, side: Side): Reading {
  const fault = shapeFault(bytes, READ_LIMITS);
  if (fault) throw new Unreadable(`${fault.member ?? 'it'} ${fault.why}`);
  const source = utf8(bytes);
  if (source === null || source.includes('\0')) return opaque(bytes, 'it is not text');
  if (source.charCodeAt(0) === BYTE_ORDER_MARK) throw new Unreadable('it begins with a byte order mark');
  return readText(source, type, side);
}

const BYTE_ORDER_MARK = 0xfeff;

export const EMPTY: Reading = {
  texts: [],
  json: null,
  model: null,
  obstacle: null,
  isEmpty: true,
  bytes: new Uint8Array(),
  changed: () => null,
};

const opaque = (bytes: Uint8Array, obstacle: string): Reading => ({ ...EMPTY, isEmpty: false, bytes, obstacle });

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function utf8(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function readText(source: string, type: string, side: Side): Reading {
  let json: unknown;
  try {
    json = JSON.parse(source);
  } catch (error) {
    const lines = linesIn(source);
    if (lines)
      return readList(
        lines,
        lines.units.map((unit) => unit.json),
        side,
      );
    if (isJsonType(type)) throw new Unreadable(`it is not valid JSON: ${(error as Error).message}`);
    return readPlain(source, side);
  }
  // A stream may come as one list: a word can be in two of its elements.
  if (side.on === 'output' && Array.isArray(json) && json.every(isObject))
    return readList({ source, units: elementsOf(source, json) }, json, side);
  return readJson(source, json, side);
}

const readList = (events: Events, json: readonly unknown[], side: Side): Reading =>
  readUnits(events, {
    bytes: Buffer.from(events.source),
    json: () => json,
    side,
    again: (source) => readText(source, 'application/json', side),
  });

function elementsOf(source: string, json: readonly unknown[]): Unit[] {
  const cursor = new JsonCursor(source, 0);
  const units: Unit[] = [];
  cursor.elements(json.length, (index) => {
    const start = cursor.at;
    cursor.skip();
    units.push({ start, end: cursor.at, json: json[index] });
  });
  return units;
}

function readJson(source: string, json: unknown, side: Side): Reading {
  const { texts, revealing, hasTokens, hasUnread } = findTexts(source, json, side);
  const model = isObject(json) && typeof json.model === 'string' ? json.model : null;
  return {
    texts,
    json,
    model,
    obstacle: hasTokens ? 'its text is given as tokens' : hasUnread ? UNREAD : null,
    isEmpty: false,
    get bytes() {
      return Buffer.from(source);
    },
    changed: (to) => {
      if ('json' in to) return readText(JSON.stringify(to.json) ?? 'null', 'application/json', side);
      const changes = to.texts
        .map(({ part, text }) => ({ at: texts[part]!, text }))
        .filter(({ at }) => !at.isRevealing);
      return readText(spliced(source, [...editsOf(changes), ...revealing.map(hidden)]), 'application/json', side);
    },
  };
}

const UNREAD = 'a file in it says that it is text, and is not UTF-8';

const edit = ({ start, end }: Stretch, by: string): Edit => ({ start, end, by });
const hidden = (stretch: Stretch): Edit => edit(stretch, 'null');

/** The bytes of a form as letters of one byte each: files in it are no text. */
function readForm(bytes: Uint8Array, boundary: string): Reading {
  const { texts, model } = findFields(bytes, boundary);
  return {
    ...EMPTY,
    texts,
    model,
    isEmpty: false,
    bytes,
    changed: (to) => {
      if ('json' in to) return null;
      const edits = to.texts.map(({ part, text }) => edit(texts[part]!, Buffer.from(text).toString('latin1')));
      if (edits.some(({ by }) => by.includes(`--${boundary}`))) return null;
      const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
      return readForm(Buffer.from(spliced(source, edits), 'latin1'), boundary);
    },
  };
}

function readPlain(source: string, side: Side): Reading {
  const role = side.on === 'input' ? 'user' : 'assistant';
  return {
    ...EMPTY,
    texts: [{ text: source, role, kind: 'text', turn: 1, where: 'body' }],
    isEmpty: false,
    get bytes() {
      return Buffer.from(source);
    },
    changed: (to) => ('json' in to ? null : readPlain(to.texts[0]?.text ?? source, side)),
  };
}

function readEvents(bytes: Uint8Array, side: Side): Reading {
  const { events, isPlain, ...rest } = eventsIn(bytes);
  // Comments, unknown fields and names that are texts reach no client.
  const given = isPlain ? bytes : Buffer.from(rest.source);
  const whole = () => foldedJson(events, side.endpoint) ?? rest.units.flatMap(({ json }) => json ?? []);
  return readUnits(rest, { bytes: given, json: whole, side, again: (source) => readEvents(Buffer.from(source), side) });
}

/** Their checksums would not hold any more. */
const readAws = (bytes: Uint8Array, side: Side): Reading =>
  readUnits(awsEventsIn(bytes), { bytes, json: () => null, side, again: () => null });

interface UnitsOptions {
  /** As the provider framed them. */
  readonly bytes: Uint8Array;
  readonly json: () => unknown;
  readonly side: Side;
  readonly again: (source: string) => Reading | null;
}

function readUnits(events: Events, { bytes, json, side, again }: UnitsOptions): Reading {
  const { texts, revealing, hasUnread } = joinTexts(events, side);
  return {
    texts,
    get json() {
      return json();
    },
    model: null,
    obstacle: hasUnread ? UNREAD : null,
    isEmpty: false,
    bytes,
    changed: (to) => {
      if ('json' in to) return null;
      const changes = to.texts
        .map(({ part, text }) => ({ at: texts[part]!, text }))
        .filter(({ at }) => !at.isRevealing);
      const edits = rewritten(changes);
      return again(spliced(events.source, [...edits, ...revealing.map(hidden)]));
    },
  };
}

/** All of each where its first piece was, and wherever it is said again. */
function rewritten(changes: readonly { readonly at: JoinedText; readonly text: string }[]): Edit[] {
  const byStart = new Map(changes.map(({ at }) => [at.start, at]));
  return editsOf(changes, (at, text) => ({ start: at.start, end: at.end, by: text })).flatMap(({ start, by }) => {
    const { pieces, repeats } = byStart.get(start)!;
    const encoded = (piece: Piece, said: string) =>
      edit(piece, piece.isJson ? JSON.stringify(said) : said.replace(/[\r\n]+/g, ' '));
    return [
      ...pieces.map((piece, index) => encoded(piece, index === 0 ? by : '')),
      ...repeats.map((each) => encoded(each, by)),
    ];
  });
}
