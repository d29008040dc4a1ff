import { NANO_DOLLARS } from '../../core/money.ts';
import type { Prices } from '../../core/prices.ts';
import type { Usage } from '../../core/usage.ts';
import type { Ask } from '../../limits/ask.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { WorkTaken } from '../../limits/work-holds.ts';
import type { Target } from '../../relay/target.ts';
import type { BatchDeps } from '../kinds.ts';
import { usageIn } from '../usage.ts';
import { members, type NativeResult, text } from './api.ts';
import { type Native, nativeOf } from './step.ts';

export interface AccountDeps {
  readonly limiter: Pick<Limiter, 'reserve'>;
  readonly prices: Prices;
}

/**
 * Puts what a provider's batch cost into the ledger. Where nothing was held for the batch, because it had no limits when it
 * was handed over, it goes on the budgets that there are by now. It has been spent already, so no budget refuses it: one
 * that is used up stays so.
 */
export const accountFor =
  ({ limiter, prices }: AccountDeps): NonNullable<BatchDeps['account']> =>
  async (batch, answers, { who, target }) => {
    const isHeld = nativeOf(batch).hold !== undefined;
    const budgets = isHeld ? [] : [...who.limits, ...target.limits].filter(({ kind }) => kind === 'budget');
    for (const { body } of answers) {
      const usage = usageIn(body);
      if (!usage) continue;
      const provider = target.provider.name;
      const model = text(members(body).model);
      const cost = costOf(prices, target, body, usage);
      const estimate = () => ({ inputTokens: 0, outputTokens: 0, cost: 0 });
      const ask: Ask = { who, virtualKey: batch.virtual_key, provider, model, estimate };
      const admission = await admitted(limiter, budgets, ask);
      admission.sent();
      admission.settle({ usage, cost, model });
    }
  };

/** Billionths of a US dollar; null where the price is not known. */
function costOf(prices: Prices, target: Target, body: unknown, usage: Usage): number | null {
  const dollars = prices.costOf(target.provider.name, text(members(body).model), usage, target.prices, 'in a batch');
  return dollars === null ? null : Math.round(dollars * NANO_DOLLARS);
}

const NOTHING: WorkTaken = { requests: 0, tokens: 0, cost: 0 };

/**
 * What answers took of the limits that were held for their batch, beside what others took before. A good answer without
 * usage, or of a model without a price, counts its share of the estimate.
 */
export function addTaken(
  { hold, taken = NOTHING }: Partial<Native>,
  answers: readonly NativeResult[],
  { total, target, prices }: { total: number; target: Target; prices: Prices },
): WorkTaken {
  const { input_tokens, output_tokens, cost: held } = hold!.estimate;
  const share = (amount: number | null) => Math.ceil((amount ?? 0) / Math.max(1, total));
  const sum = { ...taken };
  for (const { body, result } of answers) {
    sum.requests++;
    const usage = usageIn(body);
    if (!usage && result.isError) continue;
    sum.tokens += usage?.totalTokens ?? share((input_tokens ?? 0) + (output_tokens ?? 0));
    sum.cost += (usage && costOf(prices, target, body, usage)) ?? share(held);
  }
  return sum;
}

async function admitted(limiter: AccountDeps['limiter'], budgets: Parameters<Limiter['reserve']>[0], ask: Ask) {
  try {
    return await limiter.reserve(budgets, ask);
  } catch {
    return limiter.reserve([], ask);
  }
}
