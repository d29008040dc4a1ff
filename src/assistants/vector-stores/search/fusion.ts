/** Of reciprocal rank fusion: how much less the tenth counts than the first. The value of the paper that proposed it. */
const SMOOTHING = 60;

/**
 * Puts ranked lists together: what stands high in several of them comes first. Ranks are comparable where the measures
 * behind them are not. 1 is the first place in every list; a list that does not hold a key adds nothing to its score.
 */
export function fused(lists: readonly (readonly string[])[]): Map<string, number> {
  const best = lists.length / (SMOOTHING + 1);
  const scores = new Map<string, number>();
  for (const list of lists)
    for (const [rank, key] of list.entries())
      scores.set(key, (scores.get(key) ?? 0) + 1 / (SMOOTHING + rank + 1) / best);
  return scores;
}

/** Several questions are asked for the same thing: a chunk is as good as it is for one of them. */
export function best(scores: readonly ReadonlyMap<string, number>[]): [key: string, score: number][] {
  const all = new Map<string, number>();
  for (const each of scores)
    for (const [key, score] of each) all.set(key, Math.min(1, Math.max(score, all.get(key) ?? 0)));
  return [...all].sort(([, one], [, other]) => other - one);
}
