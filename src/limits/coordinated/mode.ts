import { sql } from 'kysely';
import type { Store } from '../../storage/store.ts';
import { postingOf } from '../counters/posting.ts';
import type { CounterSnapshot } from './redis-counters.ts';
import type { Hold } from './redis-hold.ts';

/**
 * Where calls are counted, as all nodes read it in PostgreSQL.
 *
 *     redis ──raise──▶ gathering ──open──▶ postgres ──move──▶ redis
 *
 * The epoch grows with `raise` and with `move`. While gathering, no node admits calls; every live node writes down what
 * only it knows and answers. `move` needs no answers: while PostgreSQL counts, PostgreSQL knows everything.
 */
export interface ModeRow {
  readonly mode: 'redis' | 'gathering' | 'postgres';
  readonly epoch: number;
  /** Of the epoch in Redis, and the Redis it is in. */
  readonly space: string | null;
  readonly runId: string | null;
  /** The last epoch this node answered; null when the others have forgotten it. */
  readonly answered: number | null;
  /** Whether every live node has long enough been connected to the same Redis. */
  readonly mayMove: boolean;
}

/** What a node says about its connection to Redis. */
export interface RedisReport {
  readonly runId: string | null;
  readonly upMs: number;
}

export interface ModeTable {
  /** Names this installation in Redis. */
  tag(): Promise<string>;
  /** A sign of life, and the mode. */
  beat(report: RedisReport): Promise<ModeRow>;
  /** Ends counting in Redis. */
  raise(epoch: number): Promise<void>;
  /** How many of the holds were not recorded before, and the mode at that moment. */
  answer(epoch: number, holds: CounterSnapshot['holds']): Promise<Answered>;
  /** Begins counting in PostgreSQL when every live node has answered. */
  open(epoch: number): Promise<boolean>;
  /** Begins counting in Redis, unless `load` throws. No node admits calls meanwhile. */
  move(epoch: number, target: MoveTarget): Promise<boolean>;
  leave(): Promise<void>;
}

export interface Answered {
  readonly fresh: number;
  readonly mode: ModeRow['mode'];
}

export interface MoveTarget {
  readonly space: string;
  readonly runId: string;
  readonly load: (snapshot: CounterSnapshot) => Promise<void>;
}

export interface ModeOptions {
  readonly store: Store;
  readonly node: string;
  /** How long every node must have been connected before Redis counts again. */
  readonly stableMs: number;
  readonly deadAfterMs: number;
}

/** A Redis that counted for less than this was no good; it has to wait longer each time. */
const GOOD_MS = 60_000;
const FIRST_PENALTY_MS = 1_000;
const LAST_PENALTY_MS = 300_000;
/** By then a node that was taken for dead has come back, or never will. */
const FORGOTTEN_MS = 3_600_000;

/** What PostgreSQL says when it refuses to hold, because it is not the place that counts. */
export const ELSEWHERE = 'limits are not counted in PostgreSQL at the moment';
export const isElsewhere = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 'GW001';

