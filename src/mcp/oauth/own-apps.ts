import { fail } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { uuidFrom } from '../../crypto/stable-id.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Db, Store } from '../../storage/store.ts';

export interface OwnAppsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly now: () => number;
}

/** What a user has allowed one application at one address. */
export interface OwnApp {
  readonly id: string;
  readonly object: 'own-app';
  readonly client_id: string;
  readonly client_name: string;
  /** Where its description comes from; null: it registered itself, or an administrator did. */
  readonly client_host: string | null;
  readonly resource: string;
  /** Null: all servers of the workspace. */
  readonly server: string | null;
  readonly workspace: { readonly id: string; readonly slug: string; readonly name: string };
  /** How often it holds tokens: once for each time it was let in. */
  readonly authorizations: number;
  /** Whether it is let in again without a question. */
  readonly is_remembered: boolean;
  readonly created_at: string;
  readonly last_token_at: string | null;
  readonly expires_at: string | null;
}

const MOST_ROWS = 2_000;

const idOf = (userId: string, { client_id, resource }: { client_id: string; resource: string }): string =>
  uuidFrom(`${userId} ${client_id} ${resource}`);

/** The applications that a user lets act for them: to be seen, and to be sent away. */
export function createOwnApps({ store, changes, now }: OwnAppsDeps) {
  /** These are about the user who is signed in, not about keys. */
  const user = (who: Principal): string => (who.session && who.userId) || fail('session_required');

  const read = async (db: Db, userId: string) => {
    const grants = await db
      .selectFrom('mcp_grants as given')
      .innerJoin('workspaces', 'workspaces.id', 'given.workspace_id')
      .leftJoin('mcp_servers', 'mcp_servers.id', 'given.server_id')
      .select(['given.client_id', 'given.client_name', 'given.resource', 'given.created_at', 'given.rotated_at'])
      .select(['given.expires_at', 'given.generation', 'mcp_servers.slug as server'])
      .select([
        'workspaces.id as workspace_id',
        'workspaces.slug as workspace_slug',
        'workspaces.name as workspace_name',
      ])
      .where('given.user_id', '=', userId)
      .where('given.expires_at', '>', now())
      .orderBy('given.created_at', 'desc')
      .limit(MOST_ROWS)
      .execute();
    const consents = await db
      .selectFrom('mcp_consents as given')
      .innerJoin('workspaces', 'workspaces.id', 'given.workspace_id')
      .leftJoin('mcp_servers', 'mcp_servers.id', 'given.server_id')
      .select(['given.client_id', 'given.resource', 'given.created_at', 'mcp_servers.slug as server'])
      .select([
        'workspaces.id as workspace_id',
        'workspaces.slug as workspace_slug',
        'workspaces.name as workspace_name',
      ])
      .where('given.user_id', '=', userId)
      .orderBy('given.created_at', 'desc')
      .limit(MOST_ROWS)
      .execute();
    return { grants, consents };
  };

  return {
    async list(who: Principal): Promise<readonly OwnApp[]> {
      const userId = user(who);
      const { grants, consents } = await read(store.db, userId);
      const apps = new Map<string, OwnApp>();
      for (const row of grants) {
        const shown = shownApp(userId, row, row.client_name);
        const known = apps.get(shown.id) ?? shown;
        apps.set(shown.id, {
          ...known,
          authorizations: known.authorizations + 1,
          created_at: shown.created_at,
          last_token_at: later(known.last_token_at, row.generation > 0 ? row.rotated_at : null),
          expires_at: later(known.expires_at, row.expires_at),
        });
      }
      for (const row of consents) {
        const shown = shownApp(userId, row, row.client_id);
        apps.set(shown.id, { ...(apps.get(shown.id) ?? shown), is_remembered: true });
      }
      return [...apps.values()];
    },

    /** Its tokens end at once, on every node, and the next time the user is asked. */
    async withdraw(who: Principal, id: string): Promise<void> {
      // To a key there are none.
      const userId = (who.session && who.userId) || fail('own_app_not_found', id.slice(0, 80));
      const { grants, consents } = await read(store.db, userId);
      const app = [...grants, ...consents].find((row) => idOf(userId, row) === id);
      if (!app) return fail('own_app_not_found', id.slice(0, 80));
      await changes.transaction(
        'mcp-tokens',
        async (db) => {
          for (const table of ['mcp_consents', 'mcp_grants'] as const)
            await db
              .deleteFrom(table)
              .where('user_id', '=', userId)
              .where('client_id', '=', app.client_id)
              .where('resource', '=', app.resource)
              .execute();
        },
        who,
      );
    },
  };
}

export type OwnApps = ReturnType<typeof createOwnApps>;

interface Given {
  readonly client_id: string;
  readonly resource: string;
  readonly server: string | null;
  readonly workspace_id: string;
  readonly workspace_slug: string;
  readonly workspace_name: string;
  readonly created_at: number;
}

const shownApp = (userId: string, row: Given, name: string): OwnApp => ({
  id: idOf(userId, row),
  object: 'own-app',
  client_id: row.client_id,
  client_name: name,
  client_host: URL.parse(row.client_id)?.host || null,
  resource: row.resource,
  server: row.server,
  workspace: { id: row.workspace_id, slug: row.workspace_slug, name: row.workspace_name },
  authorizations: 0,
  is_remembered: false,
  created_at: iso(row.created_at),
  last_token_at: null,
  expires_at: null,
});

const iso = (at: number): string => new Date(Number(at)).toISOString();
const later = (known: string | null, at: number | null): string | null => {
  if (at === null) return known;
  return known !== null && known > iso(at) ? known : iso(at);
};
