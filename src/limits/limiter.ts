import type { Budgets, Level } from '../core/budgets.ts';
import type { Limit } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { Usage } from '../core/usage.ts';
import type { Db } from '../storage/store.ts';
import { type Alarm, type Alarms, createAlarms } from './alarms.ts';
import type { Charge, Counters, LedgerEntry, Reservation, Verdict } from './counters.ts';
import { type Levelled, rateHeaders, refuse } from './refusal.ts';
import { type OpenWindow, openWindow } from './windows.ts';

/** What a call may take at most. */
export interface Estimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Billionths of a US dollar; null when the model's price is unknown. */
  readonly cost: number | null;
}

export interface Ask {
  readonly who: Principal;
  readonly virtualKey: string | null;
  readonly provider: string;
  readonly model: string | null;
  /** Asked for only when a limit counts tokens or cost. */
  readonly estimate: () => Estimate;
}

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
  /** The first call counts. */
  settle(outcome: Outcome): void;
}

export interface Limiter extends Budgets {
  /**
   * Admits the call and holds what it may take, or throws 429 `rate_limited` or 412 `budget_exhausted` and counts
   * nothing. At once where the counters answer at once.
   */
  reserve(limits: readonly Limit[], ask: Ask): Admission | Promise<Admission>;
  /** Stops renewing. The counters are closed by whoever opened them. */
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
  const running = new Set<string>();
  const renewing = setInterval(() => {
    // A store that is away now may be back before the holds end; if not, they count at their estimates until settled.
    if (running.size > 0) void counters.renew([...running], HOLD_MS).catch(() => {});
  }, renewEveryMs).unref();
  const desk: Desk = { counters, alarms, running, now };

  const decide = (call: LimitedCall, verdict: Verdict): Admission => {
    const levelled = call.levelled(verdict);
    call.charged.forEach(({ limit, window }, index) => {
      alarms.seen(limit, window, verdict.used[index]!);
    });
    if (!verdict.admitted)
      return refuse(
        verdict.refused.map((index) => levelled[index]!),
        levelled,
        now(),
      );
    running.add(call.entry.id);
    return new CountedAdmission(desk, call, levelled);
  };

  return {
    reserve: (limits, ask) => {
      const id = newId();
      const at = now();
      if (limits.length === 0)
        return new CountedAdmission(desk, new LimitedCall(entryOf(id, at, ask, null), [], null), []);
      const estimate = limits.some(({ counts }) => counts !== 'requests') ? wholeEstimate(ask.estimate()) : null;
      const charged = chargedBy(limits, estimate, at);
      const call = new LimitedCall(entryOf(id, at, ask, estimate), charged, estimate);
      const verdict = counters.reserve(call.reservation(), HOLD_MS);
      return verdict instanceof Promise ? verdict.then((said) => decide(call, said)) : decide(call, verdict);
    },
    levels: async (limits) => {
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
          const names = limits.map((limit) => openWindow(limit, now()).counter);
          restarted.push(...names);
          await restart(transaction as Db, names);
        }),
      );
      for (const name of restarted) alarms.forget(name);
      return result;
    },
    close: () => clearInterval(renewing),
  };
}

interface Desk {
  readonly counters: Counters;
  readonly alarms: Alarms;
  readonly running: Set<string>;
  readonly now: () => number;
}

interface ChargedLimit {
  readonly limit: Limit;
  readonly window: OpenWindow;
  readonly amount: number;
}

const wholeEstimate = ({ inputTokens, outputTokens, cost }: Estimate): Estimate => ({
  inputTokens: whole(inputTokens) ?? 0,
  outputTokens: whole(outputTokens) ?? 0,
  cost: wholeCost(cost),
});

