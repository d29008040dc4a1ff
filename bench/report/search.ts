import { CHUNKS, type SearchSample } from '../measure/search.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_MS = 50;
/** Searches on the event loop, one after the other, would hold up every other call for as long as one takes. */
const MOST_HELD_UP_MS = 2;

const heldUp = (samples: readonly SearchSample[]): number[] =>
  samples.map(({ busyP50, quietP50 }) => Math.max(0, busyP50 - quietP50));

export function searchVerdicts(samples: readonly SearchSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const value = median(samples.map(({ p50 }) => p50));
  return [
    atMost(MOST_MS, { what: `search of ${short(CHUNKS)} chunks, p50`, unit: 'ms', value }),
    atMost(MOST_HELD_UP_MS, {
      what: 'what searches add to another call, p50',
      unit: 'ms',
      value: median(heldUp(samples)),
    }),
  ];
}

export function searchDetails(samples: readonly SearchSample[]): string[] {
  if (samples.length === 0) return [];
  const row = (what: string, of: (sample: SearchSample) => number) => {
    const values = samples.map(of);
    return [what, short(median(values)), span(values)];
  };
  return [
    '### Searching a vector store',
    `Embedded store, ${short(CHUNKS)} chunks with vectors of 256 numbers, one search at a time.`,
    table(
      ['ms', 'median', 'rounds'],
      [
        row('a search, p50', ({ p50 }) => p50),
        row('a search, p99', ({ p99 }) => p99),
        row('CPU of the gateway per search, `/health` calls included', ({ cpu }) => cpu),
        row('`GET /health` in quiet, p50', ({ quietP50 }) => quietP50),
        row('`GET /health` meanwhile, p50', ({ busyP50 }) => busyP50),
        row('`GET /health` meanwhile, p99', ({ busyP99 }) => busyP99),
      ],
    ),
  ];
}
