import { builtInPrices } from '../../core/prices.ts';
import type { Say } from './access.ts';
import { numberIn } from './numbers.ts';
import { isCost, type Parameters } from './parameters.ts';

/** US dollars per million tokens, as a virtual key's `configurations.prices` has them. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cache_write?: number;
}

const PER_TOKEN = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cached',
  cache_creation_input_token_cost: 'cache_write',
} as const;

/** Twelve digits are more than any price has, and less than what a double adds to it. */
const perMillion = (dollars: number): number => Number((dollars * 1e6).toPrecision(12));

/** What a deployment costs: its own prices, else those of the model that stands behind its name; null: nothing is said. */
export function priceOf(
  provider: string,
  { own, info }: { own: Parameters; info: Parameters },
  { refuse, leaveOut, note }: { refuse: Say; leaveOut: Say; note: Say },
): OwnPrice | null {
  const given: { -readonly [member in keyof OwnPrice]?: number } = {};
  const said = { ...info, ...own };
  for (const [name, value] of Object.entries(said)) {
    if (value === null || value === undefined || !isCost(name)) continue;
    const member = Object.hasOwn(PER_TOKEN, name) ? PER_TOKEN[name as keyof typeof PER_TOKEN] : null;
    const dollars = numberIn(value);
    if (member === null) {
      if (dollars !== 0) leaveOut(name, 'has no counterpart: prices are per token');
    } else if (dollars === undefined || dollars < 0 || dollars > 1)
      refuse(name, 'give US dollars per token as a number from 0 to 1');
    else given[member] = perMillion(dollars);
  }
  const { input, output, ...rest } = given;
  if (input !== undefined || output !== undefined) return { input: input ?? 0, output: output ?? 0, ...rest };
  if (Object.keys(rest).length > 0) note(Object.keys(rest)[0]!, 'stands alone; the list price counts');
  return ofBase(provider, info.base_model, note);
}

/** Azure's deployments have names of their own, which no list of prices knows. */
function ofBase(provider: string, base: unknown, note: Say): OwnPrice | null {
  if (typeof base !== 'string' || base === '') return null;
  const name = base
    .replace(/^(azure|openai|azure_ai|bedrock|vertex_ai|anthropic|gemini)\//, '')
    .replace(/^(us|eu|global)\//, '');
  const found = builtInPrices.priceOf(provider, name);
  if (!found?.rates) {
    note('base_model', `"${name}" is on no list of prices here, so its calls have no cost unless you give one`);
    return null;
  }
  const { input, output, cached, cacheWrite } = found.rates;
  return {
    input,
    output,
    ...(cached !== input && { cached }),
    ...(cacheWrite !== input && { cache_write: cacheWrite }),
  };
}
