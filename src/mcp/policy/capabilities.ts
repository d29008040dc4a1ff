import { fail, GatewayError } from '../../core/errors.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpCapabilityRow, McpSyncRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { CAPABILITY_TYPES, type CapabilityType, capabilityKey, pinStatus } from '../message/capability.ts';
import type { ProbeDeps } from '../relay/probe.ts';
import { toldToOwners } from '../relay/program-conversation.ts';
import type { McpServer } from '../server/server.ts';
import { type Offers, OffersUnknown, readOffers } from './offers.ts';
import { type FlaggedDefinition, flaggedAmong, keepSeen, MOST_CAPABILITIES } from './stored.ts';

export interface CapabilitiesDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly find: (who: Principal, idOrSlug: string) => Promise<McpServer>;
  /** Brings a server up to date that the gateway itself answers for. */
  readonly readAnew: (who: Principal, idOrSlug: string) => Promise<void>;
  /** What is needed to ask a server. */
  readonly probe: ProbeDeps;
  readonly report: (flagged: FlaggedDefinition) => void;
  readonly now: () => number;
}

export interface Switch {
  readonly type: CapabilityType;
  readonly name: string;
  readonly enabled: boolean;
}

export interface Approval {
  readonly name: string;
  readonly type?: CapabilityType;
  /** Of the definition that was looked at: what it has become since is not approved along. */
  readonly hash: string;
}

const shown = (row: McpCapabilityRow) => ({
  object: 'mcp-capability' as const,
  type: row.type,
  name: row.name,
  enabled: Number(row.enabled) === 1,
  is_offered: Number(row.offered) === 1,
  hash: row.hash,
  approved_hash: row.approved_hash,
  status: row.hash === null ? null : pinStatus({ hash: row.hash, approvedHash: row.approved_hash }),
  flags: JSON.parse(row.flags) as string[],
  definition: row.definition,
  approved_definition: row.hash === row.approved_hash ? row.definition : (row.approved_definition ?? null),
  first_seen_at: new Date(Number(row.first_seen_at)).toISOString(),
  changed_at: new Date(Number(row.changed_at)).toISOString(),
});
export type ShownCapability = ReturnType<typeof shown>;

const NEVER = {
  server_name: null,
  server_version: null,
  protocol_version: null,
  capability_flags: [] as string[],
  sync_status: 'never' as const,
  last_synced_at: null,
  sync_error: null,
};

const shownSync = (row: McpSyncRow) => ({
  server_name: row.server_name,
  server_version: row.server_version,
  protocol_version: row.protocol_version,
  capability_flags: JSON.parse(row.capability_flags) as string[],
  sync_status: row.status,
  last_synced_at: new Date(Number(row.synced_at)).toISOString(),
  sync_error: row.error,
});
export type ShownSync = ReturnType<typeof shownSync> | typeof NEVER;