export function createModeTable({ store, node, stableMs, deadAfterMs }: ModeOptions): ModeTable {
  const { db } = store;
  const one = async <Row>(query: ReturnType<typeof sql<Row>>) => (await query.execute(db)).rows[0];

  return {
    tag: async () => (await one(sql<{ tag: string }>`select tag from limits_mode`))!.tag,
    beat: async ({ runId, upMs }) => {
      const row = await one(sql<ModeRow>`
        with beat as (
          update limits_nodes set seen_at = limits_now(), redis_run = ${runId}::text,
            redis_since = limits_now() - ${Math.round(upMs)}::bigint
          where node = ${node} returning epoch
        )
        select mode, epoch, space, run_id as "runId", (select epoch from beat) as answered,
          mode = 'postgres' and ${runId}::text is not null and ${Math.round(upMs)}::bigint >= ${stableMs}::bigint
            and not_before <= limits_now() and not exists (
              select 1 from limits_nodes n where n.node <> ${node} and n.seen_at > limits_now() - ${deadAfterMs}::bigint
                and (n.redis_run is distinct from ${runId}::text or n.redis_since > limits_now() - ${stableMs}::bigint)
            ) as "mayMove"
        from limits_mode`);
      return row!;
    },
    raise: async (epoch) => {
      await sql`
        update limits_mode set mode = 'gathering', epoch = epoch + 1, space = null, run_id = null, (penalty_ms, not_before) = (
          select p, limits_now() + p from (select case when limits_now() - opened_at > ${GOOD_MS}::bigint then 0
            else least(greatest(penalty_ms * 2, ${FIRST_PENALTY_MS}::bigint), ${LAST_PENALTY_MS}::bigint) end as p) penalty
        ) where epoch = ${epoch} and mode = 'redis'`.execute(db);
    },
    answer: async (epoch, holds) => {
      const given = holds.map(({ hold: { id, charges, estimate }, leftMs }) => ({
        id,
        charges,
        estimate: postingOf({ id, charges: [], entry: estimate }, { expired: true }).entry,
        left: Math.max(0, Math.round(leftMs)),
      }));
      const written = await one(sql<{ answered: Answered }>`
        select limits_answer(${JSON.stringify(given)}::jsonb, ${node}, ${epoch}::bigint) as answered`);
      return written!.answered;
    },
    open: async (epoch) => {
      const { rows } = await sql`
        update limits_mode set mode = 'postgres' where epoch = ${epoch} and mode = 'gathering' and not exists (
          select 1 from limits_nodes n where n.epoch < ${epoch} and n.seen_at > limits_now() - ${deadAfterMs}::bigint
        ) returning 1`.execute(db);
      return rows.length > 0;
    },
    move: (epoch, { space, runId, load }) =>
      store.transaction(async (transaction) => {
        await sql`select limits_move_lock()`.execute(transaction);
        const isOurs = await sql`
          select 1 from limits_mode where epoch = ${epoch} and mode = 'postgres' for update`.execute(transaction);
        if (isOurs.rows.length === 0) return false;
        // One statement, so that counters and holds are of the same moment.
        const found = await sql<SnapshotRow>`
          select
            (select json_agg(json_build_array(counter, used, ends_at)) from limit_counters
              where ends_at is null or ends_at > limits_now() - 60000)::text as counters,
            (select json_agg(json_build_array(id, charges, estimate, expires_at - limits_now())) from limit_holds)::text
              as holds`.execute(transaction);
        await load(snapshotOf(found.rows[0]!));
        await sql`update limits_mode set mode = 'redis', epoch = epoch + 1, space = ${space}, run_id = ${runId},
          opened_at = limits_now()`.execute(transaction);
        await sql`delete from limits_nodes where seen_at < limits_now() - ${FORGOTTEN_MS}::bigint`.execute(transaction);
        return true;
      }),
    leave: async () => {
      await sql`delete from limits_nodes where node = ${node}`.execute(db);
    },
  };
}

interface SnapshotRow {
  readonly counters: string | null;
  readonly holds: string | null;
}

function snapshotOf(row: SnapshotRow): CounterSnapshot {
  const counters = new Map(
    (JSON.parse(row.counters ?? '[]') as [string, number, number | null][]).map(([counter, used, endsAt]) => [
      counter,
      { counter, used, held: 0, endsAt },
    ]),
  );
  const holds = (JSON.parse(row.holds ?? '[]') as [string, string, string, number][]).map(
    ([id, charges, estimate, leftMs]) => {
      const held = (JSON.parse(charges) as [string, number][]).map(([counter, amount]) => {
        const sums = counters.get(counter);
        if (sums) sums.held += amount;
        return [counter, amount, sums?.endsAt ?? null] as const;
      });
      return { hold: { id, charges: held, estimate: JSON.parse(estimate) as Hold['estimate'] }, leftMs };
    },
  );
  return { counters: [...counters.values()], holds };
}
