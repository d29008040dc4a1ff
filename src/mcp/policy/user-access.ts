import { fail } from '../../core/errors.ts';
import { type PageQuery, page } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { McpServer } from '../server/server.ts';

export interface UserAccessDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly find: (who: Principal, idOrSlug: string) => Promise<McpServer>;
}

export interface UserAccessChange {
  readonly default_user_access?: 'allow' | 'deny';
  /** Null: as the default says. */
  readonly users?: readonly { readonly user_id: string; readonly enabled: boolean | null }[];
}

/** Which users may use a server: those of its workspace, as the default says, and those of whom something else is said. */
export function createUserAccess({ store, changes, find }: UserAccessDeps) {
  const read = async (who: Principal, idOrSlug: string, query: PageQuery) => {
    const { id, workspaceId } = await find(who, idOrSlug);
    const server = await store.db
      .selectFrom('mcp_servers')
      .select('default_user_access')
      .where('id', '=', id)
      .executeTakeFirst();
    // A client may delete the server after it was found.
    const { default_user_access } = server ?? fail('mcp_server_not_found', idOrSlug);
    const members = () =>
      store.db
        .selectFrom('workspace_members')
        .leftJoin('mcp_user_access', (join) =>
          join
            .onRef('mcp_user_access.user_id', '=', 'workspace_members.user_id')
            .on('mcp_user_access.server_id', '=', id),
        )
        .where('workspace_members.workspace_id', '=', workspaceId);
    const { total } = await members()
      .select((select) => select.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await members()
      .select(['workspace_members.user_id', 'mcp_user_access.enabled'])
      .orderBy('workspace_members.user_id')
      .limit(query.page_size)
      .offset(query.current_page * query.page_size)
      .execute();
    const data = rows.map(({ user_id, enabled }) => ({
      user_id,
      enabled: enabled === null ? default_user_access === 'allow' : Number(enabled) === 1,
      has_override: enabled !== null,
    }));
    return { ...page(data, Number(total), query), default_user_access };
  };

  return {
    read,
    async change(who: Principal, idOrSlug: string, change: UserAccessChange) {
      const { id, organisationId } = await find(who, idOrSlug);
      await changes.transaction(
        'mcp-servers',
        async (db) => {
          if (change.default_user_access !== undefined)
            await db
              .updateTable('mcp_servers')
              .set({ default_user_access: change.default_user_access })
              .where('id', '=', id)
              .execute();
          for (const [index, { user_id, enabled }] of (change.users ?? []).entries()) {
            await checkUser(db, organisationId, user_id, `users[${index}].user_id`);
            await keep(db, id, user_id, enabled);
          }
        },
        who,
      );
      return read(who, idOrSlug, { current_page: 0, page_size: 100 });
    },
  };
}

export type UserAccess = ReturnType<typeof createUserAccess>;

async function checkUser(db: Db, organisationId: string, userId: string, where: string) {
  const found = await db
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', userId)
    .executeTakeFirst();
  if (!found) fail('invalid_request', where, `there is no user ${userId}`);
}

async function keep(db: Db, serverId: string, userId: string, enabled: boolean | null) {
  if (enabled === null) {
    await db.deleteFrom('mcp_user_access').where('server_id', '=', serverId).where('user_id', '=', userId).execute();
    return;
  }
  const row = { server_id: serverId, user_id: userId, enabled: enabled ? 1 : 0 };
  await db
    .insertInto('mcp_user_access')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'user_id']).doUpdateSet({ enabled: row.enabled }))
    .execute();
}
