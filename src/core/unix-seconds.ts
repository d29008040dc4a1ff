/** Moments as the vendor's objects give them: whole seconds since the epoch. */
export const unixSeconds = (ms: number): number => Math.floor(ms / 1_000);
export const unixSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : unixSeconds(ms));
