/** How long the buckets of cells are, the shorter ones first; `id` is what the table calls it. Quarters are those of a day. */
export const GRAINS = [
  { name: 'minutes', ms: 60_000, id: 0 },
  { name: 'fives', ms: 300_000, id: 4 },
  { name: 'hours', ms: 3_600_000, id: 1 },
  { name: 'quarters', ms: 21_600_000, id: 2 },
  { name: 'days', ms: 86_400_000, id: 3 },
] as const;
export type GrainName = (typeof GRAINS)[number]['name'];

export const [MINUTES, FIVES, HOURS, , DAYS] = [0, 1, 2, 3, 4] as const;
export const MINUTE_MS = GRAINS[MINUTES].ms;
export const HOUR_MS = GRAINS[HOURS].ms;
export const DAY_MS = GRAINS[DAYS].ms;
