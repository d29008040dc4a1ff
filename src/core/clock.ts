/** Milliseconds since the epoch. Tests give their own. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

export const toIso = (ms: number): string => new Date(ms).toISOString();
