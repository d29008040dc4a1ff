import type { Role, WorkspaceRole } from '../auth/roles.ts';
import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { ScimMappingRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { alignUsers } from './align.ts';
import { nameKeyOf } from './groups.ts';
import { changing, type ScimDeps } from './users.ts';

/** What the members of a group get. Owners are made by owners alone. */
export type MappingInput =
  | { readonly group: string; readonly workspace: string; readonly role: WorkspaceRole }
  | { readonly group: string; readonly workspace?: null; readonly role: Exclude<Role, 'owner' | 'member'> };

const MOST = 1_000;

export function createScimMappings(deps: ScimDeps) {
  const { store, now } = deps;
  const change = changing(deps);

  const rows = (db: Db, { organisationId }: Principal) =>
    db
      .selectFrom('scim_mappings')
      .leftJoin('workspaces', 'workspaces.id', 'scim_mappings.workspace_id')
      .where('scim_mappings.organisation_id', '=', organisationId)
      .selectAll('scim_mappings')
      .select('workspaces.slug');

  const shown = (row: ScimMappingRow & { slug: string | null }) => ({
    id: row.id,
    object: 'scim-mapping' as const,
    group: row.group_name,
    workspace_id: row.workspace_id,
    workspace_slug: row.slug,
    role: row.role,
    created_at: new Date(Number(row.created_at)).toISOString(),
  });

  /** Every member of the group of that name gets what it means now. */
  const alignGroup = async (db: Db, { organisation_id, name_key }: ScimMappingRow) => {
    const members = await db
      .selectFrom('scim_group_members')
      .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
      .where('organisation_id', '=', organisation_id)
      .where('name_key', '=', name_key)
      .select('user_id')
      .execute();
    await alignUsers(
      db,
      members.map(({ user_id }) => user_id),
      now(),
    );
  };

  return {
    async list(who: Principal) {
      const found = await rows(store.db, who).orderBy('scim_mappings.id').execute();
      return { object: 'list' as const, total: found.length, data: found.map(shown) };
    },

    /** Ids of the directory's groups by their names, as mappings compare them. */
    async groupIds({ organisationId }: Principal): Promise<ReadonlyMap<string, string>> {
      const groups = await store.db
        .selectFrom('scim_groups')
        .select(['id', 'name_key'])
        .where('organisation_id', '=', organisationId)
        .execute();
      return new Map(groups.map(({ id, name_key }) => [name_key, id]));
    },

    /** The name of a group that the directory has sent. */
    async groupNamed({ organisationId }: Principal, id: string): Promise<string> {
      const row = await store.db
        .selectFrom('scim_groups')
        .select('display_name')
        .where('organisation_id', '=', organisationId)
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.display_name ?? fail('group_not_found', id.slice(0, 80));
    },

    async create(who: Principal, { group, workspace, role }: MappingInput) {
      return change(who, async (db) => {
        const place = workspace ? await placeOf(db, who, workspace) : null;
        const row: ScimMappingRow = {
          id: newId(),
          organisation_id: who.organisationId,
          group_name: group.trim(),
          name_key: nameKeyOf(group),
          workspace_id: place?.id ?? null,
          role,
          created_at: now(),
        };
        const others = await rows(db, who).execute();
        if (others.some(({ name_key, workspace_id }) => name_key === row.name_key && workspace_id === row.workspace_id))
          fail('scim_mapping_exists', row.group_name, place?.slug ?? 'the organisation');
        if (others.length >= MOST)
          fail('invalid_request', 'group', `there are at most ${MOST} mappings; delete one first`);
        await db.insertInto('scim_mappings').values(row).execute();
        await alignGroup(db, row);
        return shown({ ...row, slug: place?.slug ?? null });
      });
    },

    async delete(who: Principal, id: string): Promise<void> {
      await change(who, async (db) => {
        const row =
          (await rows(db, who).where('scim_mappings.id', '=', id).executeTakeFirst()) ??
          fail('scim_mapping_not_found', id.slice(0, 80));
        await db.deleteFrom('scim_mappings').where('id', '=', id).execute();
        await alignGroup(db, row);
      });
    },
  };
}

export type ScimMappings = ReturnType<typeof createScimMappings>;

const placeOf = async (db: Db, { organisationId }: Principal, name: string) =>
  (await db
    .selectFrom('workspaces')
    .select(['id', 'slug'])
    .where('organisation_id', '=', organisationId)
    .where((where) => where.or([where('id', '=', name), where('slug', '=', name)]))
    .executeTakeFirst()) ?? fail('invalid_request', 'workspace', `there is no workspace ${name.slice(0, 80)}`);
