import type { Budgets, Level } from '../core/budgets.ts';
import { fail } from '../core/errors.ts';
import { type Limit, withTheirUnpriced } from '../core/limits.ts';
import type { Usage } from '../core/usage.ts';
import type { Db } from '../storage/store.ts';
import { type Alarm, type Alarms, createAlarms } from './alarms.ts';
import type { Ask, Estimate } from './ask.ts';
import type { Counters, LedgerEntry, Reservation, Settlement } from './counters/counters.ts';
import { type LimitCharge, ownerText, rateHeaders, refuse } from './refusal.ts';
import { openWindow } from './windows.ts';
import { createWorkHolds, type WorkHolds } from './work-holds.ts';

/** How a call ended. */
export interface Outcome {
  /** Null when the provider reported none. A provider that refused the call reported 0 tokens. */
  readonly usage: Usage | null;
  /** Billionths of a US dollar; null when it is unknown. */
  readonly cost: number | null;
  /** The model that answered; null: the one that was asked for. */
  readonly model: string | null;
}

/** A call that may run. It is settled in any case, also when it fails. */
export interface Admission {
  readonly id: string;
  /** `x-ratelimit-*` of the tightest rate limits, for the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes may have reached the provider from now on. */
  sent(): void;
  /** Throws 429 or 412 where what it has taken so far does not fit any more. Holds and counts nothing. */
  check(soFar: Estimate): Promise<void>;
  /** The first call counts. */
  settle(outcome: Outcome): void;
}

export interface Limiter extends Budgets {
  /**
   * Admits the call and holds what it may take, or throws 429 `rate_limited` or 412 `budget_exhausted` and counts
   * nothing.
   */
  reserve(limits: readonly Limit[], ask: Ask): Promise<Admission>;
  /** Throws the same for a call of which one limit cannot take anything at all. Holds and counts nothing. */
  refuseExhausted(limits: readonly Limit[]): Promise<void>;
  /** For work that outlives a process. */
  readonly work: WorkHolds;
  /** Stops renewing. It does not close the counters: the code that opened them does. */
  close(): void;
}

export interface LimiterDeps {
  readonly counters: Counters;
  readonly now: () => number;
  readonly newId: () => string;
  /** Told once per window and process when a budget crosses its threshold or is spent. Must not throw. */
  readonly alarm?: (alarm: Alarm) => void;
  readonly renewEveryMs?: number;
}

/** Long enough to miss three renewals. */
export const HOLD_MS = 120_000;

export function createLimiter(deps: LimiterDeps): Limiter {
  const { counters, now, newId, alarm = () => {}, renewEveryMs = 30_000 } = deps;
  const alarms = createAlarms(alarm, now);
  /** One timer for all calls that still run. */
  const running = new Set<LimitedCall>();
  const renewing = setInterval(() => {
    // A store that is away now may be back before the holds end; if not, they count at their estimates until settled.
    if (running.size > 0)
      void counters
        .renew(
          [...running].map(({ id }) => id),
          HOLD_MS,
        )
        .catch(() => {});
  }, renewEveryMs).unref();
  const desk: Desk = { counters, alarms, running, now };

  const reserve = async (limits: readonly Limit[], ask: Ask): Promise<Admission> => {
    const id = newId();
    const at = now();
    if (limits.length === 0) return new CountedAdmission(desk, limitedCall(id, at, ask, NO_CHARGES, null), NO_LEVELS);
    const estimate = limits.some(({ counts }) => counts !== 'requests') ? wholeEstimate(ask.estimate()) : null;
    const charges = chargesOf(limits, estimate, at, ask);
    const call = limitedCall(id, at, ask, charges, estimate);
    const verdict = await counters.reserve(call, HOLD_MS);
    for (let index = 0; index < charges.length; index++)
      alarms.seen(charges[index]!.limit, charges[index]!.window, verdict.used[index]!);
    if (!verdict.admitted) return refuse(charges, verdict, now());
    running.add(call);
    return new CountedAdmission(desk, call, verdict.levels);
  };

  const refuseExhausted = async (limits: readonly Limit[]): Promise<void> => {
    if (limits.length === 0) return;
    const at = now();
    const charges = chargesOf(limits, NOTHING_HELD, at, null);
    const read = await counters.read(charges.map(({ counter }) => counter));
    const found = charges.map(({ counter }) => read.get(counter) ?? { used: 0, held: 0 });
    const levels = found.map(({ used, held }) => used + held);
    const refused = [...charges.keys()].filter((index) => levels[index]! >= charges[index]!.max);
    if (refused.length > 0)
      refuse(charges, { admitted: false, refused, used: found.map(({ used }) => used), levels }, at);
  };

  return {
    reserve,
    refuseExhausted,
    levels: async (given) => {
      const limits = withTheirUnpriced(given);
      const windows = limits.map((limit) => openWindow(limit, now()));
      const levels = await counters.read(windows.map(({ counter }) => counter));
      const byLimit = new Map<string, Level>();
      limits.forEach((limit, index) => {
        const level = levels.get(windows[index]!.counter);
        if (level) byLimit.set(limit.counter, level);
      });
      return byLimit;
    },
    restarting: async (change) => {
      const restarted: string[] = [];
      const result = await counters.restarting((restart) =>
        change(async (transaction, limits) => {
          const names = withTheirUnpriced(limits).map((limit) => openWindow(limit, now()).counter);
          restarted.push(...names);
          await restart(transaction as Db, names);
        }),
      );
      for (const name of restarted) alarms.forget(name);
      return result;
    },
    work: createWorkHolds({ counters, now, newId }),
    close: () => clearInterval(renewing),
  };
}

