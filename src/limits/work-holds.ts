import { fail, GatewayError } from '../core/errors.ts';
import type { Counted, Limit } from '../core/limits.ts';
import type { Ask, Estimate } from './ask.ts';
import type { Charge, Counters, LedgerEntry } from './counters/counters.ts';
import { ownerText } from './refusal.ts';
import { openWindow } from './windows.ts';

/**
 * What is held for work that outlives a process, such as a batch at a provider. It is JSON and stands with the work, so that
 * any node can settle it, once, hours later.
 */
export interface WorkHold {
  readonly id: string;
  readonly charges: readonly HeldCharge[];
  /** What the ledger says if the work is never settled. */
  readonly estimate: LedgerEntry;
}

interface HeldCharge extends Omit<Charge, 'endsAt'> {
  readonly counts: Counted;
  /** Null: never. */
  readonly endsAt: number | null;
}

/** What work took, as far as limits count it. */
export interface WorkTaken {
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar. */
  readonly cost: number;
}

export interface WorkAsk extends Omit<Ask, 'estimate'> {
  readonly requests: number;
  readonly estimate: Estimate;
}

export interface WorkHolds {
  /** What would be held, to be written down before it is. Throws 412 `price_unknown`. */
  plan(limits: readonly Limit[], ask: WorkAsk): WorkHold;
  /** Holds it, all or nothing. False: it does not fit. */
  take(hold: WorkHold, holdMs: number): Promise<boolean>;
  /** The first call counts, whichever node makes it; null: at the estimate. What the answers took stands in rows of their own. */
  settle(hold: WorkHold, taken: WorkTaken | null): void;
}

export function createWorkHolds({
  counters,
  now,
  newId,
}: {
  counters: Counters;
  now: () => number;
  newId: () => string;
}): WorkHolds {
  return {
    plan: (limits, ask) => {
      const id = newId();
      const at = now();
      const charges = new Map<string, HeldCharge>();
      for (const limit of limits) {
        if (limit.counts === 'cost' && ask.estimate.cost === null && !limit.unpriced)
          fail('price_unknown', ask.provider, ask.model, ownerText(limit.owner), limit.text);
        const isUncounted = limit.counts === 'cost' && ask.estimate.cost === null;
        for (const each of isUncounted ? [limit, limit.unpriced!] : [limit]) {
          const charge = chargeOf(each, ask, at);
          charges.set(charge.counter, charge);
        }
      }
      return { id, charges: [...charges.values()], estimate: entryOf(id, at, ask) };
    },
    take: async ({ id, charges, estimate }, holdMs) => {
      const { admitted } = await counters.reserve({ id, charges: charges.map(asCharge), estimate }, holdMs);
      return admitted;
    },
    settle: ({ id, charges, estimate }, taken) => {
      counters.settle({
        id,
        charges: charges.map((charge) => ({
          ...asCharge(charge),
          held: charge.amount,
          actual: taken ? taken[charge.counts] : charge.amount,
        })),
        entry: taken ? { ...estimate, input_tokens: 0, output_tokens: 0, cost: 0, state: 'final' } : estimate,
      });
    },
  };
}

const asCharge = ({ counter, max, amount, endsAt }: HeldCharge): Charge => ({
  counter,
  max,
  amount,
  endsAt: endsAt ?? Number.POSITIVE_INFINITY,
});

function chargeOf(limit: Limit, { requests, estimate }: WorkAsk, at: number): HeldCharge {
  const { counter, end } = openWindow(limit, at);
  const amounts = {
    requests,
    tokens: estimate.inputTokens + estimate.outputTokens,
    cost: estimate.cost ?? 0,
  };
  return {
    counter,
    counts: limit.counts,
    max: limit.max,
    amount: amounts[limit.counts],
    endsAt: Number.isFinite(end) ? end : null,
  };
}

const entryOf = (id: string, at: number, { who, virtualKey, provider, model, estimate }: WorkAsk): LedgerEntry => ({
  id,
  at,
  organisation_id: who.organisationId,
  workspace_id: who.workspaceId,
  api_key_id: who.keyId,
  virtual_key: virtualKey,
  provider,
  model,
  input_tokens: estimate.inputTokens,
  output_tokens: estimate.outputTokens,
  cost: estimate.cost,
  state: 'estimated',
});

/** Whether limits say no to something, as against a store that is away. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof GatewayError && (error.status === 412 || error.status === 429);