/** A limit that stands twice in the list, because two owners share it, counts once. */
function chargedBy(limits: readonly Limit[], estimate: Estimate | null, at: number): ChargedLimit[] {
  const charged: ChargedLimit[] = [];
  for (const limit of limits) {
    if (charged.some((one) => one.limit.counter === limit.counter)) continue;
    charged.push({ limit, window: openWindow(limit, at), amount: estimatedFor(limit, estimate) });
  }
  return charged;
}

function estimatedFor({ counts }: Limit, estimate: Estimate | null): number {
  if (counts === 'requests' || !estimate) return 1;
  // An unknown price is not 0, but nobody can hold an unknown amount.
  return counts === 'cost' ? (estimate.cost ?? 0) : estimate.inputTokens + estimate.outputTokens;
}

const entryOf = (id: string, at: number, ask: Ask, estimate: Estimate | null): LedgerEntry => ({
  id,
  at,
  organisation_id: ask.who.organisationId,
  workspace_id: ask.who.workspaceId,
  api_key_id: ask.who.keyId,
  virtual_key: ask.virtualKey,
  provider: ask.provider,
  model: ask.model,
  input_tokens: estimate?.inputTokens ?? null,
  output_tokens: estimate?.outputTokens ?? null,
  cost: estimate?.cost ?? null,
  state: 'estimated',
});

/** A call with its limits, its estimate, and the row that is written if nobody settles it. */
class LimitedCall {
  readonly entry: LedgerEntry;
  readonly charged: readonly ChargedLimit[];
  readonly estimate: Estimate | null;

  constructor(entry: LedgerEntry, charged: readonly ChargedLimit[], estimate: Estimate | null) {
    this.entry = entry;
    this.charged = charged;
    this.estimate = estimate;
  }

  reservation(): Reservation {
    const charges = this.charged.map(
      ({ limit, window, amount }): Charge => ({ counter: window.counter, max: limit.max, amount, endsAt: window.end }),
    );
    return { id: this.entry.id, charges, estimate: this.entry };
  }

  levelled({ levels }: Verdict): Levelled[] {
    return this.charged.map((one, index) => ({ ...one, level: levels[index]! }));
  }
}

class CountedAdmission implements Admission {
  readonly #desk: Desk;
  readonly #call: LimitedCall;
  readonly #levelled: readonly Levelled[];
  #isSent = false;
  #isSettled = false;

  constructor(desk: Desk, call: LimitedCall, levelled: readonly Levelled[]) {
    this.#desk = desk;
    this.#call = call;
    this.#levelled = levelled;
  }

  get id(): string {
    return this.#call.entry.id;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#levelled.length === 0 ? {} : rateHeaders(this.#levelled, this.#desk.now());
  }

  sent(): void {
    this.#isSent = true;
  }

  settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { counters, alarms, running } = this.#desk;
    const { entry: reserved, charged } = this.#call;
    running.delete(reserved.id);
    const taken = this.#isSent ? whatWasTaken(this.#call, outcome) : NOTHING;
    const charges = charged.map(({ limit, window, amount }) => {
      const actual = limit.counts === 'requests' ? 1 : limit.counts === 'cost' ? (taken.cost ?? 0) : taken.tokens;
      alarms.added(limit, window, actual);
      return { counter: window.counter, held: amount, actual, endsAt: window.end };
    });
    const entry: LedgerEntry = {
      ...reserved,
      model: outcome.model ?? reserved.model,
      input_tokens: taken.inputTokens,
      output_tokens: taken.outputTokens,
      cost: taken.cost,
      state: taken.state,
    };
    counters.settle({ id: reserved.id, charges, entry });
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
function whatWasTaken({ estimate }: LimitedCall, { usage, cost }: Outcome): Taken {
  const estimated = estimate ? estimate.inputTokens + estimate.outputTokens : 0;
  if (!usage) {
    return {
      inputTokens: estimate?.inputTokens ?? null,
      outputTokens: estimate?.outputTokens ?? null,
      tokens: estimated,
      cost: wholeCost(cost) ?? estimate?.cost ?? null,
      state: 'estimated',
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
