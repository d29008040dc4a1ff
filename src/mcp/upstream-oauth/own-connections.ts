import { fail } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Store } from '../../storage/store.ts';
import { everyServerOpenTo, type OpenServer, serversOf } from '../caller/access.ts';
import { endpointOf } from '../server/shown.ts';
import type { AccountHolder, Vault } from './vault.ts';

export interface OwnConnectionsDeps {
  readonly store: Store;
  readonly vault: Pick<Vault, 'ofUser'>;
  readonly disconnect: (holder: AccountHolder, who: Principal) => Promise<boolean>;
  readonly publicUrl: () => string;
}

/** A server as one of its users sees it. */
export interface OwnConnection {
  readonly id: string;
  readonly object: 'own-connection';
  readonly server: string;
  readonly name: string;
  readonly description: string | null;
  readonly workspace: OpenServer['workspace'];
  readonly endpoint: string;
  /** False: it was closed to the user after they had connected. */
  readonly may_call: boolean;
  readonly needs_account: boolean;
  readonly is_connected: boolean;
  /** Where the user connects; null: no account is needed. */
  readonly connect_url: string | null;
  readonly issuer: string | null;
  readonly scope: string | null;
  readonly connected_at: string | null;
}

/** All servers that a user may call, and the accounts they have connected there. */
export function createOwnConnections({ store, vault, disconnect, publicUrl }: OwnConnectionsDeps) {
  const user = (who: Principal): string => (who.session && who.userId) || fail('session_required');

  const of = async (userId: string): Promise<readonly OwnConnection[]> => {
    const open = await everyServerOpenTo(store.db, userId);
    const accounts = await vault.ofUser(userId);
    const callable = new Set(open.map(({ id }) => id));
    // Accounts at servers that were closed to the user since are theirs to end as well.
    const closed = await serversOf(
      store.db,
      [...accounts.keys()].filter((id) => !callable.has(id)),
    );
    return [...open, ...closed].map((server) => {
      const { id, slug, needsAccount } = server;
      const account = (needsAccount && accounts.get(id)) || null;
      return {
        id,
        object: 'own-connection',
        server: slug,
        name: server.name,
        description: server.description,
        workspace: server.workspace,
        endpoint: endpointOf(publicUrl(), slug),
        may_call: callable.has(id),
        needs_account: needsAccount,
        is_connected: account !== null,
        connect_url: needsAccount ? `${publicUrl()}/connect/${slug}` : null,
        issuer: account?.issuer ?? null,
        scope: account?.scope ?? null,
        connected_at: account && new Date(account.connectedAt).toISOString(),
      };
    });
  };

  return {
    of,
    list: (who: Principal) => of(user(who)),

    /** Answers the id of the server. */
    async end(who: Principal, idOrSlug: string): Promise<string> {
      const missing = () => fail('own_connection_not_found', idOrSlug.slice(0, 80));
      // To a key there are none.
      const userId = (who.session && who.userId) || missing();
      const server = await store.db
        .selectFrom('mcp_servers')
        .innerJoin('mcp_user_tokens', 'mcp_user_tokens.server_id', 'mcp_servers.id')
        .select('mcp_servers.id')
        .where('mcp_user_tokens.user_id', '=', userId)
        .where((where) => where.or([where('slug', '=', idOrSlug), where('mcp_servers.id', '=', idOrSlug)]))
        .executeTakeFirst();
      const isEnded = server && (await disconnect({ serverId: server.id, userId }, who));
      return isEnded ? server.id : missing();
    },
  };
}

export type OwnConnections = ReturnType<typeof createOwnConnections>;