/** What servers offer, as their owners see, switch and approve it. */
export function createCapabilities({ store, changes, find, readAnew, probe, report, now }: CapabilitiesDeps) {
  const rowsOf = (db: Db, serverId: string) => db.selectFrom('mcp_capabilities').where('server_id', '=', serverId);

  const countsOf = async (serverId: string) => {
    const rows = await rowsOf(store.db, serverId)
      .select((select) => ['type', 'enabled', select.fn.countAll<number>().as('count')])
      .groupBy(['type', 'enabled'])
      .execute();
    const counts = {} as Record<CapabilityType, { total: number; enabled: number }>;
    for (const type of CAPABILITY_TYPES) counts[type] = { total: 0, enabled: 0 };
    for (const { type, enabled, count } of rows) {
      counts[type].total += Number(count);
      if (Number(enabled) === 1) counts[type].enabled += Number(count);
    }
    return counts;
  };

  const metadataOf = async (serverId: string): Promise<ShownSync> => {
    const row = await store.db.selectFrom('mcp_syncs').selectAll().where('server_id', '=', serverId).executeTakeFirst();
    return row ? shownSync(row) : NEVER;
  };

  const keepOffers = async (server: McpServer, offers: Offers, who: Principal) => {
    const at = now();
    const before = await rowsOf(store.db, server.id).select(['name', 'type', 'hash', 'approved_hash']).execute();
    await changes.transaction(
      'mcp-servers',
      async (db) => {
        await keepSeen(db, server, offers.capabilities, at);
        await markOffered(db, server.id, offers);
        await keepSync(db, {
          server_id: server.id,
          status: 'success',
          error: null,
          server_name: offers.server_name,
          server_version: offers.server_version,
          protocol_version: offers.protocol_version,
          capability_flags: JSON.stringify(offers.capability_flags),
          synced_at: at,
        });
      },
      who,
    );
    const hashes = new Map(before.map(({ type, name, hash }) => [`${type} ${name}`, hash]));
    const fresh = offers.capabilities.filter(({ type, name, hash }) => hashes.get(`${type} ${name}`) !== hash);
    const tools = new Map(
      before.flatMap(({ type, name, hash, approved_hash }) =>
        type === 'tool' && hash !== null ? [[name, { hash, approvedHash: approved_hash }] as const] : [],
      ),
    );
    for (const flagged of flaggedAmong(server, fresh, { tools }, at)) report(flagged);
  };

  const keepFailure = (server: McpServer, error: string, who: Principal) =>
    changes.transaction(
      'mcp-servers',
      (db) =>
        keepSync(db, {
          server_id: server.id,
          status: 'failed',
          error,
          server_name: null,
          server_version: null,
          protocol_version: null,
          capability_flags: '[]',
          synced_at: now(),
        }),
      who,
    );

  return {
    async list(who: Principal, idOrSlug: string, query: PageQuery & { readonly type?: CapabilityType }) {
      const { id } = await find(who, idOrSlug);
      const matching = () => {
        const all = rowsOf(store.db, id);
        return query.type === undefined ? all : all.where('type', '=', query.type);
      };
      const { total } = await matching()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await matching()
        .selectAll()
        .orderBy('type')
        .orderBy('name')
        .limit(query.page_size)
        .offset(query.current_page * query.page_size)
        .execute();
      const found: Page<ShownCapability> = page(rows.map(shown), Number(total), query);
      return { ...found, counts: await countsOf(id) };
    },

    /** Switches what the server offers, or may offer one day. */
    async switch(who: Principal, idOrSlug: string, switches: readonly Switch[]) {
      const { id } = await find(who, idOrSlug);
      await changes.transaction(
        'mcp-servers',
        async (db) => {
          for (const each of switches) await keepSwitch(db, id, each, now());
          const { total } = await rowsOf(db, id)
            .select((select) => select.fn.countAll<number>().as('total'))
            .executeTakeFirstOrThrow();
          if (Number(total) > MOST_CAPABILITIES)
            fail('invalid_request', 'capabilities', `a server has at most ${MOST_CAPABILITIES} of them`);
        },
        who,
      );
      return { object: 'list' as const, counts: await countsOf(id) };
    },

    async approve(who: Principal, idOrSlug: string, approvals: readonly Approval[]) {
      const { id } = await find(who, idOrSlug);
      await changes.transaction(
        'mcp-servers',
        async (db) => {
          for (const [index, { type = 'tool', name, hash }] of approvals.entries()) {
            const { numUpdatedRows } = await db
              .updateTable('mcp_capabilities')
              .set({ approved_hash: hash, approved_by: who.keyId, approved_definition: null })
              .where('server_id', '=', id)
              .where('key', '=', capabilityKey(type, name))
              .where('hash', '=', hash)
              .executeTakeFirst();
            if (Number(numUpdatedRows) === 0)
              fail(
                'invalid_request',
                `capabilities[${index}].hash`,
                `is not that of ${type} ${name} as it was seen last`,
              );
          }
        },
        who,
      );
      return { object: 'list' as const, approved: approvals.length };
    },

    async metadata(who: Principal, idOrSlug: string): Promise<ShownSync> {
      return metadataOf((await find(who, idOrSlug)).id);
    },

    /** Asks the server for everything it offers. That it could not be asked is an outcome, not an error. */
    async sync(who: Principal, idOrSlug: string) {
      let server = await find(who, idOrSlug);
      try {
        await readAnew(who, idOrSlug);
        server = await find(who, idOrSlug);
        await keepOffers(server, await readOffers(server, who, probe), who);
      } catch (error) {
        const why = whyUnknown(error);
        if (why === null) throw error;
        await keepFailure(server, why, who);
      }
      return { ...(await metadataOf(server.id)), counts: await countsOf(server.id) };
    },
  };
}

export type Capabilities = ReturnType<typeof createCapabilities>;

/** Null: it was not the server that failed. */
function whyUnknown(error: unknown): string | null {
  if (error instanceof OffersUnknown) return error.message;
  if (error instanceof UpstreamFailure) return toldToOwners(error);
  return error instanceof GatewayError && error.code !== 'store_unavailable' ? error.message : null;
}

async function keepSwitch(db: Db, serverId: string, { type, name, enabled }: Switch, at: number) {
  const row: McpCapabilityRow = {
    server_id: serverId,
    key: capabilityKey(type, name),
    type,
    name,
    enabled: enabled ? 1 : 0,
    offered: 0,
    hash: null,
    approved_hash: null,
    flags: '[]',
    definition: null,
    approved_by: null,
    first_seen_at: at,
    changed_at: at,
  };
  await db
    .insertInto('mcp_capabilities')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'key']).doUpdateSet({ enabled: row.enabled }))
    .execute();
}

async function markOffered(db: Db, serverId: string, { capabilities }: Offers) {
  const offered = new Set(capabilities.map(({ type, name }) => capabilityKey(type, name)));
  const rows = await db
    .selectFrom('mcp_capabilities')
    .select(['key', 'offered', 'enabled'])
    .where('server_id', '=', serverId)
    .execute();
  for (const isOffered of [true, false]) {
    const wrong = rows.filter((row) => offered.has(row.key) === isOffered && (Number(row.offered) === 1) !== isOffered);
    for (let from = 0; from < wrong.length; from += 200)
      await db
        .updateTable('mcp_capabilities')
        .set({ offered: isOffered ? 1 : 0 })
        .where('server_id', '=', serverId)
        .where(
          'key',
          'in',
          wrong.slice(from, from + 200).map(({ key }) => key),
        )
        .execute();
  }
}

async function keepSync(db: Db, row: McpSyncRow) {
  const { server_id, ...rest } = row;
  // What a server said of itself stays when it cannot be asked today.
  const { status, error, synced_at } = rest;
  await db
    .insertInto('mcp_syncs')
    .values({ server_id, ...rest })
    .onConflict((conflict) =>
      conflict.column('server_id').doUpdateSet(status === 'failed' ? { status, error, synced_at } : rest),
    )
    .execute();
}
