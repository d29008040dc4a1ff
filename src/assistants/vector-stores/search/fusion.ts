/** How a model spreads its cosines. */
export interface Scale {
  /** A chunk that is as near as this means something else: models see unlike texts point the same way a little, too. */
  readonly unlike: number;
  /** As near as this, a chunk says what was asked for; questions and their answers are seldom nearer. */
  readonly alike: number;
}

/** Of most models that providers have. */
export const USUAL_SCALE: Scale = { unlike: 0.2, alike: 0.75 };

/** From 0 to 1: what a cosine says about a chunk. */
export const meaningOf = (similarity: number, { unlike, alike }: Scale): number =>
  Math.min(1, Math.max(0, (similarity - unlike) / (alike - unlike)));

/**
 * Puts scores of different kinds together: what one of them finds is found, and what both find comes before it. A score says
 * the same in every search, so nothing that is far from a question becomes near by being the nearest.
 */
export function fused(lists: readonly (readonly (readonly [key: string, score: number])[])[]): Map<string, number> {
  const scores = new Map<string, number>();
  for (const list of lists)
    for (const [key, score] of list) scores.set(key, 1 - (1 - (scores.get(key) ?? 0)) * (1 - score));
  return scores;
}

/** Several questions are asked for the same thing: a chunk is as good as it is for one of them. */
export function best(scores: readonly ReadonlyMap<string, number>[]): [key: string, score: number][] {
  const all = new Map<string, number>();
  for (const each of scores)
    for (const [key, score] of each) all.set(key, Math.min(1, Math.max(score, all.get(key) ?? 0)));
  return [...all].sort(([, one], [, other]) => other - one);
}
