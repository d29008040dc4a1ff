import { CALLS_A_SECOND, type FiguresSample, type Mix } from '../measure/figures.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_MICROSECONDS = 5;
const MIXES: Readonly<Record<Mix, string>> = {
  alike: 'one application, calls alike',
  mixed: 'two hundred keys, forty models',
};

export const figuresVerdicts = (samples: readonly FiguresSample[]): Verdict[] =>
  mixes(samples).map(([mix, own]) =>
    atMost(MOST_MICROSECONDS, {
      what: `attempts and figures of a call, ${MIXES[mix]}`,
      unit: 'µs',
      value: median(own.map(sum)),
    }),
  );

export function figuresDetails(samples: readonly FiguresSample[]): string[] {
  if (samples.length === 0) return [];
  const columns = [({ attempts }: FiguresSample) => attempts, ({ counted }: FiguresSample) => counted];
  const rows = mixes(samples).map(([mix, own]) => [
    MIXES[mix],
    ...[...columns, ({ takenIn }: FiguresSample) => takenIn, sum].map((of) => short(median(own.map(of)))),
    span(own.map(sum)),
  ]);
  return [
    '### What attempts and figures cost',
    `The code by itself, as event loop and thread of the log run it, over an hour of ${CALLS_A_SECOND} calls/s on the embedded store: ` +
      'microseconds of CPU for each call in the calmest three minutes. "Counted" is what is written beside each batch of entries, "taken in" what makes minutes and ' +
      'longer cells of that, and what is made of them when the hour is over.',
    table(['calls', 'attempts', 'counted', 'taken in', 'together', 'rounds'], rows),
  ];
}

const mixes = (samples: readonly FiguresSample[]) => [...Map.groupBy(samples, ({ mix }) => mix)];
const sum = ({ attempts, counted, takenIn }: FiguresSample): number => attempts + counted + takenIn;
