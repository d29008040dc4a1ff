import { fail } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import { limitsOf } from './owner-limits.ts';
import { workspaceOwner } from './workspaces.ts';

export interface WorkspaceCallerDeps {
  readonly store: Pick<Store, 'db'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly now: () => number;
}

/** A workspace as a caller, for what the gateway does on its behalf and no key asked for: its limits hold, and it pays. */
export function createWorkspaceCaller({ store, changes, now }: WorkspaceCallerDeps) {
  const load = async (id: string): Promise<Principal | null> => {
    const row = await store.db.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst();
    if (!row) return null;
    const { metadata } = JSON.parse(row.defaults) as Principal['defaults'];
    return {
      organisationId: row.organisation_id as OrganisationId,
      workspaceId: id as WorkspaceId,
      workspaceSlug: row.slug,
      // As with a person who signed in, its own id stands where a key's would.
      keyId: id as ApiKeyId,
      keyName: row.name,
      userId: null,
      scopes: new Set(),
      defaults: { ...(metadata && { metadata }) },
      limits: limitsOf(workspaceOwner(row), row, row.created_at),
    };
  };

  // Workspaces are changed with keys.
  const cache = cachedBy(changes, ['keys'], load, { most: 1_000, now });

  return async (id: WorkspaceId): Promise<Principal> => (await cache.get(id)) ?? fail('workspace_not_found', id);
}
