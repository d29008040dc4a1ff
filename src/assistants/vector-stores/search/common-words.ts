import type { FoundByWords } from './chunk-store.ts';
import type { Weighed } from './words.ts';

/** So many common words are looked for together. */
const MOST_TOGETHER = 4;
/** With so many chunks found, those with fewer of the words are not looked for. */
export const ENOUGH = 20;

/**
 * The chunks that hold several words of a query, each of which is in so many chunks that not all can be ranked: first those with
 * the four rarest, and where these are few, those with three or two of them.
 */
export async function foundTogether(
  { terms }: Weighed,
  find: (together: Weighed['terms']) => Promise<FoundByWords[]>,
): Promise<FoundByWords[]> {
  let all: FoundByWords[] = [];
  for (let count = Math.min(MOST_TOGETHER, terms.length); count > 1 && all.length < ENOUGH; count--)
    all = joined(all, await find(terms.slice(0, count)));
  return all;
}

/** What the first list has, and behind it what the second has besides. */
export function joined(first: readonly FoundByWords[], second: readonly FoundByWords[]): FoundByWords[] {
  const known = new Set(first.map(({ source, number }) => `${source} ${number}`));
  return [...first, ...second.filter(({ source, number }) => !known.has(`${source} ${number}`))];
}
