import { limitsOf } from '../../auth/limited.ts';
import { workspaceOwner } from '../../auth/workspaces.ts';
import type { OrganisationId, WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import { StaleCache } from '../../core/stale-cache.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';

/** What a workspace gives to every caller in it who has no key. */
export type Place = Pick<Principal, 'organisationId' | 'workspaceId' | 'workspaceSlug' | 'defaults' | 'limits'>;
export type FindPlace = (id: WorkspaceId) => Place | null | Promise<Place | null>;

export interface PlacesDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly now: () => number;
}

export function createFindPlace({ store, changes, now }: PlacesDeps): FindPlace {
  const cache = new StaleCache<Place>({ capacity: 1_000, freshMs: 10_000, staleMs: 3_600_000, now });
  // Workspaces are changed with keys.
  changes.subscribe('keys', () => cache.clear());
  const load = async (id: WorkspaceId): Promise<Place | null> => {
    const row = await store.db.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst();
    return row
      ? {
          organisationId: row.organisation_id as OrganisationId,
          workspaceId: id,
          workspaceSlug: row.slug,
          defaults: JSON.parse(row.defaults),
          limits: limitsOf(workspaceOwner(row), row, row.created_at),
        }
      : null;
  };
  return (id) => cache.peek(id) ?? cache.get(id, () => load(id));
}
