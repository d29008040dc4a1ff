import * as z from 'zod';
import { type Checked, lazily } from './lazily.ts';
import builtInFile from './price-list.json' with { type: 'json' };
import type { Usage } from './usage.ts';

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input that the provider had cached; the input price when it gives no rebate. */
  readonly cached?: number;
  /** Input that was written to the provider's cache; the input price when that costs nothing extra. */
  readonly cacheWrite?: number;
}

/** Prices by the model's name in lower case. */
export type PriceList = ReadonlyMap<string, Price>;

const dollars = lazily(() =>
  z
    .number({ error: 'give US dollars per million tokens as a number' })
    .min(0, 'must not be negative; 0 means free')
    .max(1e6, 'give at most 1000000'),
);

const price = lazily(() =>
  z.strictObject(
    { input: dollars(), output: dollars(), cached: dollars().optional(), cache_write: dollars().optional() },
    { error: 'give {"input": …, "output": …} in US dollars per million tokens' },
  ),
);

/** Prices of models as people write them, in a file or in a virtual key's `configurations.prices`. */
export const priceMembers = lazily(() =>
  z.record(z.string().min(1).max(256), price(), {
    error: 'give an object of prices by model name',
  }),
);

/** The operator's file. The built-in list, `price-list.json`, has the same form. */
export const priceFile = lazily(() =>
  z.strictObject(
    {
      as_of: z.string().optional(),
      /** Whether the built-in list stays below this one. */
      built_in: z.boolean({ error: 'give true or false' }).optional(),
      prices: z.record(z.string().min(1).max(256), priceMembers(), {
        error: 'give an object of providers, each with its models',
      }),
    },
    { error: 'give {"prices": {"<provider>": {"<model>": {"input": …, "output": …}}}}' },
  ),
);
export type PriceFile = Checked<typeof priceFile>;

export const priceListOf = (members: Checked<typeof priceMembers>): PriceList =>
  new Map(
    Object.entries(members).map(([model, { cache_write, ...rest }]) => [
      model.toLowerCase(),
      cache_write === undefined ? rest : { ...rest, cacheWrite: cache_write },
    ]),
  );

/** Whose lists a provider's models are also on, after its own. Resellers charge the maker's list price. */
export const MAKERS: Readonly<Record<string, readonly string[]>> = {
  __proto__: null as never,
  'azure-openai': ['openai'],
  'vertex-ai': ['google', 'anthropic'],
  bedrock: ['anthropic'],
};

/** What may follow a model's name without making it another model: a date, a revision, `latest`, `preview`. */
const VERSION = /^(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}|\d{3,4}|latest|preview|exp|v\d+(?::\d+)?)|:\d+)+$/;
/** Bedrock and Vertex name the maker, and sometimes a region, in front. */
const MAKER_PREFIX = /^(?:models\/|(?:(?:us|eu|apac|global)\.)?anthropic\.|publishers\/[^/]+\/models\/)/;

function inList(list: PriceList, model: string): Price | null {
  const name = model.toLowerCase();
  const plain = name.replace(MAKER_PREFIX, '');
  return named(list, name) ?? (plain === name ? null : named(list, plain));
}

/** The model itself, or the longest name of which it is a version. */
function named(list: PriceList, name: string): Price | null {
  const exact = list.get(name);
  if (exact) return exact;
  let best = '';
  let found: Price | null = null;
  for (const [known, entry] of list) {
    if (known.length > best.length && name.startsWith(known) && VERSION.test(name.slice(known.length))) {
      best = known;
      found = entry;
    }
  }
  return found;
}

/** The prices in force. A model that is on no list has no cost instead of a wrong one; an explicit 0 is free. */
export interface Prices {
  /** `overrides` are those of the virtual key and stand before every list. */
  priceOf(provider: string, model: string, overrides?: PriceList | null): Price | null;
  /** US dollars; null when the model's price or the tokens are unknown, never a made-up zero. */
  costOf(
    provider: string | null,
    model: string | null,
    usage: Usage | null | undefined,
    overrides?: PriceList | null,
  ): number | null;
  /** The providers on whose own lists a model stands. */
  listedBy(model: string): readonly string[];
}

/** The same few models come again and again; the bound is for clients that invent names. */
const MOST_ANSWERS = 1_000;

export function pricesIn(lists: ReadonlyMap<string, PriceList>): Prices {
  const answers = new Map<string, Map<string, Price | null>>();
  let known = 0;

  const lookUp = (provider: string, model: string): Price | null => {
    for (const name of [provider, ...(MAKERS[provider] ?? [])]) {
      const list = lists.get(name);
      const found = list && inList(list, model);
      if (found) return found;
    }
    return null;
  };

  const listed = (provider: string, model: string): Price | null => {
    let byModel = answers.get(provider);
    if (!byModel) {
      byModel = new Map();
      answers.set(provider, byModel);
    }
    let answer = byModel.get(model);
    if (answer === undefined) {
      answer = lookUp(provider, model);
      if (known++ < MOST_ANSWERS) byModel.set(model, answer);
    }
    return answer;
  };

  const listings = new Map<string, readonly string[]>();
  const listedBy = (model: string): readonly string[] => {
    const found = listings.get(model);
    if (found) return found;
    const names = [...lists].filter(([, list]) => inList(list, model)).map(([name]) => name);
    if (listings.size < MOST_ANSWERS) listings.set(model, names);
    return names;
  };

  const priceOf: Prices['priceOf'] = (provider, model, overrides) =>
    (overrides && inList(overrides, model)) || listed(provider, model);

  return {
    priceOf,
    listedBy,
    costOf: (provider, model, usage, overrides) => {
      if (!provider || !model || !usage) return null;
      if (usage.inputTokens === undefined && usage.outputTokens === undefined) return null;
      const found = priceOf(provider, model, overrides);
      return found && costAt(found, usage);
    },
  };
}

function costAt(found: Price, usage: Usage): number {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const total =
    plain * found.input +
    cachedInputTokens * (found.cached ?? found.input) +
    cacheWriteTokens * (found.cacheWrite ?? found.input) +
    outputTokens * found.output;
  return total / 1e6;
}

const listsOf = (file: PriceFile): Map<string, PriceList> =>
  new Map(Object.entries(file.prices).map(([provider, members]) => [provider, priceListOf(members)]));

const builtIn: ReadonlyMap<string, PriceList> = listsOf(builtInFile);

/** List prices as known on the date in the file, standard tier, short prompts; promotions that end are left out. */
export const builtInPrices: Prices = pricesIn(builtIn);

/** The operator's prices, laid over the built-in ones unless the file says otherwise. */
export function pricesOf(file: PriceFile): Prices {
  const own = listsOf(file);
  if (file.built_in === false) return pricesIn(own);
  const merged = new Map(builtIn);
  for (const [provider, list] of own) merged.set(provider, new Map([...(builtIn.get(provider) ?? []), ...list]));
  return pricesIn(merged);
}
