import { type KeyIndex, type KnownKey, shownKeys } from '../auth/virtual-key-index.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import { MAKERS, type Prices } from '../core/prices.ts';
import type { Principal } from '../core/principal.ts';
import { findProvider } from '../providers/registry.ts';
import { type Route, splitModel } from '../routing/select.ts';
import type { FetchedModels } from './fetch-models.ts';

/** What a plain name does where several virtual keys could be meant, or whether it chooses at all. */
export type PlainModels = 'first' | 'unambiguous' | 'off';

/** Whom a model's name means. */
export interface MeantKey {
  readonly slug: string;
  /** What the provider calls the model. */
  readonly name: string;
  /** Virtual keys that could have been meant, too. */
  readonly others: readonly string[];
}

export interface ModelNamesDeps {
  readonly virtualKeys: Pick<VirtualKeys, 'index'>;
  /** What the provider of a virtual key lists; null: not in time. */
  readonly listOf: (who: Principal, slug: string) => Promise<FetchedModels | null>;
  readonly prices: Prices;
  readonly plainModels: PlainModels;
  readonly now: () => number;
}

/** How many names are remembered per workspace; the bound is for clients that invent names. */
const MOST_REMEMBERED = 1_000;
/** How many providers are asked for their lists, for one name. */
const MOST_ASKED = 32;

/**
 * Finds the virtual key that a model's name means, where nothing else chooses one. In this order (docs/decisions/0050):
 *
 *     slug/name             the virtual key of that slug
 *     provider/name         a virtual key of that provider
 *     name                  a virtual key whose provider is known to have it: by its prices, by ours
 *     name                  the only virtual key there is, unless the model is known to be another provider's
 *     name                  a virtual key whose provider lists it
 *
 * Of several, the oldest.
 */