interface Desk {
  readonly counters: Counters;
  readonly alarms: Alarms;
  readonly running: Set<LimitedCall>;
  readonly now: () => number;
}

/** A call with its limits, its estimate, and the row that is written if it is never settled. */
interface LimitedCall extends Reservation {
  readonly charges: readonly LimitCharge[];
  readonly tokens: Estimate | null;
}

const NO_CHARGES: readonly LimitCharge[] = [];
const NO_LEVELS: readonly number[] = [];
const NOTHING_HELD: Estimate = { inputTokens: 0, outputTokens: 0, cost: 0 };

const wholeEstimate = ({ inputTokens, outputTokens, cost }: Estimate): Estimate => ({
  inputTokens: whole(inputTokens) ?? 0,
  outputTokens: whole(outputTokens) ?? 0,
  cost: wholeCost(cost),
});

/** A limit that stands twice in the list, because two owners share it, counts once. */
function chargesOf(limits: readonly Limit[], estimate: Estimate | null, at: number, ask: Ask | null): LimitCharge[] {
  const charges: LimitCharge[] = [];
  for (const limit of limits) {
    if (isCharged(charges, limit)) continue;
    charges.push(chargeOf(limit, estimatedFor(limit, estimate), at));
    if (!ask || limit.counts !== 'cost' || estimate?.cost !== null) continue;
    if (!limit.unpriced) fail('price_unknown', ask.provider, ask.model, ownerText(limit.owner), limit.text);
    charges.push(chargeOf(limit.unpriced, 1, at));
  }
  return charges;
}

/** Many calls are charged the same: one request each. */
const latest = new WeakMap<Limit, LimitCharge>();

function chargeOf(limit: Limit, amount: number, at: number): LimitCharge {
  const known = latest.get(limit);
  if (known && known.amount === amount && at >= known.window.start && at < known.window.end) return known;
  const window = openWindow(limit, at);
  const { counter, end: endsAt } = window;
  const charge = { counter, max: limit.max, amount, endsAt, limit, window };
  latest.set(limit, charge);
  return charge;
}

function isCharged(charges: readonly LimitCharge[], { counter }: Limit): boolean {
  for (const { limit } of charges) if (limit.counter === counter) return true;
  return false;
}

function estimatedFor({ counts }: Limit, estimate: Estimate | null): number {
  if (counts === 'requests' || !estimate) return 1;
  // An unknown price is not 0, but an unknown amount cannot be held: a budget that allows it counts the call beside it.
  return counts === 'cost' ? (estimate.cost ?? 0) : estimate.inputTokens + estimate.outputTokens;
}

const limitedCall = (
  id: string,
  at: number,
  { who, virtualKey, provider, model }: Ask,
  charges: readonly LimitCharge[],
  tokens: Estimate | null,
): LimitedCall => ({
  id,
  charges,
  tokens,
  estimate: {
    id,
    at,
    organisation_id: who.organisationId,
    workspace_id: who.workspaceId,
    api_key_id: who.keyId,
    virtual_key: virtualKey,
    provider,
    model,
    input_tokens: tokens?.inputTokens ?? null,
    output_tokens: tokens?.outputTokens ?? null,
    cost: tokens?.cost ?? null,
    state: 'estimated',
  },
});

class CountedAdmission implements Admission {
  readonly #desk: Desk;
  readonly #call: LimitedCall;
  readonly #levels: readonly number[];
  #isSent = false;
  #isSettled = false;

