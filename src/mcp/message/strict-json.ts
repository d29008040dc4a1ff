/** A message that two programs may read in two ways, or that is nested too deeply to be read safely. */
export class Ambiguous extends Error {}

const DEEPEST = 64;

/** Text of UTF-8 and JSON that every program reads alike; throws `Ambiguous`. */
export function strictJson(bytes: Uint8Array): { readonly source: string; readonly value: unknown } {
  const source = utf8(bytes);
  if (source.startsWith('\ufeff')) throw new Ambiguous('it begins with a byte order mark');
  refuseTwins(source);
  try {
    return { source, value: JSON.parse(source) };
  } catch {
    throw new Ambiguous('it is not valid JSON');
  }
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Ambiguous('it is not UTF-8');
  }
}

interface Level {
  /** Null in a list. */
  readonly names: Set<string> | null;
  expectsName: boolean;
}

/**
 * Throws `Ambiguous` where a member is given twice at any level. Before the text is parsed, so that depth is bounded; what
 * is no JSON at all is found out then.
 */
export function refuseTwins(source: string, deepest = DEEPEST) {
  const levels: Level[] = [];
  let at = 0;
  while (at < source.length) {
    const character = source[at]!;
    const level = levels.at(-1);
    if (character === '"') {
      const end = afterString(source, at);
      if (level?.names && level.expectsName) noteName(level, source.slice(at, end));
      at = end;
      continue;
    }
    if (character === '{' || character === '[') {
      if (levels.length >= deepest) throw new Ambiguous(`it is nested deeper than ${deepest} levels`);
      levels.push({ names: character === '{' ? new Set() : null, expectsName: character === '{' });
    } else if (character === '}' || character === ']') levels.pop();
    else if (character === ',' && level?.names) level.expectsName = true;
    at++;
  }
}

function noteName(level: Level, quoted: string) {
  let name: string;
  try {
    name = JSON.parse(quoted) as string;
  } catch {
    throw new Ambiguous('it is not valid JSON');
  }
  if (level.names!.has(name)) throw new Ambiguous('a member of it is given twice');
  level.names!.add(name);
  level.expectsName = false;
}

function afterString(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === '\\') at++;
    else if (source[at] === '"') return at + 1;
  }
  return source.length;
}

/** What a name is to programs (those in Go above all) that take `Method` and `paramſ` for `method` and `params`. */
export const carelessly = (name: string): string => name.toUpperCase().toLowerCase();

/** Tells whether a name is another spelling of one of these, which mean something. */
export function misspellingOf(known: readonly string[]): (name: string) => boolean {
  const exact = new Set(known);
  const careless = new Set(known.map(carelessly));
  return (name) => !exact.has(name) && careless.has(carelessly(name));
}
