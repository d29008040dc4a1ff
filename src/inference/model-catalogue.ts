import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { Principal } from '../core/principal.ts';
import { sha256 } from '../crypto/seal.ts';
import type { Model } from '../dialects/endpoints/models.ts';
import { asGatewayError } from '../http/reply.ts';
import { type FetchedModels, type FetchModelsDeps, fetchModels } from '../relay/fetch-models.ts';
import { findTarget, type Target } from '../relay/target.ts';

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
const PAGE = 1_000;

interface Kept {
  readonly until: number;
  readonly fetched: Promise<FetchedModels>;
}

/** The models of every virtual key of a workspace, each list kept for a minute. One broken provider empties nothing. */
export function createModelCatalogue(deps: CatalogueDeps) {
  const kept = new Map<string, Kept>();

  const fetchOnce = (who: Principal, target: Target): Promise<FetchedModels> => {
    const key = keyOf(who, target);
    const known = kept.get(key);
    if (known && known.until > deps.now()) return known.fetched;
    const fetched = fetchModels(target, deps);
    kept.delete(key);
    kept.set(key, { until: deps.now() + FRESH_MS, fetched });
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    return fetched;
  };

  const modelsOf = async (who: Principal, slug: string): Promise<{ provider: string } & FetchedModels> => {
    try {
      const target = await findTarget({ by: 'virtual-key', slug }, who, NO_REQUEST, deps.virtualKeys);
      return { provider: target.provider.name, ...(await fetchOnce(who, target)) };
    } catch (error) {
      return { provider: '', models: [], failure: asGatewayError(error, '').code };
    }
  };

  return {
    /** Of one provider's keys only, where one is named. */
    async read(who: Principal, provider?: string): Promise<Catalogue> {
      const keys = await keysOf(who, deps.virtualKeys);
      const wanted = keys.filter((key) => provider === undefined || key.provider === provider);
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
        return one === 'late' ? [] : one.models.map((model) => catalogued(model, slug, one.provider));
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

async function keysOf(who: Principal, virtualKeys: VirtualKeys): Promise<{ slug: string; provider: string }[]> {
  const keys: { slug: string; provider: string }[] = [];
  for (let current_page = 0; ; current_page++) {
    const { data, has_more } = await virtualKeys.list(who, {
      workspace_id: who.workspaceId,
      current_page,
      page_size: PAGE,
    });
    keys.push(...data.map(({ slug, provider }) => ({ slug, provider })));
    if (!has_more || data.length === 0) return keys;
  }
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