  constructor(desk: Desk, call: LimitedCall, levels: readonly number[]) {
    this.#desk = desk;
    this.#call = call;
    this.#levels = levels;
  }

  get id(): string {
    return this.#call.id;
  }

  get headers(): Readonly<Record<string, string>> {
    const { charges } = this.#call;
    return charges.length === 0 ? {} : rateHeaders(charges, this.#levels, this.#desk.now());
  }

  sent(): void {
    this.#isSent = true;
  }

  async check(soFar: Estimate): Promise<void> {
    const { charges } = this.#call;
    if (charges.every(({ limit }) => limit.counts === 'requests')) return;
    const read = await this.#desk.counters.read(charges.map(({ counter }) => counter));
    const used = charges.map(({ counter }) => read.get(counter)?.used ?? 0);
    // What is held for this call gives way to what it has taken.
    const levels = charges.map(({ counter, limit, amount }, index) => {
      const others = used[index]! + Math.max(0, (read.get(counter)?.held ?? 0) - amount);
      return others + Math.max(amount, estimatedFor(limit, soFar));
    });
    const refused = [...charges.keys()].filter((index) => levels[index]! > charges[index]!.max);
    if (refused.length > 0) refuse(charges, { admitted: false, refused, used, levels }, this.#desk.now());
  }

  settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { counters, alarms, running } = this.#desk;
    const { id, estimate: reserved, charges: charged } = this.#call;
    running.delete(this.#call);
    const taken = this.#isSent ? whatWasTaken(this.#call.tokens, outcome) : NOTHING;
    const charges: Settlement['charges'][number][] = [];
    for (let index = 0; index < charged.length; index++) {
      const { limit, window, counter, amount, endsAt } = charged[index]!;
      const actual = limit.counts === 'requests' ? 1 : limit.counts === 'cost' ? (taken.cost ?? 0) : taken.tokens;
      alarms.added(limit, window, actual);
      charges.push({ counter, held: amount, actual, endsAt });
    }
    const entry: LedgerEntry = {
      ...reserved,
      model: outcome.model ?? reserved.model,
      input_tokens: taken.inputTokens,
      output_tokens: taken.outputTokens,
      cost: taken.cost,
      state: taken.state,
    };
    counters.settle({ id, charges, entry });
  }
}

interface Taken {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** What limits on tokens count. */
  readonly tokens: number;
  readonly cost: number | null;
  readonly state: LedgerEntry['state'];
}

const NOTHING: Taken = { inputTokens: 0, outputTokens: 0, tokens: 0, cost: 0, state: 'unsent' };

/** Where the provider said nothing, the estimate stands in and the row says so. */
function whatWasTaken(estimate: Estimate | null, { usage, cost }: Outcome): Taken {
  const estimated = estimate ? estimate.inputTokens + estimate.outputTokens : 0;
  // What was paid by the picture or the minute has a cost, and no tokens.
  const countsNone = usage?.inputTokens === undefined && usage?.outputTokens === undefined;
  if (!usage || (countsNone && usage.totalTokens === undefined)) {
    return {
      inputTokens: estimate?.inputTokens ?? null,
      outputTokens: estimate?.outputTokens ?? null,
      tokens: estimated,
      cost: wholeCost(cost) ?? estimate?.cost ?? null,
      state: usage && cost !== null ? 'final' : 'estimated',
    };
  }
  const inputTokens = whole(usage.inputTokens);
  const outputTokens = whole(usage.outputTokens);
  const tokens = whole(usage.totalTokens) ?? (inputTokens ?? 0) + (outputTokens ?? 0);
  // The price was known when the call began and is not any more, because another model answered.
  const isCostEstimated = cost === null && estimate !== null && estimate.cost !== null;
  return {
    inputTokens,
    outputTokens,
    tokens,
    cost: wholeCost(cost) ?? estimate?.cost ?? null,
    state: isCostEstimated ? 'estimated' : 'final',
  };
}

/** No call takes more, and so many of them fit into a counter that none can be made to overflow. */
const MOST_TOKENS = 1e12;
const MOST_NANO_DOLLARS = 1e14;

/** Counters add whole numbers only; what a provider calls tokens may be anything. */
function whole(value: number | null | undefined, most = MOST_TOKENS): number | null {
  if (value === null || value === undefined || !(value >= 0)) return null;
  return Math.min(Math.round(value), most);
}

const wholeCost = (value: number | null): number | null => whole(value, MOST_NANO_DOLLARS);
