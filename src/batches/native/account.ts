import type { Prices } from '../../core/prices.ts';
import type { Usage } from '../../core/usage.ts';
import type { Ask, Limiter } from '../../limits/limiter.ts';
import type { BatchDeps } from '../kinds.ts';
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

/** In the words of chat completions and embeddings, or of responses and messages. */
export function usageIn(body: unknown): Usage | null {
  const usage = members(members(body).usage);
  const input = number(usage.prompt_tokens) ?? number(usage.input_tokens);
  if (input === undefined) return null;
  const output = number(usage.completion_tokens) ?? number(usage.output_tokens) ?? 0;
  const read = number(usage.cache_read_input_tokens);
  const written = number(usage.cache_creation_input_tokens);
  const details = members(usage.prompt_tokens_details ?? usage.input_tokens_details);
  // Messages count what came from the cache, or went there, beside the input.
  const inputTokens = input + (read ?? 0) + (written ?? 0);
  return {
    inputTokens,
    outputTokens: output,
    totalTokens: inputTokens + output,
    cachedInputTokens: read ?? number(details.cached_tokens) ?? 0,
    ...(written !== undefined && { cacheWriteTokens: written }),
  };
}

/** What is no count says nothing: one below zero would give budgets back. */
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
