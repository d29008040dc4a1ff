import { eventually } from '../process.ts';
import { type Chaos, type ChaosOptions, withChaos } from './chaos.ts';
import type { Harm } from './harms.ts';
import {
  countersAddUp,
  figuresMatch,
  healthSaid,
  honestAnswers,
  type Invariant,
  ledgerComplete,
  limitsHold,
  overshootOf,
  sentOnce,
  takenBy,
  unlimitedGoOn,
  wasBusy,
} from './invariants.ts';
import type { Call, Caller } from './load.ts';

export interface UnderLoad {
  /** Calls a second, on all nodes together. */
  readonly rate: number;
  /** Does harm and undoes it; what must come back by itself is waited for afterwards. */
  readonly harm: Harm;
  /** What `/health` must have named meanwhile. */
  readonly degraded?: readonly string[];
  /** What must hold beside what always does. */
  readonly invariants?: readonly Invariant[];
  readonly report?: (line: string) => void;
}

const ALWAYS = [honestAnswers, unlimitedGoOn, sentOnce, limitsHold, ledgerComplete(), countersAddUp];
const WARM_MS = 1_000;
const AFTER_MS = 1_000;

/**
 * Three kinds of callers under load while harm is done: one without limits, one whose limit is spent before (any call of
 * it that passes is a leak), and one that comes to its limit at about the time of the harm.
 */
export async function underLoad(options: ChaosOptions, given: UnderLoad): Promise<void> {
  const { rate, harm, degraded = [], invariants = [], report } = given;
  await withChaos(options, async (chaos) => {
    const open = await chaos.caller();
    const spent = await chaos.caller({ requests: 5 });
    const tight = await chaos.caller({ requests: Math.round(rate * 0.8) });
    await chaos.exhaust(spent);
    const load = chaos.load([open, tight, spent, open, tight], rate);
    await Bun.sleep(WARM_MS);
    // A node goes on without its store for the keys that it knows.
    await eventually('every node knows its caller without limits', () =>
      chaos.nodes.every((node) => chaos.clients.calls.some((call) => call.node === node && call.caller === open)),
    );

    await harm(chaos);
    const healedAt = performance.now();
    await chaos.recovered();
    const recoveredAt = performance.now();
    await Bun.sleep(AFTER_MS);
    await load.stop();
    await chaos.exhaust(tight);

    report?.(`${summary(chaos)}; well again after ${seconds(recoveredAt - healedAt)}`);
    await chaos.check(...ALWAYS, ...invariants, healthSaid(...degraded), wasBusy(rate));
  });
}

export interface Waves {
  readonly rounds: number;
  readonly report?: (line: string) => void;
}

const CALLS = 200;
const LIMIT = 50;
const isRollout = (round: number) => round % 2 === 1;

/**
 * 200 calls against a limit of 50. Some are under way when a node is killed, or told to end in every second round; the
 * others come while it starts again.
 */
export async function acrossRestarts(options: ChaosOptions, { rounds, report }: Waves): Promise<void> {
  await withChaos({ ...options, answerAfterMs: 100 }, async (chaos) => {
    for (let round = 0; round < rounds; round++) {
      const caller = await chaos.caller({ requests: LIMIT });
      const node = chaos.nodes[round % chaos.nodes.length]!;
      const before = 10 + ((round * 17) % 70);
      const seen = chaos.provider.arrivals.length;
      const first = chaos.burst(caller, before);
      await eventually('calls are under way', () => chaos.provider.arrivals.length > seen + 5);
      chaos.harmed();
      const restarting = (isRollout(round) ? node.stop() : node.kill()).then(() => node.start());
      const calls = (await Promise.all([first, chaos.burst(caller, CALLS - before), restarting])).slice(0, 2).flat();
      await chaos.recovered();
      report?.(`round ${round + 1}: ${before} before the restart; ${exactly(calls as Call[])}`);
      const after = await chaos.burst(caller, 10);
      if (after.some(({ outcome }) => outcome !== 429)) throw new Error('the limit was spent, and calls passed');
    }
    await chaos.check(honestAnswers, sentOnce, limitsHold, ledgerComplete(), countersAddUp);
  });
}

/**
 * Throws unless exactly as many calls passed as the limit says; a call whose connection was lost may be one of them.
 */
