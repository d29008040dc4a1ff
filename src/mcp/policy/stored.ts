import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpCapabilityRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { type Capability, type CapabilityType, capabilityKey, type Pinned } from '../message/capability.ts';
import type { McpServer } from '../server/server.ts';
import { isTrustedAtOnce, type PolicyFacts } from './gate.ts';

/** A definition that a manager should look at. */
export interface FlaggedDefinition {
  readonly server: McpServer;
  readonly capability: Capability;
  readonly what: 'changed' | 'hidden_unicode';
  readonly at: number;
}

export interface PolicyStoreDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  /** Never throws; the same news may come from several nodes. */
  readonly report: (flagged: FlaggedDefinition) => void;
  readonly now: () => number;
}

/** A server that invents names must not fill the store. */
export const MOST_CAPABILITIES = 5_000;
const IN_A_QUERY = 200;
const RECORD_EVERY_MS = 10_000;
const MOST_REMEMBERED = 10_000;

/** What is stored of servers for their policies: the facts of a call, and what servers have shown. */
export function createPolicyStore({ store, changes, report, now }: PolicyStoreDeps) {
  /** Changes that could not be stored: what was seen once is not forgotten because the store is away. */
  const unsaved = new Map<string, Map<string, string>>();
  const recordedAt = new BoundedMap<string, number>(MOST_REMEMBERED);

  const load = async (id: string): Promise<PolicyFacts> => {
    const [server, rows, users] = await Promise.all([
      store.db.selectFrom('mcp_servers').select('default_user_access').where('id', '=', id).executeTakeFirst(),
      store.db
        .selectFrom('mcp_capabilities')
        .select(['type', 'name', 'enabled', 'hash', 'approved_hash'])
        .where('server_id', '=', id)
        .limit(MOST_CAPABILITIES * 2)
        .execute(),
      store.db.selectFrom('mcp_user_access').select(['user_id', 'enabled']).where('server_id', '=', id).execute(),
    ]);
    return factsOf(rows, {
      opensToAll: server?.default_user_access !== 'deny',
      users: new Map(users.map((each) => [each.user_id, Number(each.enabled) === 1])),
    });
  };
  // Users and workspaces take theirs along.
  const cache = cachedBy(changes, ['mcp-servers', 'users', 'keys'], load, { most: 5_000, now });

  const withUnsaved = (id: string, facts: PolicyFacts): PolicyFacts => {
    const changed = unsaved.get(id);
    if (!changed) return facts;
    const tools = new Map(facts.tools);
    for (const [name, hash] of changed)
      tools.set(name, { hash, approvedHash: facts.tools.get(name)?.approvedHash ?? null });
    return { ...facts, tools };
  };

  const keepUnsaved = (id: string, fresh: readonly Capability[]) => {
    const changed = unsaved.get(id) ?? new Map<string, string>();
    for (const { type, name, hash } of fresh.slice(0, MOST_CAPABILITIES)) if (type === 'tool') changed.set(name, hash);
    unsaved.set(id, changed);
  };

  /** A server that says something else each time is written down now and then: what waits for approval waits on. */
  const isDue = (id: string, fresh: readonly Capability[], { tools }: PolicyFacts): boolean => {
    const isNews = fresh.some(({ name, hash }) => {
      const known = tools.get(name);
      return !known || known.hash === known.approvedHash || hash === known.approvedHash;
    });
    const last = recordedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    if (!isNews && now() - last < RECORD_EVERY_MS) return false;
    recordedAt.set(id, now());
    return true;
  };

  return {
    /** At once when it is known. */
    of({ id }: McpServer): NowOrLater<PolicyFacts> {
      const known = cache.peek(id);
      if (known) return withUnsaved(id, known);
      return cache.get(id).then((facts) => withUnsaved(id, facts!));
    },

    /** Keeps definitions of tools that were not seen before, or not so, as far as they are news to `facts`. */
    async record(server: McpServer, seen: readonly Capability[], facts: PolicyFacts): Promise<void> {
      const fresh = seen.filter(({ type, name, hash }) => {
        const known = facts.tools.get(name);
        return type === 'tool' && (known ? known.hash !== hash : !facts.isFull);
      });
      if (fresh.length === 0 || !isDue(server.id, fresh, facts)) return;
      try {
        await changes.transaction('mcp-servers', (db) => keepSeen(db, server, fresh, now()));
        unsaved.delete(server.id);
      } catch (error) {
        if (!(error instanceof GatewayError && error.code === 'store_unavailable')) throw error;
        keepUnsaved(server.id, fresh);
      }
      for (const flagged of flaggedAmong(server, fresh, facts, now())) report(flagged);
    },
  };
}

