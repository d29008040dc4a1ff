import type { Prices } from '../../core/prices.ts';
import type { Ask, Limiter } from '../../limits/limiter.ts';
import type { BatchDeps } from '../kinds.ts';
import { usageIn } from '../usage.ts';
import { members, text } from './api.ts';

/** Providers take half of the list price for what they answer within a day. */
const BATCH_PRICE = 0.5;
const NANO_DOLLARS = 1e9;

export interface AccountDeps {
  readonly limiter: Pick<Limiter, 'reserve'>;
  readonly prices: Prices;
}

/**
 * Puts what a provider's batch cost into the ledger, and on the budgets of the key and the virtual key. It has been spent
 * already, so no budget refuses it: one that is used up stays so.
 */
export const accountFor =
  ({ limiter, prices }: AccountDeps): NonNullable<BatchDeps['account']> =>
  async (batch, answers, { who, target }) => {
    const budgets = [...who.limits, ...target.limits].filter(({ kind }) => kind === 'budget');
    for (const { body } of answers) {
      const usage = usageIn(body);
      if (!usage) continue;
      const provider = target.provider.name;
      const model = text(members(body).model);
      const dollars = prices.costOf(provider, model, usage, target.prices);
      const cost = dollars === null ? null : Math.round(dollars * BATCH_PRICE * NANO_DOLLARS);
      const estimate = () => ({ inputTokens: 0, outputTokens: 0, cost: 0 });
      const ask: Ask = { who, virtualKey: batch.virtual_key, provider, model, estimate };
      const admission = await admitted(limiter, budgets, ask);
      admission.sent();
      admission.settle({ usage, cost, model });
    }
  };

async function admitted(limiter: AccountDeps['limiter'], budgets: Parameters<Limiter['reserve']>[0], ask: Ask) {
  try {
    return await limiter.reserve(budgets, ask);
  } catch {
    return limiter.reserve([], ask);
  }
}
