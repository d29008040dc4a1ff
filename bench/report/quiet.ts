import { type ContenderName, labels } from '../contenders.ts';
import { type IdleSample, type LowRateSample, type QuietSample, RATES } from '../measure/quiet.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, type Verdict } from './verdict.ts';

const MOST_WAKE_UPS = 5;
const MOST_IDLE_PERCENT = 0.1;
const JUDGED_RATE = 100;
const MOST_TIMES = 4;
const PERCENT_US = 10_000;
const order: readonly ContenderName[] = ['nginx', 'gateway', 'portkey'];

const idleOf = (samples: readonly QuietSample[]): IdleSample[] => samples.filter((one) => one.kind === 'idle');
const ratesOf = (samples: readonly QuietSample[], name: ContenderName, callsPerSecond: number): LowRateSample[] =>
  samples.filter(
    (one) => one.kind === 'rate' && one.name === name && one.callsPerSecond === callsPerSecond,
  ) as LowRateSample[];
const cpuOf = (samples: readonly QuietSample[]): number[] => samples.map(({ cpuUs }) => cpuUs);
const wakeUpsOf = (samples: readonly QuietSample[]): number[] => samples.map(({ wakeUps }) => wakeUps);

export function quietVerdicts(samples: readonly QuietSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const [nginx, ours] = (['nginx', 'gateway'] as const).map((name) =>
    median(cpuOf(ratesOf(samples, name, JUDGED_RATE))),
  ) as [number, number];
  const idle = idleOf(samples);
  return [
    atMost(MOST_TIMES, {
      what: `CPU per call at ${JUDGED_RATE} calls/s, 0.3 KB, against nginx`,
      unit: '×',
      value: ours / nginx,
      detail: ` (${short(ours)} / ${short(nginx)} µs)`,
    }),
    atMost(MOST_WAKE_UPS, { what: 'wake-ups without calls, a second', unit: '', value: median(wakeUpsOf(idle)) }),
    atMost(MOST_IDLE_PERCENT, {
      what: 'CPU without calls, of a core',
      unit: '%',
      value: median(cpuOf(idle)) / PERCENT_US,
    }),
  ];
}

export function quietDetails(samples: readonly QuietSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = RATES.flatMap((rate) =>
    order.map((name) => {
      const some = ratesOf(samples, name, rate);
      const costs = cpuOf(some);
      return [String(rate), labels[name], short(median(costs)), span(costs), short(median(wakeUpsOf(some)))];
    }),
  );
  const idle = idleOf(samples);
  return [
    '### Few calls, and none',
    'Nothing pinned, 0.3 KB, embedded store. CPU and wake-ups of all threads.',
    table(['calls/s', '', 'µs per call', 'rounds', 'wake-ups per call'], rows),
    `Without calls, in a second: ${short(median(wakeUpsOf(idle)))} wake-ups (${span(wakeUpsOf(idle))}), ` +
      `${short(median(cpuOf(idle)))} µs of CPU (${span(cpuOf(idle))}).`,
  ];
}
