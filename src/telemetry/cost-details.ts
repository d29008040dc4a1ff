import { costByKind, type TokenCosts } from '../core/cost.ts';
import type { Prices } from '../core/prices.ts';
import type { LogRecord } from './record.ts';

type Priced = Pick<
  LogRecord,
  'provider' | 'model' | 'cost' | 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'reasoning_tokens'
>;

/** Rounded as the log rounds; the same tokens at the same prices are never this far apart. */
const isSame = (one: number, other: number) => Math.abs(one - other) <= 1e-9 + Math.abs(other) * 1e-6;
const tidy = (dollars: number) => Number(dollars.toPrecision(9));

/**
 * What of an entry's cost each kind of its tokens is. Worked out by the prices of now, and told only where these come to
 * what was charged then: not after a price has changed, nor for a price or a kind of usage that entries do not keep.
 */
export function costDetailsOf(entry: Priced, prices: Pick<Prices, 'priceOf'>): TokenCosts | null {
  const { provider, model, cost } = entry;
  if (!provider || !model || cost === null) return null;
  const price = prices.priceOf(provider, model);
  if (!price) return null;
  const usage = {
    inputTokens: entry.input_tokens ?? undefined,
    outputTokens: entry.output_tokens ?? undefined,
    cachedInputTokens: entry.cached_tokens ?? undefined,
    reasoningTokens: entry.reasoning_tokens ?? undefined,
  };
  for (const paid of ['at once', 'in a batch'] as const) {
    const costs = costByKind(price, usage, paid);
    if (!costs) return null;
    const { input, cached_input, output, reasoning } = costs;
    if (isSame(input + cached_input + output + reasoning, cost))
      return {
        input: tidy(input),
        cached_input: tidy(cached_input),
        output: tidy(output),
        reasoning: tidy(reasoning),
      };
  }
  return null;
}

/** All that stands before it in the text of an entry are plain columns. */
const BEHIND = ',"client_address":';

/** The same for the text of an entry, of which only the beginning is read: bodies may be long. */
export function withCostDetails(text: string, prices: Pick<Prices, 'priceOf'>): string {
  const at = text.indexOf(BEHIND);
  if (at < 0) return text;
  const details = costDetailsOf(JSON.parse(`${text.slice(0, at)}}`) as Priced, prices);
  return `${text.slice(0, at)},"cost_details":${JSON.stringify(details)}${text.slice(at)}`;
}
