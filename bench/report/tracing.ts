import type { TracingSample } from '../measure/tracing.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_PERCENT = 20;

export function tracingVerdicts(samples: readonly TracingSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const [without, traced] = [false, true].map((isTraced) => median(costs(samples, isTraced)));
  const detail = ` (${short(traced!)} / ${short(without!)} µs)`;
  const value = median(added(samples));
  return [atMost(MOST_PERCENT, { what: 'CPU that tracing with one destination adds', unit: '%', value, detail })];
}

export function tracingDetails(samples: readonly TracingSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = [false, true].map((isTraced) => {
    const own = samples.filter((one) => one.isTraced === isTraced);
    return [
      isTraced ? 'one destination' : 'none',
      short(median(costs(samples, isTraced))),
      span(costs(samples, isTraced)),
      isTraced ? span(added(samples)) : '',
      short(median(own.map((one) => one.callsPerSecond))),
      `${Math.round(median(own.map((one) => one.busy)) * 100)} %`,
    ];
  });
  return [
    '### What tracing adds',
    'Two processes, one of which sends the spans of every call to a destination: two spans for each call, as Protocol ' +
      'Buffers with gzip, built and sent by the thread of the log. CPU of the process with its threads, 0.3 KB. "Added" ' +
      'pairs the two of each round, in percent.',
    table(['tracing', 'µs per call', 'rounds', 'added %, rounds', 'calls/s', 'core busy'], rows),
  ];
}

const costs = (samples: readonly TracingSample[], isTraced: boolean): number[] =>
  samples.filter((one) => one.isTraced === isTraced).map((one) => one.microsecondsPerCall);

function added(samples: readonly TracingSample[]): number[] {
  const without = costs(samples, false);
  return costs(samples, true).map((cost, round) => (cost / without[round]! - 1) * 100);
}
