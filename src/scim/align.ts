import { ROLES, type Role, WORKSPACE_ROLES, type WorkspaceRole } from '../auth/roles.ts';
import type { WorkspaceMemberRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';

const AT_ONCE = 500;
export const OF_GROUPS = 'scim';

/** Which of two roles may do more. */
const higher = <Name extends string>(order: readonly Name[], a: Name | undefined, b: Name): Name =>
  a !== undefined && order.indexOf(a) <= order.indexOf(b) ? a : b;

/**
 * Gives users what their groups mean, and takes away what groups gave before and mean no longer. What an administrator has
 * given stays as it is, and owners stay owners.
 */
export async function alignUsers(db: Db, userIds: readonly string[], now: number): Promise<void> {
  for (let from = 0; from < userIds.length; from += AT_ONCE) {
    // The embedded store answers within the turn, and other calls would wait for all parts together.
    if (from > 0) await new Promise(setImmediate);
    await align(db, userIds.slice(from, from + AT_ONCE), now);
  }
}

async function align(db: Db, userIds: readonly string[], now: number): Promise<void> {
  const meant = await db
    .selectFrom('scim_group_members')
    .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
    .innerJoin('scim_mappings', (join) =>
      join
        .onRef('scim_mappings.organisation_id', '=', 'scim_groups.organisation_id')
        .onRef('scim_mappings.name_key', '=', 'scim_groups.name_key'),
    )
    .where('scim_group_members.user_id', 'in', userIds)
    .select(['user_id', 'workspace_id', 'role'])
    .execute();
  const roles = new Map<string, Role>();
  const places = new Map<string, WorkspaceRole>();
  for (const { user_id, workspace_id, role } of meant) {
    if (workspace_id === null) roles.set(user_id, higher(ROLES, roles.get(user_id), role as Role));
    else {
      const place = `${user_id} ${workspace_id}`;
      places.set(place, higher(WORKSPACE_ROLES, places.get(place), role as WorkspaceRole));
    }
  }
  await alignRoles(db, userIds, roles, now);
  await alignMemberships(db, userIds, places, now);
}

async function alignRoles(db: Db, userIds: readonly string[], roles: ReadonlyMap<string, Role>, now: number) {
  const users = await db.selectFrom('users').select(['id', 'role', 'role_origin']).where('id', 'in', userIds).execute();
  const changed = users.filter(({ id, role, role_origin }) => {
    // A plain member may be raised; whom an administrator made something else, or changed, is left alone.
    const isOpen = role_origin === OF_GROUPS || (role === 'member' && !role_origin);
    return role !== 'owner' && isOpen && role !== (roles.get(id) ?? 'member');
  });
  for (const [role, alike] of Map.groupBy(changed, ({ id }) => roles.get(id) ?? 'member')) {
    const ids = alike.map(({ id }) => id);
    const change = { role, role_origin: role === 'member' ? null : OF_GROUPS, updated_at: now };
    await db.updateTable('users').set(change).where('id', 'in', ids).execute();
  }
}

async function alignMemberships(
  db: Db,
  userIds: readonly string[],
  places: ReadonlyMap<string, WorkspaceRole>,
  now: number,
) {
  const rows = await db.selectFrom('workspace_members').selectAll().where('user_id', 'in', userIds).execute();
  const here = new Set(rows.map(({ user_id, workspace_id }) => `${user_id} ${workspace_id}`));
  const wantedOf = ({ user_id, workspace_id }: WorkspaceMemberRow) => places.get(`${user_id} ${workspace_id}`);
  const changed = rows.filter((row) => row.origin === OF_GROUPS && wantedOf(row) !== row.role);
  // Many users change alike, and a statement for each of them would hold up every other call.
  for (const alike of Map.groupBy(changed, (row) => `${row.workspace_id} ${wantedOf(row)}`).values()) {
    const role = wantedOf(alike[0]!);
    const own = { workspace_id: alike[0]!.workspace_id, userIds: alike.map(({ user_id }) => user_id) };
    if (role === undefined) await rowsOf(db.deleteFrom('workspace_members'), own).execute();
    else await rowsOf(db.updateTable('workspace_members').set({ role, updated_at: now }), own).execute();
  }
  const added: WorkspaceMemberRow[] = [...places]
    .filter(([place]) => !here.has(place))
    .map(([place, role]) => {
      const [user_id = '', workspace_id = ''] = place.split(' ');
      return { workspace_id, user_id, role, origin: OF_GROUPS, created_at: now, updated_at: now };
    });
  for (let from = 0; from < added.length; from += AT_ONCE)
    await db
      .insertInto('workspace_members')
      .values(added.slice(from, from + AT_ONCE))
      .onConflict((conflict) => conflict.columns(['workspace_id', 'user_id']).doNothing())
      .execute();
}

const rowsOf = <
  Query extends {
    where(column: 'workspace_id', is: '=', value: string): Query;
    where(column: 'user_id', is: 'in', value: readonly string[]): Query;
  },
>(
  query: Query,
  { workspace_id, userIds }: { workspace_id: string; userIds: readonly string[] },
): Query => query.where('workspace_id', '=', workspace_id).where('user_id', 'in', userIds);
