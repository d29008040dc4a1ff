/** How long the buckets of cells are; the number is what the table calls it. Quarters are those of a day. */
export const GRAINS = [
  { name: 'minutes', ms: 60_000 },
  { name: 'hours', ms: 3_600_000 },
  { name: 'quarters', ms: 21_600_000 },
  { name: 'days', ms: 86_400_000 },
] as const;
export type GrainName = (typeof GRAINS)[number]['name'];

export const [MINUTES, HOURS, , DAYS] = [0, 1, 2, 3] as const;
export const MINUTE_MS = GRAINS[MINUTES].ms;
export const HOUR_MS = GRAINS[HOURS].ms;
export const DAY_MS = GRAINS[DAYS].ms;
