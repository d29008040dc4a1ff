import { type LimitsSample, type StoreName, storeLabels, stores } from '../measure/limits.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, shown, type Verdict } from './verdict.ts';

/** What a call pays for two limits; where there is none, the number has no target. */
const MOST_MICROSECONDS: Readonly<Record<StoreName, number | null>> = { embedded: 15, postgres: null, redis: 60 };

export function limitVerdicts(samples: readonly LimitsSample[]): Verdict[] {
  return storesOf(samples).map((store) => {
    const [without, limited] = [false, true].map((hasLimits) => median(costs(samples, store, hasLimits)));
    const value = median(added(samples, store));
    const detail = ` (${short(limited!)} / ${short(without!)} µs)`;
    const limit = MOST_MICROSECONDS[store];
    const measured = { what: `CPU two limits add, ${storeLabels[store]}`, unit: 'µs', value, detail };
    return limit === null ? shown(measured) : atMost(limit, measured);
  });
}

export function limitDetails(samples: readonly LimitsSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = storesOf(samples).flatMap((store) =>
    [false, true].map((hasLimits) => {
      const own = samples.filter((one) => one.store === store && one.hasLimits === hasLimits);
      const perCall = costs(samples, store, hasLimits);
      return [
        storeLabels[store],
        hasLimits ? 'two limits' : 'no limits',
        short(median(perCall)),
        span(perCall),
        hasLimits ? span(added(samples, store)) : '',
        short(median(own.map((one) => one.callsPerSecond))),
        `${Math.round(median(own.map((one) => one.busy)) * 100)} %`,
      ];
    }),
  );
  return [
    '### What limits add',
    'A key with a limit on requests per day and one on tokens per day, and a key without. CPU of the gateway alone, ' +
      '0.3 KB. "Added" pairs the two of each round.',
    table(['store', 'key', 'µs per call', 'rounds', 'added, rounds', 'calls/s', 'core busy'], rows),
  ];
}

const storesOf = (samples: readonly LimitsSample[]): StoreName[] =>
  stores.filter((store) => samples.some((one) => one.store === store));

const costs = (samples: readonly LimitsSample[], store: StoreName, hasLimits: boolean): number[] =>
  samples.filter((one) => one.store === store && one.hasLimits === hasLimits).map((one) => one.microsecondsPerCall);

/** Round by round, because a machine that slows down slows both. */
function added(samples: readonly LimitsSample[], store: StoreName): number[] {
  const own = samples.filter((one) => one.store === store);
  const rounds = [...new Set(own.map(({ round }) => round))];
  return rounds.map((round) => {
    const cost = (hasLimits: boolean) =>
      own.find((one) => one.round === round && one.hasLimits === hasLimits)!.microsecondsPerCall;
    return cost(true) - cost(false);
  });
}