function exactly(calls: readonly Call[]): string {
  const count = (outcome: Call['outcome']) => calls.filter((call) => call.outcome === outcome).length;
  const [passed, refused, lost] = [count(200), count(429), count('lost')];
  const text = `${passed} passed, ${refused} were refused, ${lost} lost the connection`;
  const isExact = passed <= LIMIT && passed + lost >= LIMIT && passed + refused + lost === CALLS;
  if (!isExact) throw new Error(`${text}, of ${CALLS} against a limit of ${LIMIT}`);
  return text;
}

export interface Kills {
  readonly rate: number;
  readonly kills: number;
  readonly report?: (line: string) => void;
}

/**
 * Nodes are killed in the middle of writing, and of counting: they are told again and again to count everything anew, so
 * that they are never done with it.
 */
export async function killedWriters(options: ChaosOptions, { rate, kills, report }: Kills): Promise<void> {
  await withChaos(options, async (chaos) => {
    const caller = await chaos.caller();
    const load = chaos.load([caller], rate);
    let isOver = false;
    const counting = (async () => {
      while (!isOver) {
        await chaos.clients
          .pick()
          ?.api.post('/v1/analytics/rebuild')
          .catch(() => null);
        await Bun.sleep(250);
      }
    })();
    for (let kill = 0; kill < kills; kill++) {
      await Bun.sleep(2_000 + 170 * kill);
      const node = chaos.nodes[kill % chaos.nodes.length]!;
      await chaos.kill(node);
      await node.start();
    }
    await chaos.recovered();
    isOver = true;
    await counting;
    await load.stop();
    report?.(summary(chaos));
    await chaos.check(honestAnswers, sentOnce, figuresMatch, wasBusy(rate * kills * 0.5));
  });
}

/** What an answer may take beyond its estimate, and within it. */
const EXCESSIVE = { maxTokens: 20, answerTokens: 200 };
const MODEST = { maxTokens: 200, answerTokens: 20 };
const TOKENS = 2_000;
const DOLLARS = 0.001;

/** Budgets, many calls at once while harm is done, with a provider that keeps to `max_tokens` and with one that does not. */
export async function budgets(
  options: ChaosOptions,
  { harm, report }: Pick<UnderLoad, 'harm' | 'report'>,
): Promise<void> {
  await withChaos({ ...options, answerAfterMs: 300 }, async (chaos) => {
    const callers = [
      await chaos.caller({ tokens: TOKENS }, MODEST),
      await chaos.caller({ tokens: TOKENS }, EXCESSIVE),
      await chaos.caller({ cost: DOLLARS }, MODEST),
      await chaos.caller({ cost: DOLLARS }, EXCESSIVE),
    ];
    const bursts = callers.map((caller) => chaos.burst(caller, 50));
    await eventually('calls are under way', () => chaos.provider.arrivals.length >= callers.length);
    await Promise.all([harm(chaos), ...bursts]);
    await chaos.recovered();
    for (const caller of callers) await chaos.exhaust(caller);

    report?.(`${summary(chaos)}; ${callers.map((caller) => spending(chaos, caller)).join(', ')}`);
    await chaos.check(honestAnswers, sentOnce, limitsHold, ledgerComplete(), countersAddUp, wasBusy(200));
  });
}

function spending(chaos: Chaos, caller: Caller): string {
  const { counts, value } = caller.limit!;
  const round = (amount: number) => Number(amount.toFixed(6));
  const spent = round(takenBy(caller, chaos.evidence));
  return `${spent} ${counts} of ${value}, at most ${round(value + overshootOf(caller))}`;
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function summary(chaos: Chaos): string {
  const { calls, degraded } = chaos.evidence;
  const counts = Map.groupBy(calls, ({ outcome, why }) => `${outcome}${why ? ` ${why}` : ''}`);
  const outcomes = [...counts].map(([outcome, list]) => `${list.length} × ${outcome}`).join(', ');
  const longestMs = Math.max(...calls.map(({ startedAt, endedAt }) => endedAt - startedAt));
  return `${calls.length} calls (${outcomes}), the longest ${seconds(longestMs)}; named: ${[...degraded].join(' ') || '-'}`;
}