export type PolicyStore = ReturnType<typeof createPolicyStore>;

type Row = Pick<McpCapabilityRow, 'type' | 'name' | 'enabled' | 'hash' | 'approved_hash'>;

const namesByType = (): Record<CapabilityType, Set<string>> => ({
  tool: new Set(),
  prompt: new Set(),
  resource: new Set(),
  resource_template: new Set(),
});

function factsOf(rows: readonly Row[], access: Pick<PolicyFacts, 'opensToAll' | 'users'>): PolicyFacts {
  const off = namesByType();
  const known = namesByType();
  const tools = new Map<string, Pinned>();
  for (const { type, name, enabled, hash, approved_hash } of rows) {
    if (Number(enabled) === 0) off[type].add(name);
    if (hash !== null) known[type].add(name);
    if (type === 'tool' && hash !== null) tools.set(name, { hash, approvedHash: approved_hash });
  }
  return { ...access, off, known, tools, isFull: rows.length >= MOST_CAPABILITIES };
}

/** Those that a manager should look at: what has changed since it was approved, and what hides something. */
export function flaggedAmong(
  server: McpServer,
  fresh: readonly Capability[],
  { tools }: Pick<PolicyFacts, 'tools'>,
  at: number,
): FlaggedDefinition[] {
  return fresh.flatMap((capability): FlaggedDefinition[] => {
    const approved = tools.get(capability.name)?.approvedHash ?? null;
    if (capability.flags.includes('hidden_unicode') && approved !== capability.hash)
      return [{ server, capability, what: 'hidden_unicode', at }];
    const hasChanged = capability.type === 'tool' && approved !== null && approved !== capability.hash;
    return hasChanged ? [{ server, capability, what: 'changed', at }] : [];
  });
}

/** Inside a transaction. What is approved or switched off stays so; a new definition beside it waits to be looked at. */
export async function keepSeen(
  db: Db,
  { id: serverId, policy }: Pick<McpServer, 'id' | 'policy'>,
  seen: readonly Capability[],
  at: number,
): Promise<void> {
  const { total } = await db
    .selectFrom('mcp_capabilities')
    .select((select) => select.fn.countAll<number>().as('total'))
    .where('server_id', '=', serverId)
    .executeTakeFirstOrThrow();
  let room = MOST_CAPABILITIES - Number(total);
  for (let from = 0; from < seen.length; from += IN_A_QUERY) {
    const some = new Map(
      seen.slice(from, from + IN_A_QUERY).map((each) => [capabilityKey(each.type, each.name), each]),
    );
    const known = await db
      .selectFrom('mcp_capabilities')
      .select(['key', 'hash', 'approved_hash', 'offered', 'definition'])
      .where('server_id', '=', serverId)
      .where('key', 'in', [...some.keys()])
      .execute();
    for (const { key, hash, approved_hash, definition: last } of known) {
      const { hash: next, flags, definition } = some.get(key)!;
      some.delete(key);
      if (hash === next) continue;
      const isFirst = hash === null && approved_hash === null && isTrustedAtOnce(flags, policy.pinning);
      await db
        .updateTable('mcp_capabilities')
        .set({
          hash: next,
          flags: JSON.stringify(flags),
          definition,
          changed_at: at,
          offered: 1,
          ...(isFirst && { approved_hash: next }),
          ...(hash !== null && hash === approved_hash && { approved_definition: last }),
        })
        .where('server_id', '=', serverId)
        .where('key', '=', key)
        .execute();
    }
    const added = [...some].slice(0, Math.max(0, room)).map(([key, each]): McpCapabilityRow => {
      const { type, name, hash, flags, definition } = each;
      return {
        server_id: serverId,
        key,
        type,
        name,
        enabled: 1,
        offered: 1,
        hash,
        approved_hash: isTrustedAtOnce(flags, policy.pinning) ? hash : null,
        flags: JSON.stringify(flags),
        definition,
        approved_by: null,
        first_seen_at: at,
        changed_at: at,
      };
    });
    room -= added.length;
    if (added.length > 0)
      await db
        .insertInto('mcp_capabilities')
        .values(added)
        .onConflict((conflict) => conflict.columns(['server_id', 'key']).doNothing())
        .execute();
  }
}
