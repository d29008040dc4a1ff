import { createHash } from 'node:crypto';

/** What tools, prompts and resources of many servers are called behind one address. */

const SEPARATOR = '__';
/** Model providers accept no longer ones. */
const LONGEST = 64;
const HASH_LENGTH = 6;
const HEAD_LENGTH = LONGEST - HASH_LENGTH - 1;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const MARKED = /-[a-z2-7]{6}$/;

/** What else a name may hold, model providers do not take. */
const FOREIGN = /[^a-zA-Z0-9_-]/gu;

/**
 * `weather__forecast`. A name that would be too long, that holds other characters than letters, digits, `_` and `-`, or
 * whose first `__` is not the one between server and tool, is put right and marked with a hash of both: two never become
 * the same, and each stays the same.
 */
export function exposedName(slug: string, name: string): string {
  const full = `${slug}${SEPARATOR}${name}`;
  const plain = full.replace(FOREIGN, '_');
  if (full === plain && full.length <= LONGEST && full.indexOf(SEPARATOR) === slug.length) return full;
  return `${plain.slice(0, HEAD_LENGTH)}-${hashOf(slug, name)}`;
}

function hashOf(slug: string, name: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([slug, name]))
    .digest();
  return Array.from({ length: HASH_LENGTH }, (_, index) => ALPHABET[digest[index]! % ALPHABET.length]).join('');
}

/** Those of the servers whose names may begin like this one. */
export const mayExpose = (slug: string, name: string): boolean =>
  name.startsWith(`${slug}${SEPARATOR}`.slice(0, HEAD_LENGTH));

export interface Plain {
  readonly slug: string;
  readonly name: string;
  /** Another name could have been cut to the same: the lists say which it is. */
  readonly isDoubtful: boolean;
}

/** What a name says by itself; null where only the lists of servers can tell. */
export function plainName(exposed: string, slugs: readonly string[]): Plain | null {
  const at = exposed.indexOf(SEPARATOR);
  const slug = exposed.slice(0, at);
  const name = exposed.slice(at + SEPARATOR.length);
  if (at < 0 || name === '' || !slugs.includes(slug) || exposedName(slug, name) !== exposed) return null;
  const isLong = exposed.length >= LONGEST - 1;
  const hasRival = slugs.some((other) => other !== slug && mayExpose(other, exposed));
  // What was put right in a name is a `_` before its mark.
  const mayBeOther = name.slice(0, -HASH_LENGTH).includes('_');
  return { slug, name, isDoubtful: MARKED.test(exposed) && (isLong || hasRival || mayBeOther) };
}

const SCHEME = 'mcp://';

/** The address follows unchanged, so that templates of addresses work alike. */
export const exposedUri = (slug: string, uri: string): string => `${SCHEME}${slug}/${uri}`;

export function plainUri(exposed: string): { readonly slug: string; readonly uri: string } | null {
  if (!exposed.startsWith(SCHEME)) return null;
  const end = exposed.indexOf('/', SCHEME.length);
  return end < 0 ? null : { slug: exposed.slice(SCHEME.length, end), uri: exposed.slice(end + 1) };
}
