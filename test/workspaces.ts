import type { Store } from '../src/storage/store.ts';

/** The organisation `org` with workspaces of these ids, for tests below the front door. */
export async function givenWorkspaces({ db }: Store, ids: readonly string[]) {
  await db.insertInto('organisations').values({ id: 'org', name: 'o', created_at: 0 }).execute();
  const rest = { organisation_id: 'org', description: null, defaults: '{}', rate_limits: null, usage_limits: null };
  const rows = ids.map((id) => ({ id, slug: id, name: id, ...rest, created_at: 0, updated_at: 0 }));
  await db.insertInto('workspaces').values(rows).execute();
}
