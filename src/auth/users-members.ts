import { fail } from '../core/errors.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Changes } from '../storage/changes.ts';
import type { UserRow, WorkspaceMemberRow, WorkspaceRow } from '../storage/schema.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';
import { findWorkspace } from '../storage/workspace-lookup.ts';
import { isWorkspaceRaise, type Role, type WorkspaceRole } from './roles.ts';

/** A user as a member of a workspace. */
export interface Member {
  readonly id: string;
  readonly object: 'workspace-user';
  readonly email: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly org_role: Role;
  readonly role: WorkspaceRole;
  readonly workspace_id: string;
  readonly created_at: string;
  readonly last_updated_at: string;
}

type MemberRow = Pick<UserRow, 'email' | 'first_name' | 'last_name'> & WorkspaceMemberRow & { org_role: Role };

const shown = (row: MemberRow): Member => ({
  id: row.user_id,
  object: 'workspace-user',
  email: row.email,
  first_name: row.first_name,
  last_name: row.last_name,
  org_role: row.org_role,
  role: row.role,
  workspace_id: row.workspace_id,
  created_at: new Date(Number(row.created_at)).toISOString(),
  last_updated_at: new Date(Number(row.updated_at)).toISOString(),
});

const members = (db: Db, workspaceId: string) =>
  db
    .selectFrom('workspace_members')
    .innerJoin('users', 'users.id', 'workspace_members.user_id')
    .where('workspace_id', '=', workspaceId)
    .selectAll('workspace_members')
    .select(['users.email', 'users.first_name', 'users.last_name', 'users.role as org_role']);

async function find(db: Db, { id, slug }: WorkspaceRow, userId: string): Promise<MemberRow> {
  const row = await members(db, id).where('user_id', '=', userId).executeTakeFirst();
  return row ?? fail('member_not_found', userId.slice(0, 80), slug);
}

/** Who belongs to a workspace, and as what. */
export function createMembers({
  store,
  changes,
  now,
}: {
  store: Store;
  changes: Pick<Changes, 'transaction'>;
  now: () => number;
}) {
  return {
    async add(who: Principal, workspace: string, input: { user_id: string; role: WorkspaceRole }): Promise<Member> {
      return changes.transaction(
        'users',
        async (db) => {
          const place = await findWorkspace(db, who, workspace);
          const user = await db
            .selectFrom('users')
            .select('id')
            .where('organisation_id', '=', who.organisationId)
            .where('id', '=', input.user_id)
            .executeTakeFirst();
          if (!user) fail('invalid_request', 'user_id', `no user ${input.user_id} in this organisation`);
          if (who.userId === user.id && !reachesOrganisation(who)) fail('own_role');
          const at = now();
          const row = { workspace_id: place.id, user_id: user.id, role: input.role, created_at: at, updated_at: at };
          await db
            .insertInto('workspace_members')
            .values(row)
            .execute()
            .catch((error) =>
              isUniqueViolation(error) ? fail('already_a_member', user.id, place.slug) : Promise.reject(error),
            );
          return shown(await find(db, place, user.id));
        },
        who,
      );
    },

    async list(who: Principal, workspace: string, query: PageQuery & { role?: WorkspaceRole }): Promise<Page<Member>> {
      const { id } = await findWorkspace(store.db, who, workspace);
      const matching = () => {
        const all = members(store.db, id);
        return query.role === undefined ? all : all.where('workspace_members.role', '=', query.role);
      };
      const rows = await matching()
        .orderBy('user_id')
        .limit(query.page_size)
        .offset(query.current_page * query.page_size)
        .execute();
      const { total } = await matching()
        .clearSelect()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return page(rows.map(shown), Number(total), query);
    },

    async read(who: Principal, workspace: string, userId: string): Promise<Member> {
      return shown(await find(store.db, await findWorkspace(store.db, who, workspace), userId));
    },

    async update(who: Principal, workspace: string, userId: string, role: WorkspaceRole): Promise<Member> {
      return changes.transaction(
        'users',
        async (db) => {
          const place = await findWorkspace(db, who, workspace);
          const old = await find(db, place, userId);
          if (who.userId === userId && isWorkspaceRaise(old.role, role)) fail('own_role');
          const at = now();
          await db
            .updateTable('workspace_members')
            .set({ role, origin: null, updated_at: at })
            .where('workspace_id', '=', place.id)
            .where('user_id', '=', userId)
            .execute();
          return shown({ ...old, role, updated_at: at });
        },
        who,
      );
    },

    async remove(who: Principal, workspace: string, userId: string): Promise<void> {
      await changes.transaction(
        'users',
        async (db) => {
          const place = await findWorkspace(db, who, workspace);
          await find(db, place, userId);
          await db
            .deleteFrom('workspace_members')
            .where('workspace_id', '=', place.id)
            .where('user_id', '=', userId)
            .execute();
        },
        who,
      );
    },
  };
}

export type Members = ReturnType<typeof createMembers>;
