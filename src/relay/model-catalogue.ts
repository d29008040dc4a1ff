import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import type { Principal } from '../core/principal.ts';
import { sha256 } from '../crypto/seal.ts';
import type { Model } from '../dialects/endpoints/models.ts';
import { asGatewayError } from '../http/reply.ts';
import { isAllowed } from './allowed-model.ts';
import { type FetchedModels, type FetchModelsDeps, fetchModels } from './fetch-models.ts';
import { findTarget, type Target } from './target.ts';

/** A model as the workspace calls it: `@slug/name`. */
export interface CataloguedModel extends Pick<Model, 'object' | 'created' | 'owned_by'> {
  readonly id: string;
  readonly provider: string;
}

export interface Catalogue {
  readonly models: readonly CataloguedModel[];
  /** Virtual keys whose models are missing, each with the reason: `slug (401)`. */
  readonly missing: readonly string[];
}

export interface CatalogueDeps extends FetchModelsDeps {
  readonly virtualKeys: VirtualKeys;
}

/** How long a list is believed. */
const FRESH_MS = 60_000;
/** How long all lists together may take; a provider that has not answered by then is missing. */
const DEADLINE_MS = 10_000;
const AT_ONCE = 16;
const MOST_KEPT = 1_000;
/** How long a call waits for a list that says whose model it asks for. */
const PATIENCE_MS = 3_000;

interface Kept {
  readonly until: number;
  readonly fetched: Promise<FetchedModels>;
  /** The last that came whole: an older one until this one has, and when it does not. */
  last: FetchedModels | null;
}

/** The models of every virtual key of a workspace, each list kept for a minute. One broken provider empties nothing. */
export function createModelCatalogue(deps: CatalogueDeps) {
  const kept = new BoundedMap<string, Kept>(MOST_KEPT);

  const listOf = (who: Principal, target: Target): Kept => {
    const key = keyOf(who, target);
    const known = kept.get(key);
    const now = deps.now();
    if (known && known.until > now) return known;
    const made: Kept = { until: now + FRESH_MS, fetched: fetchModels(target, deps), last: known?.last ?? null };
    made.fetched.then((models) => {
      if (models.failure === null || made.last === null) made.last = models;
    });
    kept.set(key, made);
    return made;
  };

  const targetOf = (who: Principal, slug: string) =>
    findTarget({ by: 'virtual-key', slug }, who, NO_REQUEST, deps.virtualKeys);

  const modelsOf = async (who: Principal, slug: string): Promise<{ provider: string } & FetchedModels> => {
    try {
      const target = await targetOf(who, slug);
      return { provider: target.provider.name, ...(await listOf(who, target).fetched) };
    } catch (error) {
      return { provider: '', models: [], failure: asGatewayError(error, '').code };
    }
  };

  return {
    /** What one virtual key's provider lists, or listed before; null: it has not answered soon enough. */
    async listOf(who: Principal, slug: string): Promise<FetchedModels | null> {
      try {
        const { last, fetched } = listOf(who, await targetOf(who, slug));
        return last ?? (await soonEnough(fetched));
      } catch {
        return null;
      }
    },

    /** Of one provider's keys only, where one is named. */
    async read(who: Principal, provider?: string): Promise<Catalogue> {
      const { keys } = await deps.virtualKeys.index(who);
      const mayName = !who.forbids?.has('virtual_key');
      const wanted = keys.filter((key) => mayName && (provider === undefined || key.provider === provider));
      const late = Promise.withResolvers<'late'>();
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        late.resolve('late');
      }, DEADLINE_MS);
      const listed = await inTurns(wanted, (key) =>
        isLate ? late.promise : Promise.race([modelsOf(who, key.slug), late.promise]),
      );
      clearTimeout(timer);
      const missing = wanted.flatMap(({ slug }, index) => {
        const one = listed[index]!;
        const reason = one === 'late' ? 'timeout' : one.failure;
        return reason === null ? [] : [`${slug} (${reason})`];
      });
      const models = wanted.flatMap(({ slug }, index) => {
        const one = listed[index]!;
        if (one === 'late') return [];
        const { provider } = one;
        const shown = who.models
          ? one.models.filter(({ id }) => isAllowed(who.models!, id, { provider, virtualKey: slug }))
          : one.models;
        return shown.map((model) => catalogued(model, slug, provider));
      });
      return { models, missing };
    },
  };
}

export type ModelCatalogue = ReturnType<typeof createModelCatalogue>;

/** Virtual keys carry everything that a target needs. */
const NO_REQUEST = { headers: {}, providerKey: null };

const catalogued = ({ id, object, created, owned_by }: Model, slug: string, provider: string): CataloguedModel => ({
  id: `@${slug}/${id}`,
  object,
  created,
  owned_by,
  provider,
});

/** Another credential, host or setting is another list. */
const keyOf = ({ workspaceId }: Principal, { virtualKey, provider, credential, customHost, options }: Target): string =>
  sha256(JSON.stringify([workspaceId, virtualKey, provider.name, customHost, options, credential?.reveal() ?? null]));

async function soonEnough<Value>(coming: Promise<Value>): Promise<Value | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), PATIENCE_MS);
  return Promise.race([coming, late.promise]).finally(() => clearTimeout(timer));
}

/** A few at a time, the results in the order of the items. */
async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}