export function createModelNames({ virtualKeys, listOf, prices, plainModels, now }: ModelNamesDeps) {
  const remembered = new WeakMap<KeyIndex, Map<string, MeantKey>>();

  const isUsable = ({ provider, expiresAt }: KnownKey) =>
    // What is simulated is meant only by those who say so.
    (expiresAt === null || expiresAt > now()) && findProvider(provider)?.inProcess !== true;

  /** Whether a virtual key is known to have a model: by its own prices, its provider's, or those of the model's maker. */
  const rankOf = (key: KnownKey, model: string): number | null => {
    if ((key.prices && prices.priceOf('', model, key.prices)) || ownsName(key.provider, model)) return 0;
    const listedBy = prices.listedBy(model);
    if (listedBy.includes(key.provider)) return 1;
    return MAKERS[key.provider]?.some((maker) => listedBy.includes(maker)) ? 2 : null;
  };

  const knownToHave = (keys: readonly KnownKey[], model: string): KnownKey[] =>
    keys
      .map((key) => ({ key, rank: rankOf(key, model) }))
      .filter(({ rank }) => rank !== null)
      .sort((one, other) => one.rank! - other.rank!)
      .map(({ key }) => key);

  /** What a provider is known for need not be what another host has that speaks like it. */
  const certain = (keys: readonly KnownKey[], model: string) =>
    knownToHave(keys, model).filter((key) => !key.hasOwnHost || rankOf(key, model) === 0);

  /** `prefix/rest`, where the prefix is a virtual key's slug or a provider's name. */
  const byPrefix = ({ keys, bySlug }: KeyIndex, model: string): MeantKey | null => {
    const slash = model.indexOf('/');
    if (slash < 1 || slash === model.length - 1) return null;
    const [prefix, rest] = [model.slice(0, slash), model.slice(slash + 1)];
    const named = bySlug.get(prefix);
    const found = named ? [named] : keys.filter((key) => key.provider === prefix && isUsable(key));
    const [first] = found;
    if (!first) return null;
    if (ownsName(first.provider, model)) return meant(found, model);
    // Some providers have models of other makers under their names.
    const isWhole = certain(keys.filter(isUsable), model).length > 0 && !prices.listedBy(rest).includes(first.provider);
    return isWhole ? null : meant(found, rest);
  };

  const isOthers = (model: string, { provider }: KnownKey): boolean => {
    const listedBy = prices.listedBy(model);
    const prefix = model.slice(0, Math.max(0, model.indexOf('/')));
    return (
      (listedBy.length > 0 && !listedBy.includes(provider)) || isSlugged(model) || findProvider(prefix) !== undefined
    );
  };

  const withoutAsking = (index: KeyIndex, model: string, maySplit: boolean): MeantKey | null => {
    const split = maySplit ? (sluggedIn(index, model, null) ?? byPrefix(index, model)) : null;
    if (split) return split;
    const usable = index.keys.filter(isUsable);
    const found = certain(usable, model);
    if (found.length > 0) return meant(found, model);
    const [only, ...more] = usable;
    return only && more.length === 0 && !isOthers(model, only) ? meant(usable, model) : null;
  };

  const byLists = async (who: Principal, index: KeyIndex, model: string): Promise<MeantKey> => {
    const slugged = splitModel(model);
    if (slugged) fail('unknown_virtual_key', slugged.slug.slice(0, 80), shownKeys(who, index));
    const asked = index.keys.filter(isUsable).slice(0, MOST_ASKED);
    const lists = await Promise.all(asked.map(({ slug }) => listOf(who, slug)));
    const listing = asked.filter((_, at) => lists[at]?.models.some(({ id }) => id === model));
    if (listing.length > 0) return meant(listing, model);
    const silent = asked.filter((_, at) => !lists[at] || lists[at].failure !== null);
    const likely = knownToHave(silent, model);
    if (likely.length > 0) return meant(likely, model);
    return fail('unknown_model', model.slice(0, 200), shownKeys(who, index), slugsOf(silent));
  };

  const decided = (found: MeantKey, model: string): MeantKey => {
    if (plainModels === 'unambiguous' && found.others.length > 0)
      fail('ambiguous_model', model.slice(0, 200), [found.slug, ...found.others]);
    return found;
  };

  const find = async (who: Principal, model: string, maySplit: boolean): Promise<MeantKey> => {
    const index = await virtualKeys.index(who);
    const memory = memoryOf(remembered, index);
    const key = maySplit ? model : `whole ${model}`;
    const known = memory.get(key);
    if (known && isStill(index, known)) return decided(known, model);
    const found = withoutAsking(index, model, maySplit) ?? (await byLists(who, index, model));
    if (memory.size < MOST_REMEMBERED) memory.set(key, found);
    return decided(found, model);
  };

  const isStill = ({ bySlug }: KeyIndex, { slug }: MeantKey): boolean => {
    const { expiresAt } = bySlug.get(slug)!;
    return expiresAt === null || expiresAt > now();
  };

  return {
    /**
     * The virtual key that stands before a model, in `@slug/name`, whatever else was asked for. Null: there is none of that
     * slug, or the whole is a name of the provider that was asked for.
     */
    async slugged(who: Principal, model: string, asked: Route | null): Promise<MeantKey | null> {
      return sluggedIn(await virtualKeys.index(who), model, asked);
    },

    /** Throws 400 where no virtual key is meant, with those that there are. With `maySplit` the name may have a prefix. */
    find,

    /** Refuses a call that chooses no provider, with what it could have chosen. */
    async refuse(who: Principal): Promise<never> {
      return fail('missing_provider', shownKeys(who, await virtualKeys.index(who)));
    },

    plainModels,
  };
}

export type ModelNames = ReturnType<typeof createModelNames>;

/** Whether a provider has models whose names begin like this one. */
export const ownsName = (provider: string, model: string): boolean =>
  findProvider(provider)?.ownNames?.test(model) ?? false;

const isSlugged = (model: string): boolean => model.startsWith('@');

function sluggedIn({ bySlug }: KeyIndex, model: string, asked: Route | null): MeantKey | null {
  if (!isSlugged(model)) return null;
  const slash = model.indexOf('/');
  const key = slash > 1 && slash < model.length - 1 ? bySlug.get(model.slice(1, slash)) : undefined;
  if (!key) return null;
  const isWhole = ownsName(key.provider, model);
  const provider =
    asked?.by === 'provider' ? asked.name : asked?.by === 'virtual-key' ? bySlug.get(asked.slug)?.provider : '';
  if (asked && (isWhole || ownsName(provider ?? '', model))) return null;
  return { slug: key.slug, name: isWhole ? model : model.slice(slash + 1), others: [] };
}

const meant = ([first, ...others]: readonly KnownKey[], name: string): MeantKey => ({
  slug: first!.slug,
  name,
  others: slugsOf(others),
});

const slugsOf = (keys: readonly KnownKey[]): string[] => keys.map(({ slug }) => slug);

function memoryOf(remembered: WeakMap<KeyIndex, Map<string, MeantKey>>, index: KeyIndex): Map<string, MeantKey> {
  const found = remembered.get(index);
  if (found) return found;
  const made = new Map<string, MeantKey>();
  remembered.set(index, made);
  return made;
}
