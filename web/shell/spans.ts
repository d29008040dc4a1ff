/** Which times pages look at. Nothing here needs a browser: the bench asks what pages ask. */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Times that end now, by the word that stands in the address. */
export const PRESETS = [
  { value: '15m', label: 'Last 15 minutes', ms: 15 * MINUTE },
  { value: '1h', label: 'Last hour', ms: HOUR },
  { value: '6h', label: 'Last 6 hours', ms: 6 * HOUR },
  { value: '24h', label: 'Last 24 hours', ms: DAY },
  { value: '7d', label: 'Last 7 days', ms: 7 * DAY },
  { value: '30d', label: 'Last 30 days', ms: 30 * DAY },
  { value: '90d', label: 'Last 90 days', ms: 90 * DAY },
] as const;

/** Milliseconds since the epoch; `until` is not included. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** How long points can be, as `/v1/analytics` knows them. */
const STEPS = [
  ...[MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY],
] as const;
/** More of them are noise in a chart. */
export const MOST_POINTS = 120;

/** As long as points are, so that a chart has no more than it can show. */
export const stepOf = (ms: number, most = MOST_POINTS) => STEPS.find((step) => ms / step <= most) ?? DAY;

/** The time before, of the same length. */
export const before = ({ from, until }: Span): Span => ({ from: from - (until - from), until: from });

/**
 * A time that ends now, in whole points: a part of a point at the end would look like a fall. Points of a long time are whole hours
 * or days, so the gateway answers from its figures alone.
 */
export function lastSpan(ms: number, now: number): Span {
  const step = stepOf(ms);
  const until = Math.ceil(now / step) * step;
  return { from: until - ms, until };
}
