import { randomBytes } from 'node:crypto';
import { fail } from '../../core/errors.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpAppRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { type Client, GRANT_TYPES } from './client.ts';
import { redirectFault } from './redirect-uris.ts';
import { isSame } from './secrets.ts';

export interface AppsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly now: () => number;
}

export interface AppInput {
  readonly name: string;
  readonly redirect_uris: readonly string[];
  readonly is_confidential?: boolean;
  readonly is_renewable?: boolean;
}
export type AppChange = Partial<Omit<AppInput, 'is_confidential'>>;

const FORM = /^mcp-app-[\w-]{22}$/;
export const isAppId = (id: string): boolean => FORM.test(id);

const newSecret = (): string => `gws_${randomBytes(32).toString('base64url')}`;

/** Applications that an administrator has registered, some with a secret of theirs, which is kept as a hash. */
export function createApps({ store, changes, now }: AppsDeps) {
  const load = (db: Db, id: string): Promise<McpAppRow | undefined> =>
    db.selectFrom('mcp_apps').selectAll().where('id', '=', id).executeTakeFirst();
  const open = async (db: Db, who: Principal, id: string): Promise<McpAppRow> => {
    const row = await load(db, id);
    return row?.organisation_id === who.organisationId ? row : fail('mcp_app_not_found', id.slice(0, 80));
  };

  return {
    async find(id: string): Promise<Client | null> {
      const row = isAppId(id) ? await load(store.db, id) : undefined;
      return row
        ? {
            id,
            name: row.name,
            redirectUris: JSON.parse(row.redirect_uris),
            isRenewable: Number(row.is_renewable) === 1,
            origin: 'administrator',
            organisationId: row.organisation_id,
          }
        : null;
    },

    /** What is wrong with what an application shows of itself; null: it is the application. */
    async fault(id: string, secret: string | null): Promise<string | null> {
      const row = await load(store.db, id);
      if (!row) return 'its client_id is unknown here';
      if (row.secret_hash === null) return secret === null ? null : 'it has no secret, and sent one';
      if (secret === null) return 'it has a secret, and sent none';
      const given = sha256(secret);
      if (isSame(given, row.secret_hash)) return null;
      const isOldOne =
        row.old_secret_hash !== null && isSame(given, row.old_secret_hash) && Number(row.old_secret_until) > now();
      return isOldOne ? null : 'its secret is wrong';
    },

    async create(who: Principal, { name, redirect_uris, is_confidential = true, is_renewable = true }: AppInput) {
      checkAddresses(redirect_uris);
      const secret = is_confidential ? newSecret() : null;
      const at = now();
      const row: McpAppRow = {
        id: `mcp-app-${randomBytes(16).toString('base64url')}`,
        organisation_id: who.organisationId,
        name,
        redirect_uris: JSON.stringify(redirect_uris),
        is_renewable: is_renewable ? 1 : 0,
        secret_hash: secret && sha256(secret),
        old_secret_hash: null,
        old_secret_until: null,
        secret_at: secret === null ? null : at,
        created_at: at,
        updated_at: at,
        used_at: null,
      };
      await store.transaction((db) => db.insertInto('mcp_apps').values(row).execute(), who);
      return { ...shown(row), ...(secret !== null && { client_secret: secret }) };
    },

    async list(who: Principal, query: PageQuery): Promise<Page<ReturnType<typeof shown>>> {
      const all = store.db.selectFrom('mcp_apps').where('organisation_id', '=', who.organisationId);
      const { total } = await all
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const offset = query.current_page * query.page_size;
      const rows = await all
        .selectAll()
        .orderBy('created_at')
        .orderBy('id')
        .limit(query.page_size)
        .offset(offset)
        .execute();
      return page(rows.map(shown), Number(total), query);
    },

    read: async (who: Principal, id: string) => shown(await open(store.db, who, id)),

    async update(who: Principal, id: string, { name, redirect_uris, is_renewable }: AppChange) {
      if (redirect_uris) checkAddresses(redirect_uris);
      return store.transaction(async (db) => {
        const row = await open(db, who, id);
        const next: McpAppRow = {
          ...row,
          name: name ?? row.name,
          redirect_uris: redirect_uris ? JSON.stringify(redirect_uris) : row.redirect_uris,
          is_renewable: is_renewable === undefined ? row.is_renewable : is_renewable ? 1 : 0,
          updated_at: now(),
        };
        const { name: named, redirect_uris: addresses, is_renewable: renewable, updated_at } = next;
        const change = { name: named, redirect_uris: addresses, is_renewable: renewable, updated_at };
        await db.updateTable('mcp_apps').set(change).where('id', '=', id).execute();
        return shown(next);
      }, who);
    },

    /** The secret before it holds for a while, so that the application can be told the new one. */
    async rotate(who: Principal, id: string, { transition_seconds = 0 }: { transition_seconds?: number }) {
      const secret = newSecret();
      const row = await store.transaction(async (db) => {
        const current = await open(db, who, id);
        if (current.secret_hash === null) return fail('mcp_app_without_secret', id);
        const at = now();
        const change = {
          secret_hash: sha256(secret),
          old_secret_hash: transition_seconds > 0 ? current.secret_hash : null,
          old_secret_until: transition_seconds > 0 ? at + transition_seconds * 1_000 : null,
          secret_at: at,
          updated_at: at,
        };
        await db.updateTable('mcp_apps').set(change).where('id', '=', id).execute();
        return { ...current, ...change };
      }, who);
      return { ...shown(row), client_secret: secret };
    },

    /** What users have allowed it ends with it, at once and on every node. */
    delete: (who: Principal, id: string): Promise<void> =>
      changes.transaction(
        'mcp-tokens',
        async (db) => {
          await open(db, who, id);
          await db.deleteFrom('mcp_apps').where('id', '=', id).execute();
          for (const table of ['mcp_grants', 'mcp_consents'] as const)
            await db.deleteFrom(table).where('client_id', '=', id).execute();
        },
        who,
      ),
  };
}

export type Apps = ReturnType<typeof createApps>;

function checkAddresses(addresses: readonly string[]) {
  for (const [index, address] of addresses.entries()) {
    const fault = redirectFault(address);
    if (fault) fail('invalid_request', `redirect_uris[${index}]`, fault);
  }
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(Number(at)).toISOString());

const shown = (row: McpAppRow) => ({
  id: row.id,
  object: 'mcp-app' as const,
  client_id: row.id,
  name: row.name,
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  is_confidential: row.secret_hash !== null,
  is_renewable: Number(row.is_renewable) === 1,
  grant_types: Number(row.is_renewable) === 1 ? [...GRANT_TYPES] : GRANT_TYPES.slice(0, 1),
  secret_created_at: iso(row.secret_at),
  created_at: iso(row.created_at)!,
  last_updated_at: iso(row.updated_at)!,
  last_used_at: iso(row.used_at),
});
