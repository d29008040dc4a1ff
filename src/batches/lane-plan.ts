/** What one piece of work does next: the requests from `from` on, `size` of them; then those `step` further. */
export interface Lane {
  readonly from: number;
  readonly size: number;
  readonly step: number;
}

/** So many pieces of work does a batch have at once; each may run on another node. */
export const LANES = 4;
/** After so many requests a lane goes to the end of the queue, so that batches take turns. */
const MOST_SIZE = 500;
const LEAST_SIZE = 16;

/** Together the lanes cover every request once. */
export function lanesFor(total: number): Lane[] {
  const size = Math.min(MOST_SIZE, Math.max(LEAST_SIZE, Math.ceil(total / LANES)));
  const lanes: Lane[] = [];
  for (let from = 0; from < total && lanes.length < LANES; from += size) lanes.push({ from, size, step: size * LANES });
  return lanes;
}

/** What the lane does after this; null: it has no more. */
export const nextOf = ({ from, size, step }: Lane, total: number): Lane | null =>
  from + step < total ? { from: from + step, size, step } : null;
