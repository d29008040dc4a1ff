import { findMembers } from '../../core/json-bytes.ts';

const MOST_MEMBERS = 20;
const DEEPEST = 2;
const LONGEST = 256;
/** A member's name that is longer, or of other characters, may be data itself. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/**
 * What the arguments of a call are like, without any of their values: `{to:text(12),copies:[3],options:{a:number}}`.
 * Null where the message has none.
 */
export function shapesIn(message: Uint8Array): string | null {
  const params = within(message, 'params');
  const given = params && within(params, 'arguments');
  if (!given) return null;
  try {
    return shapeOf(JSON.parse(new TextDecoder().decode(given)), 0).slice(0, LONGEST);
  } catch {
    return null;
  }
}

function within(bytes: Uint8Array, name: string): Uint8Array | null {
  const [member] = findMembers(bytes, name, 1);
  return member ? bytes.subarray(member.start, member.end) : null;
}

export function shapeOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return `text(${value.length})`;
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  if (Array.isArray(value)) return `[${value.length}]`;
  const names = Object.keys(value);
  if (depth >= DEEPEST) return `{${names.length}}`;
  const shown = names
    .slice(0, MOST_MEMBERS)
    .map(
      (name) => `${PLAIN_NAME.test(name) ? name : '*'}:${shapeOf((value as Record<string, unknown>)[name], depth + 1)}`,
    );
  if (names.length > MOST_MEMBERS) shown.push('…');
  return `{${shown.join(',')}}`;
}
