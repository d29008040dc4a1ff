import { type PathName, type PathSample, pathLabels, pathNames, STREAM_CHUNKS } from '../measure/paths.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, shown, type Verdict } from './verdict.ts';

interface Comparison {
  readonly path: PathName;
  readonly against: PathName;
  /** How many times the other's CPU it may take; null: no target. */
  readonly most: number | null;
}

const comparisons: readonly Comparison[] = [
  { path: 'translated', against: 'identity', most: 2 },
  { path: 'translatedStream', against: 'streamed', most: 2 },
  { path: 'unaskedStream', against: 'streamed', most: null },
  { path: 'cached', against: 'identity', most: 1 },
  { path: 'fallback', against: 'identity', most: null },
  { path: 'tls', against: 'identity', most: null },
];

/** What three checks may add to a call, in microseconds. */
const MOST_FOR_GUARDRAIL = 60;

export function pathVerdicts(samples: readonly PathSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const guarded = costOf(samples, 'guarded') - costOf(samples, 'identity');
  const added = { what: 'CPU that a guardrail of three checks adds to a call', unit: 'µs', value: guarded };
  const compared = comparisons.map(({ path, against, most }) => {
    const [one, other] = [costOf(samples, path), costOf(samples, against)];
    const what = `CPU per call, ${pathLabels[path]}, against ${against === 'identity' ? 'identity' : pathLabels[against]}`;
    const measured = { what, unit: '×', value: one / other, detail: ` (${short(one)} / ${short(other)} µs)` };
    return most === null ? shown(measured) : atMost(most, measured);
  });
  return [...compared, atMost(MOST_FOR_GUARDRAIL, added)];
}

export function pathDetails(samples: readonly PathSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = pathNames.map((path) => {
    const own = samples.filter((one) => one.path === path);
    const perCall = own.map((one) => one.microsecondsPerCall);
    const busy = median(own.map((one) => one.busy));
    const rate = median(own.map((one) => one.callsPerSecond));
    return [pathLabels[path], short(median(perCall)), span(perCall), short(rate), `${Math.round(busy * 100)} %`];
  });
  return [
    '### Paths through the gateway',
    `At saturation, 0.3 KB where nothing else is said; the streams have ${STREAM_CHUNKS} chunks, 8 ms apart, and do not fill the core.`,
    table(['', 'µs per call', 'rounds', 'calls/s', 'core busy'], rows),
  ];
}

const costOf = (samples: readonly PathSample[], path: PathName): number =>
  median(samples.filter((one) => one.path === path).map((one) => one.microsecondsPerCall));
