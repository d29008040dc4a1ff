import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../core/clock.ts';
import type { Engine } from '../storage/migrate.ts';

/** The present moment as part of a statement, milliseconds since the epoch. */
export type Now = () => RawBuilder<number>;

/**
 * The database's clock, because the clocks of nodes differ. On PostgreSQL it is the moment in which the statement came
 * in: unlike clock_timestamp(), which moves on while it runs, that can be looked up in an index.
 */
export function databaseClock(engine: Engine, clock?: Clock): Now {
  const isPostgres = engine === 'postgres';
  if (clock) return () => (isPostgres ? sql<number>`${clock()}::bigint` : sql<number>`${clock()}`);
  return isPostgres
    ? () => sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : () => sql<number>`cast(unixepoch('subsec') * 1000 as integer)`;
}

/** A moment by the database's clock: milliseconds since the epoch, or so long after the statement runs. */
export type Moment = number | { readonly afterMs: number };

export function momentIn(now: Now, moment: Moment): RawBuilder<number> {
  const ms = typeof moment === 'number' ? moment : moment.afterMs;
  if (!Number.isFinite(ms)) throw new TypeError(`${ms} is no moment; give milliseconds.`);
  const whole = Math.round(ms);
  return typeof moment === 'number'
    ? sql<number>`cast(${whole} as bigint)`
    : sql<number>`${now()} + cast(${whole} as bigint)`;
}
