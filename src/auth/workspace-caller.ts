import { fail } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { StaleCache } from '../core/stale-cache.ts';
import type { Store } from '../storage/store.ts';
import { limitsOf } from './owner-limits.ts';
import { workspaceOwner } from './workspaces.ts';

/** A workspace as a caller, for what the gateway does on its behalf and no key asked for: its limits hold, and it pays. */
export function createWorkspaceCaller({ store, now }: { store: Pick<Store, 'db'>; now: () => number }) {
  const cache = new StaleCache<Principal>({ capacity: 1_000, freshMs: 10_000, staleMs: 3_600_000, now });

  const load = async (id: WorkspaceId): Promise<Principal | null> => {
    const row = await store.db.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst();
    if (!row) return null;
    const { metadata } = JSON.parse(row.defaults) as Principal['defaults'];
    return {
      organisationId: row.organisation_id as OrganisationId,
      workspaceId: id,
      workspaceSlug: row.slug,
      // As with a person who signed in, its own id stands where a key's would.
      keyId: id as string as ApiKeyId,
      keyName: row.name,
      userId: null,
      scopes: new Set(),
      defaults: { ...(metadata && { metadata }) },
      limits: limitsOf(workspaceOwner(row), row, row.created_at),
    };
  };

  return {
    find: async (id: WorkspaceId): Promise<Principal> =>
      (await cache.get(id, () => load(id))) ?? fail('workspace_not_found', id),
    /** To be called after every change to a workspace. */
    forget: () => cache.clear(),
  };
}
