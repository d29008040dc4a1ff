import { costAt, type Paid, type Price, priceFrom } from './cost.ts';
import type { PriceFile, priceMembers } from './price-file.ts';
import builtInFile from './price-list.json' with { type: 'json' };
import type { Checked } from './schema.ts';
import type { Usage } from './usage.ts';

/** Prices by the model's name in lower case. */
export type PriceList = ReadonlyMap<string, Price>;

export const priceListOf = (members: Checked<typeof priceMembers>): PriceList =>
  new Map(Object.entries(members).map(([model, written]) => [model.toLowerCase(), priceFrom(written)]));

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
const MAKER_PREFIX = /^(?:models\/|anthropic\.|publishers\/[^/]+\/models\/)/;
const REGION = /^(?:us|eu|apac|global|jp|au|ca|us-gov)\.(?=[a-z0-9]+\.)/;
/** A model of the caller's own is named after the one it was made of: `ft:gpt-4o-2024-08-06:acme::abc`. */
const FINE_TUNED = /^(ft:[^:]+):.*$/;

function inList(list: PriceList, model: string): Price | null {
  const name = model.toLowerCase().replace(FINE_TUNED, '$1');
  const here = name.replace(REGION, '');
  const plain = here.replace(MAKER_PREFIX, '');
  return (
    named(list, name) ?? (here === name ? null : named(list, here)) ?? (plain === here ? null : named(list, plain))
  );
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
  /** US dollars; null when the model's price or what it is for is unknown, never a made-up zero. */
  costOf(
    provider: string | null,
    model: string | null,
    usage: Usage | null | undefined,
    overrides?: PriceList | null,
    paid?: Paid,
  ): number | null;
  /** The providers on whose own lists a model stands. */
  listedBy(model: string): readonly string[];
}

/** The same few models come again and again; the bound is for clients that invent names. */
const MOST_ANSWERS = 1_000;

function pricesIn(lists: Lists): Prices {
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
    const names = lists.names.filter((name) => inList(lists.get(name)!, model));
    if (listings.size < MOST_ANSWERS) listings.set(model, names);
    return names;
  };

  const priceOf: Prices['priceOf'] = (provider, model, overrides) =>
    (overrides && inList(overrides, model)) || listed(provider, model);

  return {
    priceOf,
    listedBy,
    costOf: (provider, model, usage, overrides, paid) => {
      if (!provider || !model || !usage) return null;
      const found = priceOf(provider, model, overrides);
      return found && costAt(found, usage, paid);
    },
  };
}

/** Lists by provider. */
interface Lists {
  readonly names: readonly string[];
  get(provider: string): PriceList | undefined;
}

/** Most gateways call a few of the providers that have a list, so each is read when it is first asked for. */
function listsOf({ prices }: PriceFile): Lists {
  const read = new Map<string, PriceList>();
  return {
    names: Object.keys(prices),
    get: (provider) => {
      let list = read.get(provider);
      if (!list && Object.hasOwn(prices, provider)) {
        list = priceListOf(prices[provider]!);
        read.set(provider, list);
      }
      return list;
    },
  };
}

/** One list over the other, model by model. */
function laidOver(upper: Lists, lower: Lists): Lists {
  const merged = new Map<string, PriceList>();
  return {
    names: [...new Set([...upper.names, ...lower.names])],
    get: (provider) => {
      const above = upper.get(provider);
      const below = lower.get(provider);
      if (!above || !below) return above ?? below;
      let list = merged.get(provider);
      if (!list) {
        list = new Map([...below, ...above]);
        merged.set(provider, list);
      }
      return list;
    },
  };
}

const unpriced: Readonly<Record<string, Readonly<Record<string, string>>>> = builtInFile.unpriced;

/** Why a model is on no list, where that is known: its provider has retired it, or it is not paid by what a call tells. */
export const whyUnpriced = (provider: string, model: string): string | null =>
  (Object.hasOwn(unpriced, provider) && unpriced[provider]![model.toLowerCase()]) || null;

const builtIn = listsOf(builtInFile as unknown as PriceFile);

/** List prices as known on the date in the file, standard tier; promotions that end are left out. */
export const builtInPrices: Prices = pricesIn(builtIn);

/** Files one over the other, the first on top, all over the built-in list unless one of them says otherwise. */
export function pricesOf(...files: readonly PriceFile[]): Prices {
  let lists: Lists | null = null;
  for (const file of files) {
    lists = lists ? laidOver(lists, listsOf(file)) : listsOf(file);
    if (file.built_in === false) return pricesIn(lists);
  }
  return pricesIn(lists ? laidOver(lists, builtIn) : builtIn);
}
