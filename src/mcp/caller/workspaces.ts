import { limitsOf } from '../../auth/owner-limits.ts';
import { workspaceOwner } from '../../auth/workspaces.ts';
import type { OrganisationId, WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';

/** What a workspace gives to every caller in it who has no key. */
export type CallerWorkspace = Pick<
  Principal,
  'organisationId' | 'workspaceId' | 'workspaceSlug' | 'defaults' | 'limits'
>;
export type FindWorkspace = (id: WorkspaceId) => NowOrLater<CallerWorkspace | null>;

export interface WorkspacesDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly now: () => number;
}

export function createFindWorkspace({ store, changes, now }: WorkspacesDeps): FindWorkspace {
  const load = async (id: string): Promise<CallerWorkspace | null> => {
    const row = await store.db.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst();
    return row
      ? {
          organisationId: row.organisation_id as OrganisationId,
          workspaceId: id as WorkspaceId,
          workspaceSlug: row.slug,
          defaults: JSON.parse(row.defaults),
          limits: limitsOf(workspaceOwner(row), row, row.created_at),
        }
      : null;
  };
  // Workspaces are changed with keys.
  const cache = cachedBy(changes, ['keys'], load, { most: 1_000, now });
  return (id) => cache.peek(id) ?? cache.get(id);
}
