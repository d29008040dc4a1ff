import { type ContenderName, contenderNames, labels } from '../contenders.ts';
import {
  type ColdSample,
  type Idle,
  type IdleSample,
  idleOnes,
  type LowRateSample,
  type QuietSample,
  RATES,
} from '../measure/quiet.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, shown, type Verdict } from './verdict.ts';

const MOST_WAKE_UPS = 5;
const MOST_IDLE_PERCENT = 0.1;
const JUDGED_RATE = 100;
const MOST_TIMES = 4;
const MOST_TIMES_FULL = 5;
const MOST_TIMES_COLD = 2;
const PERCENT_US = 10_000;

const idleOf = (samples: readonly QuietSample[], who: Idle, isSettled: boolean): IdleSample[] =>
  samples.filter((one) => one.kind === 'idle' && one.who === who && one.isSettled === isSettled) as IdleSample[];
const IDLE: Readonly<Record<Idle, string>> = {
  bare: 'bare Bun relay',
  embedded: 'embedded store',
  postgres: 'PostgreSQL and Redis',
};
const ratesOf = (samples: readonly QuietSample[], name: ContenderName, callsPerSecond: number): LowRateSample[] =>
  samples.filter(
    (one) => one.kind === 'rate' && one.name === name && one.callsPerSecond === callsPerSecond,
  ) as LowRateSample[];
const fullOf = (samples: readonly QuietSample[], name: ContenderName): number[] =>
  samples.flatMap((one) => (one.kind === 'full' && one.name === name ? [one.cpuUs] : []));
const coldOf = (samples: readonly QuietSample[], name: ColdSample['name']): ColdSample[] =>
  samples.filter((one) => one.kind === 'cold' && one.name === name) as ColdSample[];
const cpuOf = (samples: readonly (IdleSample | LowRateSample)[]): number[] => samples.map(({ cpuUs }) => cpuUs);
const wakeUpsOf = (samples: readonly (IdleSample | LowRateSample)[]): number[] => samples.map(({ wakeUps }) => wakeUps);

export function quietVerdicts(samples: readonly QuietSample[]): Verdict[] {
  if (samples.length === 0) return [];
  const cost = (name: ContenderName) => median(cpuOf(ratesOf(samples, name, JUDGED_RATE)));
  const full = (name: ContenderName) => median(fullOf(samples, name));
  const against = (what: string, one: number, other: number) => ({
    what,
    unit: '×',
    value: one / other,
    detail: ` (${short(one)} / ${short(other)} µs)`,
  });
  const cold = (name: ColdSample['name'], what: string) => {
    const some = coldOf(samples, name);
    return against(what, median(some.map(({ hundredthUs }) => hundredthUs)), median(some.map(({ warmUs }) => warmUs)));
  };
  return [
    atMost(
      MOST_TIMES,
      against(`CPU per call at ${JUDGED_RATE} calls/s, 0.3 KB, against nginx`, cost('gateway'), cost('nginx')),
    ),
    shown(against('the same of a bare Bun relay', cost('bare'), cost('nginx'))),
    atMost(
      MOST_TIMES_FULL,
      against('CPU per call at saturation, nothing pinned, 0.3 KB, against nginx', full('gateway'), full('nginx')),
    ),
    shown(against('the same of a bare Bun relay', full('bare'), full('nginx'))),
    atMost(MOST_TIMES_COLD, cold('gateway', 'CPU of the hundredth call after a start, against a warm one')),
    shown(cold('bare', 'the same of a bare Bun relay')),
    ...idleOnes.flatMap((who) => {
      const idle = idleOf(samples, who, true);
      const wakeUps = {
        what: `wake-ups without calls, a second, ${IDLE[who]}`,
        unit: '',
        value: median(wakeUpsOf(idle)),
      };
      const cpu = {
        what: `CPU without calls, of a core, ${IDLE[who]}`,
        unit: '%',
        value: median(cpuOf(idle)) / PERCENT_US,
      };
      return who === 'bare'
        ? [shown(wakeUps), shown(cpu)]
        : [atMost(MOST_WAKE_UPS, wakeUps), atMost(MOST_IDLE_PERCENT, cpu)];
    }),
  ];
}

export function quietDetails(samples: readonly QuietSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = RATES.flatMap((rate) =>
    contenderNames.map((name) => {
      const some = ratesOf(samples, name, rate);
      const costs = cpuOf(some);
      return [String(rate), labels[name], short(median(costs)), span(costs), short(median(wakeUpsOf(some)))];
    }),
  );
  for (const name of contenderNames) {
    const costs = fullOf(samples, name);
    rows.push(['all that fit', labels[name], short(median(costs)), span(costs), '']);
  }
  const idle = idleOnes.flatMap((who) =>
    [false, true].map((isSettled) => {
      const some = idleOf(samples, who, isSettled);
      const costs = cpuOf(some);
      const wakeUps = wakeUpsOf(some);
      return [
        IDLE[who],
        isSettled ? 'four minutes' : 'a minute',
        ...[short(median(wakeUps)), span(wakeUps), short(median(costs)), span(costs)],
      ];
    }),
  );
  return [
    '### Few calls, and none',
    'Nothing pinned, 0.3 KB, embedded store. CPU and wake-ups of all threads.',
    table(['calls/s', '', 'µs per call', 'rounds', 'wake-ups per call'], rows),
    'Without calls, in a second:',
    table(['', 'after the start', 'wake-ups', 'rounds', 'µs of CPU', 'rounds'], idle),
  ];
}
