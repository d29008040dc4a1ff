import { short } from '../numbers.ts';

/** One of the numbers we hold ourselves to; without a target it is shown and not judged. */
export interface Verdict {
  readonly what: string;
  readonly target: string;
  readonly value: string;
  readonly isMet: boolean | null;
}

export interface Measured {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  /** What the value was made of. */
  readonly detail?: string;
}

export const atMost = (limit: number, { what, unit, value, detail = '' }: Measured): Verdict => ({
  what,
  target: `≤ ${limit} ${unit}`,
  value: `${short(value)} ${unit}${detail}`,
  isMet: value <= limit,
});

export const atLeast = (limit: number, { what, unit, value, detail = '' }: Measured): Verdict => ({
  what,
  target: `≥ ${limit} ${unit}`,
  value: `${short(value)} ${unit}${detail}`,
  isMet: value >= limit,
});

/** No target was set. */
export const shown = ({ what, unit, value, detail = '' }: Measured): Verdict => ({
  what,
  target: 'none',
  value: `${short(value)} ${unit}${detail}`,
  isMet: null,
});
