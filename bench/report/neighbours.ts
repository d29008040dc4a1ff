import type { NeighboursSample } from '../measure/neighbours.ts';
import { short } from '../numbers.ts';
import { table } from './table.ts';
import { atLeast, atMost, shown, type Verdict } from './verdict.ts';

const MOST_MS = 50;
const LEAST_RECALL = 0.95;
/** What the targets are about. */
const CHUNKS = 1_000_000;

export function neighbourVerdicts(samples: readonly NeighboursSample[]): Verdict[] {
  return samples.flatMap(({ chunks, recall, p50 }) => {
    const time = { what: `search of ${short(chunks)} chunks by words and meaning, p50`, unit: 'ms', value: p50 };
    const found = { what: `recall of the 100 nearest of ${short(chunks)} vectors`, unit: '', value: recall };
    return [chunks >= CHUNKS ? atMost(MOST_MS, time) : shown(time), atLeast(LEAST_RECALL, found)];
  });
}

export function neighbourDetails(samples: readonly NeighboursSample[]): string[] {
  if (samples.length === 0) return [];
  const row = (what: string, of: (sample: NeighboursSample) => number) => [
    what,
    ...samples.map((each) => short(of(each))),
  ];
  return [
    '### The nearest of many vectors',
    'Embedded store, vectors of 256 numbers in topics, one search at a time.',
    table(
      ['chunks', ...samples.map(({ chunks }) => short(chunks))],
      [
        row('recall of the 100 nearest', ({ recall }) => recall),
        row('recall of the 10 nearest', ({ recallOfTen }) => recallOfTen),
        row('finding them by codes, p50, ms', ({ nearest }) => nearest),
        row('the same for the first time after a start, ms', ({ first }) => first),
        row('looking at every vector, p50, ms', ({ scan }) => scan),
        row('a search by words and meaning, p50, ms', ({ p50 }) => p50),
        row('a search by words and meaning, p99, ms', ({ p99 }) => p99),
        row('a search by words alone, p50, ms', ({ wordsP50 }) => wordsP50),
        row('taking a chunk in, ms', ({ added }) => added),
        row('memory that searches add, MiB', ({ memory }) => memory),
        row('chunks on disk, MiB', ({ disk }) => disk),
      ],
    ),
  ];
}
