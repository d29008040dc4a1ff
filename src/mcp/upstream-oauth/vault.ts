import { type Page, type PageQuery, page } from '../../core/paging.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { Db, Store } from '../../storage/store.ts';
import { databaseClock } from '../../work/time.ts';
import type { Grant } from './grant.ts';

/** Whose tokens, for which server. */
export interface AccountHolder {
  readonly serverId: string;
  readonly userId: string;
}

/** A grant as it was read; `sealed` tells one reading from the next. */
export interface StoredGrant {
  readonly grant: Grant;
  readonly sealed: string;
  readonly connectedAt: number;
}

/** A grant as administrators see it. */
export interface Connection {
  readonly user_id: string;
  readonly email: string;
  readonly issuer: string | null;
  readonly scope: string | null;
  /** Whether the gateway can renew it without the user. */
  readonly renews_itself: boolean;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
}

/** A grant as its user sees it. */
export interface OwnAccount extends Pick<Grant, 'issuer' | 'scope'> {
  readonly connectedAt: number;
}

export interface VaultDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly leaseMs?: number;
}

/** Longer than asking for tokens may take, so that no two nodes ask with the same refresh token at the same time. */
const LEASE_MS = 20_000;

/** Users' tokens, sealed for their user and server. The node that renews one holds its lease meanwhile. */
export function createVault({ store, sealer, now, leaseMs = LEASE_MS }: VaultDeps) {
  const clock = databaseClock(store.engine);
  const contextOf = ({ serverId, userId }: AccountHolder) => `${serverId} ${userId}`;
  const seal = (holder: AccountHolder, grant: Grant) =>
    sealer.seal('mcp-user-token', contextOf(holder), JSON.stringify(grant));
  const open = (holder: AccountHolder, sealed: string): Grant =>
    JSON.parse(sealer.open('mcp-user-token', contextOf(holder), sealed));

  return {
    async find(holder: AccountHolder): Promise<StoredGrant | null> {
      const row = await store.db
        .selectFrom('mcp_user_tokens')
        .select(['sealed', 'created_at'])
        .where('server_id', '=', holder.serverId)
        .where('user_id', '=', holder.userId)
        .executeTakeFirst();
      return row ? { grant: open(holder, row.sealed), sealed: row.sealed, connectedAt: Number(row.created_at) } : null;
    },

    /** A user has connected: what was there before is no longer of use, nor is a renewal of it. */
    async put(db: Db, holder: AccountHolder, grant: Grant): Promise<void> {
      const at = now();
      const row = { sealed: seal(holder, grant), lease: null, lease_until: null, updated_at: at };
      await db
        .insertInto('mcp_user_tokens')
        .values({ server_id: holder.serverId, user_id: holder.userId, created_at: at, ...row })
        .onConflict((conflict) => conflict.columns(['server_id', 'user_id']).doUpdateSet({ ...row, created_at: at }))
        .execute();
    },

    /** Whether the caller alone may renew what it has read. A lease that its holder left behind ends by itself. */
    async claim(holder: AccountHolder, { sealed }: StoredGrant, lease: string): Promise<boolean> {
      const { numUpdatedRows } = await store.db
        .updateTable('mcp_user_tokens')
        .set((set) => ({ lease, lease_until: set(clock(), '+', leaseMs) }))
        .where('server_id', '=', holder.serverId)
        .where('user_id', '=', holder.userId)
        .where('sealed', '=', sealed)
        .where((where) => where.or([where('lease', 'is', null), where('lease_until', '<=', clock())]))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    /** Null: the lease is lost, or the user has disconnected meanwhile. */
    async replace(holder: AccountHolder, lease: string, grant: Grant): Promise<string | null> {
      const sealed = seal(holder, grant);
      const { numUpdatedRows } = await ofLease(store.db.updateTable('mcp_user_tokens'), holder, lease)
        .set({ sealed, lease: null, lease_until: null, updated_at: now() })
        .executeTakeFirst();
      return numUpdatedRows > 0n ? sealed : null;
    },

    async release(holder: AccountHolder, lease: string): Promise<void> {
      await ofLease(store.db.updateTable('mcp_user_tokens'), holder, lease)
        .set({ lease: null, lease_until: null })
        .execute();
    },

    /** Only what the lease is for: a user who has connected anew meanwhile stays connected. */
    async drop(holder: AccountHolder, lease: string): Promise<void> {
      await ofLease(store.db.deleteFrom('mcp_user_tokens'), holder, lease).execute();
    },

    /** Those who are connected to a server, without their tokens. */
    async list(serverId: string, query: PageQuery): Promise<Page<Connection>> {
      const { total } = await store.db
        .selectFrom('mcp_user_tokens')
        .select((select) => select.fn.countAll<number>().as('total'))
        .where('server_id', '=', serverId)
        .executeTakeFirstOrThrow();
      const rows = await store.db
        .selectFrom('mcp_user_tokens')
        .innerJoin('users', 'users.id', 'mcp_user_tokens.user_id')
        .select(['user_id', 'email', 'sealed', 'mcp_user_tokens.created_at', 'mcp_user_tokens.updated_at'])
        .where('server_id', '=', serverId)
        .orderBy('user_id')
        .limit(query.page_size)
        .offset(query.current_page * query.page_size)
        .execute();
      const shown = rows.map((row) => {
        const { scope, issuer, expiresAt, refreshToken } = open({ serverId, userId: row.user_id }, row.sealed);
        return {
          user_id: row.user_id,
          email: row.email,
          issuer,
          scope,
          renews_itself: refreshToken !== null,
          expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
          created_at: new Date(Number(row.created_at)).toISOString(),
          last_updated_at: new Date(Number(row.updated_at)).toISOString(),
        };
      });
      return page(shown, Number(total), query);
    },

    /** The accounts of a user, by server, without their tokens. */
    async ofUser(userId: string): Promise<ReadonlyMap<string, OwnAccount>> {
      const rows = await store.db
        .selectFrom('mcp_user_tokens')
        .select(['server_id', 'sealed', 'created_at'])
        .where('user_id', '=', userId)
        .execute();
      return new Map(
        rows.map(({ server_id, sealed, created_at }) => {
          const { issuer, scope } = open({ serverId: server_id, userId }, sealed);
          return [server_id, { issuer, scope, connectedAt: Number(created_at) }];
        }),
      );
    },

    /** The user leaves. Answers what was there. */
    async remove(db: Db, holder: AccountHolder): Promise<Grant | null> {
      const row = await db
        .deleteFrom('mcp_user_tokens')
        .where('server_id', '=', holder.serverId)
        .where('user_id', '=', holder.userId)
        .returning('sealed')
        .executeTakeFirst();
      return row ? open(holder, row.sealed) : null;
    },
  };
}

export type Vault = ReturnType<typeof createVault>;

const ofLease = <
  Query extends { where(column: 'server_id' | 'user_id' | 'lease', operator: '=', value: string): Query },
>(
  query: Query,
  { serverId, userId }: AccountHolder,
  lease: string,
): Query => query.where('server_id', '=', serverId).where('user_id', '=', userId).where('lease', '=', lease);
