import { type Chaos, type ChaosOptions, withChaos } from './chaos.ts';
import {
  arrivalsOf,
  countersAddUp,
  healthSaid,
  honestAnswers,
  type Invariant,
  ledgerComplete,
  limitsHold,
  sentOnce,
  unlimitedGoOn,
  wasBusy,
} from './invariants.ts';
import type { Caller } from './load.ts';

export interface Pace {
  /** Calls a second, on all nodes together. */
  readonly rate: number;
  readonly report?: (line: string) => void;
}

export interface Harm {
  /** Does harm and undoes it; what must come back by itself is waited for afterwards. */
  readonly harm: (chaos: Chaos) => Promise<void>;
  /** What `/health` must have named meanwhile. */
  readonly degraded: readonly string[];
  readonly limitMs?: number;
  /** What must hold, instead of all that does when no process dies. */
  readonly invariants?: readonly Invariant[];
}

const WARM_MS = 1_000;
const AFTER_MS = 1_000;

/** Whatever is cut or forgotten while all processes live. */
const NOTHING_DIES = [honestAnswers, unlimitedGoOn, sentOnce, limitsHold, ledgerComplete(), countersAddUp];

/**
 * Three kinds of callers under load while harm is done: one without limits, one whose limit is spent before (any call of
 * it that passes is a leak), and one that comes to its limit at about the time of the harm.
 */
export async function underLoad(options: ChaosOptions, { rate, report }: Pace, harm: Harm): Promise<void> {
  await withChaos(options, async (chaos) => {
    const open = await chaos.caller();
    const spent = await chaos.caller({ requests: 5 });
    const tight = await chaos.caller({ requests: Math.round(rate * 0.8) });
    await chaos.exhaust(spent);
    const load = chaos.load([open, tight, spent, open, tight], rate);
    await Bun.sleep(WARM_MS);

    const harmedAt = performance.now();
    await harm.harm(chaos);
    const healedAt = performance.now();
    await chaos.recovered(harm.limitMs);
    const recoveredAt = performance.now();
    await Bun.sleep(AFTER_MS);
    await load.stop();
    await chaos.exhaust(tight);

    report?.(
      `${summary(chaos, tight)}; harmed for ${seconds(healedAt - harmedAt)}, ` +
        `well again ${seconds(recoveredAt - healedAt)} later; /health named ${[...chaos.evidence.degraded].join(', ')}`,
    );
    await chaos.check(...(harm.invariants ?? NOTHING_DIES), healthSaid(...harm.degraded), wasBusy(rate));
  });
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function summary(chaos: Chaos, { limit, ...rest }: Caller): string {
  const { calls, arrivals, callers } = chaos.evidence;
  const caller = callers.find(({ id }) => id === rest.id)!;
  const counts = new Map<string, number>();
  for (const { outcome } of calls) counts.set(`${outcome}`, (counts.get(`${outcome}`) ?? 0) + 1);
  const longestMs = Math.max(...calls.map(({ startedAt, endedAt }) => endedAt - startedAt));
  const outcomes = [...counts].map(([outcome, count]) => `${count} × ${outcome}`).join(', ');
  const reached = arrivalsOf(caller, calls, arrivals).length;
  return `${calls.length} calls (${outcomes}), the longest ${seconds(longestMs)}; ${reached} of ${limit!.value} admitted`;
}
