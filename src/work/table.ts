import { type ExpressionBuilder, type RawBuilder, sql, type UpdateObject } from 'kysely';
import { newId } from '../core/ids.ts';
import type { Engine } from '../storage/migrate.ts';
import type { Schema, WorkRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { claim, nextDue, type Share } from './claim.ts';
import { type Moment, momentIn, type Now } from './time.ts';
import type { NewWork, Target, Timing, Work } from './work.ts';

export interface TableOptions {
  readonly engine: Engine;
  readonly now: Now;
  /** Who owns what is claimed here. Unique for each start of a process. */
  readonly node: string;
  readonly timing: Pick<Timing, 'leaseMs' | 'abortAfterMs'>;
}

/** What becomes of a row that its owner lets go. */
export interface LettingGo {
  /** Where it was in the queue when left out. */
  readonly runAt?: Moment;
  readonly attempts: number;
  readonly lastError?: string | null;
  readonly payload?: unknown;
  /** Whether a cancelled row is due at once, so that the node that takes it next ends it. */
  readonly hurriesWhenCancelled: boolean;
}

/** SQLite takes some thousand values in a statement. */
const IDS_AT_ONCE = 500;

export type WorkTable = ReturnType<typeof workTable>;

/** Every statement on `work`, as this node makes them. Those that name a claimed row change it only while it is ours. */
export function workTable({ engine, now, node, timing }: TableOptions) {
  const { leaseMs, abortAfterMs } = timing;
  const leaseEnd = (): RawBuilder<number> => sql<number>`${now()} + ${leaseMs}`;
  const isPostgres = engine === 'postgres';

  const held = (db: Db, { id, fence }: Work, change: UpdateObject<Schema, 'work'>) =>
    db.updateTable('work').set(change).where('id', '=', id).where('owner', '=', node).where('fence', '=', fence);

  /** On PostgreSQL never waits: a row that is locked is being seen to. */
  const unlocked = (db: Db, isMeant: (row: ExpressionBuilder<Schema, 'work'>) => RawBuilder<boolean>) => {
    const query = db.selectFrom('work').select('id').where(isMeant);
    return isPostgres ? query.forUpdate().skipLocked() : query;
  };

  return {
    insert: async (db: Db, item: NewWork, isClaimed: boolean): Promise<Work> => {
      const runAt = momentIn(now, item.runAt ?? { afterMs: 0 });
      const row = await db
        .insertInto('work')
        .values({
          id: newId<string>(),
          kind: item.kind,
          tenant: item.tenant,
          ref: item.ref,
          payload: toText(item.payload),
          run_at: runAt,
          created_at: now(),
          cancelled_at: null,
          last_error: null,
          ...(isClaimed
            ? { owner: node, lease_until: leaseEnd(), fence: 1, attempts: 1 }
            : { owner: null, lease_until: 0, fence: 0, attempts: 0 }),
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return toWork(row);
    },

    nextDue: (db: Db, kinds: readonly string[]) => nextDue(db, kinds, now),

    claim: async (db: Db, share: Share): Promise<Work[]> =>
      (await claim(db, share, { engine, now, node, leaseMs })).map(toWork),

    /**
     * The fence: the first statement of every transaction of a worker. The row stays locked until its end, so no other
     * node takes over in between. A process that is frozen in there would hold the lock for ever; PostgreSQL ends its
     * transaction instead, before the lease is over.
     */
    hold: async (db: Db, work: Work): Promise<{ isCancelled: boolean } | null> => {
      const row = await held(db, work, { lease_until: leaseEnd() })
        .returning('cancelled_at')
        .$if(isPostgres, (query) => query.returning(endWhenIdle(abortAfterMs).as('ends_when_idle')))
        .executeTakeFirst();
      return row ? { isCancelled: row.cancelled_at !== null } : null;
    },

    remove: async (db: Db, { id, fence }: Work): Promise<boolean> => {
      const gone = await db
        .deleteFrom('work')
        .where('id', '=', id)
        .where('owner', '=', node)
        .where('fence', '=', fence)
        .returning('id')
        .execute();
      return gone.length > 0;
    },

    letGo: async (db: Db, work: Work, { runAt, attempts, hurriesWhenCancelled, ...rest }: LettingGo) => {
      const moment = runAt === undefined ? sql<number>`run_at` : momentIn(now, runAt);
      const rows = await held(db, work, {
        owner: null,
        lease_until: 0,
        attempts,
        run_at: hurriesWhenCancelled
          ? sql<number>`case when cancelled_at is null then ${moment} else ${now()} end`
          : moment,
        ...('lastError' in rest && { last_error: rest.lastError }),
        ...(rest.payload !== undefined && { payload: toText(rest.payload) }),
      })
        .returning('id')
        .execute();
      return rows.length > 0;
    },

    checkpoint: async (db: Db, work: Work, payload: unknown): Promise<boolean> => {
      const rows = await held(db, work, { payload: toText(payload), attempts: 1 })
        .returning('id')
        .execute();
      return rows.length > 0;
    },

    /** Answers what was renewed. What is missing may be lost, or locked by a transaction that renews it itself. */
    renew: async (db: Db, ids: readonly string[]): Promise<LeaseKey[]> =>
      db
        .updateTable('work')
        .set({ lease_until: leaseEnd() })
        .where(
          'id',
          'in',
          unlocked(db, (row) => sql`${row.ref('owner')} = ${node} and ${row.ref('id')} in (${sql.join(ids)})`),
        )
        .returning(['id', 'fence'])
        .execute(),

    /** Everything that is this node's at this moment. */
    owned: async (db: Db): Promise<(LeaseKey & { cancelled_at: number | null })[]> =>
      db.selectFrom('work').select(['id', 'fence', 'cancelled_at']).where('owner', '=', node).execute(),

    /**
     * Frees what dead nodes have left. The fence stays in the row, so a node that comes back too late is recognised.
     */
    reap: async (db: Db): Promise<number> => {
      const isOver = (row: ExpressionBuilder<Schema, 'work'>) =>
        sql<boolean>`${row.ref('owner')} is not null and ${row.ref('lease_until')} < ${now()}`;
      const rows = await db
        .updateTable('work')
        .set({ owner: null, lease_until: 0 })
        .where('id', 'in', unlocked(db, isOver))
        .returning('id')
        .execute();
      return rows.length;
    },

    /** When this node stops: as if it had never begun. What still runs here has lost its lease. */
    releaseAll: async (db: Db): Promise<void> => {
      await db
        .updateTable('work')
        .set({ owner: null, lease_until: 0, attempts: sql<number>`attempts - 1` })
        .where('owner', '=', node)
        .execute();
    },

    /** On a store that this process has for itself, whatever is leased at its start was left by one that died. */
    freeOthers: async (db: Db): Promise<void> => {
      await db.updateTable('work').set({ owner: null, lease_until: 0 }).where('owner', '!=', node).execute();
    },

    /** All rows meant, locked in one order, so that two who want the same ones do not wait for each other. */
    lock: async (db: Db, target: Target): Promise<{ work: Work; isLive: boolean }[]> => {
      const query = db
        .selectFrom('work')
        .selectAll()
        .select(now().as('now'))
        .$if('id' in target, (one) => one.where('id', '=', (target as { id: string }).id))
        .$if('ref' in target, (all) => {
          const { kind, ref } = target as { kind: string; ref: string };
          return all.where('kind', '=', kind).where('ref', '=', ref);
        })
        .orderBy('id');
      const rows = await (isPostgres
        ? query.select(endWhenIdle(abortAfterMs).as('ends_when_idle')).forUpdate()
        : query
      ).execute();
      return rows.map((row) => ({ work: toWork(row), isLive: row.owner !== null && row.lease_until >= row.now }));
    },

    /** The ids of all rows of a tenant, locked in one order. */
    lockTenant: async (db: Db, tenant: string): Promise<string[]> => {
      const query = db.selectFrom('work').select('id').where('tenant', '=', tenant).orderBy('id');
      const rows = await (isPostgres ? query.forUpdate() : query).execute();
      return rows.map(({ id }) => id);
    },

    markCancelled: async (db: Db, ids: readonly string[]): Promise<void> => {
      if (ids.length === 0) return;
      await db
        .updateTable('work')
        .set({ cancelled_at: sql<number>`coalesce(cancelled_at, ${now()})` })
        .where('id', 'in', ids)
        .execute();
    },

    /** A node that is doing the work loses its lease. */
    discard: async (db: Db, ids: readonly string[]): Promise<void> => {
      for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
        await db
          .deleteFrom('work')
          .where('id', 'in', ids.slice(at, at + IDS_AT_ONCE))
          .execute();
    },

    /** Rows that are locked and free: due at once, and ours when asked. */
    resume: async (db: Db, ids: readonly string[], isClaimed: boolean): Promise<Work[]> => {
      if (ids.length === 0) return [];
      const claimed = {
        owner: node,
        lease_until: leaseEnd(),
        fence: sql<number>`fence + 1`,
        attempts: sql<number>`attempts + 1`,
      };
      const rows = await db
        .updateTable('work')
        .set({ run_at: now(), ...(isClaimed && claimed) })
        .where('id', 'in', ids)
        .returningAll()
        .execute();
      return rows.map(toWork);
    },

    time: async (db: Db): Promise<number> =>
      (await sql<{ now: number }>`select ${now()} as now`.execute(db)).rows[0]!.now,
  };
}

export type LeaseKey = Pick<WorkRow, 'id' | 'fence'>;

/** For this transaction only. */
const endWhenIdle = (ms: number) =>
  sql<string>`set_config('idle_in_transaction_session_timeout', ${String(Math.round(ms))}, true)`;

const toText = (payload: unknown): string | null => (payload === undefined ? null : JSON.stringify(payload));

const toWork = (row: WorkRow): Work => ({
  id: row.id,
  kind: row.kind,
  tenant: row.tenant,
  ref: row.ref,
  payload: row.payload === null ? null : JSON.parse(row.payload),
  fence: row.fence,
  attempts: row.attempts,
  isCancelled: row.cancelled_at !== null,
  lastError: row.last_error,
});
