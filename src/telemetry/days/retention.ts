import { type Kysely, sql } from 'kysely';
import type { Pool } from 'pg';
import type { LogRow, LogTables } from '../log-columns.ts';
import { dropBodies, dropPart, ENTRIES, endedIn, type Part, partsOf } from './days.ts';

export type Old = Pick<LogRow, 'id' | 'created_at' | 'metadata'>;

export interface RetentionOptions {
  readonly pool: Pool;
  readonly db: Kysely<LogTables>;
  /** Removes entries with their labels and bodies, and takes them from their sessions. */
  readonly remove: (db: Kysely<LogTables>, workspace: string | null, rows: readonly Old[]) => Promise<number>;
  readonly workspaces: () => Promise<readonly (string | null)[]>;
  readonly now: () => number;
}

const SESSIONS_AT_ONCE = 1_000;

/**
 * Whole days go as tables, as soon as all of them is old. Entries of no day are deleted; says how many, at most as many
 * as were asked for.
 */
export async function pruneDays(options: RetentionOptions, before: number, atMost: number): Promise<number> {
  const { pool, now } = options;
  const parts = await partsOf(pool);
  const ended = endedIn(parts, Math.min(before, now()));
  for (const part of ended) while (!(await dropPart(pool, part))) await removeSessions(options, part);
  await dropBodies(pool, Math.min(before, now()));
  const left = parts.filter((part) => !ended.includes(part) && holdsOld(part, before));
  let deleted = 0;
  for (const part of left) {
    if (deleted >= atMost) break;
    deleted += await pruneRows(options, part, before, atMost - deleted);
  }
  return deleted;
}

/** A day that is old in part waits until it is old as a whole. */
const holdsOld = ({ from, until }: Part, before: number): boolean =>
  from === null || (until !== null && until <= before);

const tableOf = ({ name }: Part) => sql.table(`${ENTRIES.table}_${name}`);

async function pruneRows(options: RetentionOptions, part: Part, before: number, atMost: number): Promise<number> {
  const { db, remove, workspaces } = options;
  let deleted = 0;
  for (const workspace of await workspaces()) {
    if (deleted >= atMost) break;
    deleted += await db.transaction().execute(async (transaction) => {
      const place = workspace === null ? sql`workspace_id is null` : sql`workspace_id = ${workspace}`;
      const { rows } = await sql<Old>`select id, created_at, metadata from ${tableOf(part)}
        where ${place} and created_at < ${before} order by created_at, id limit ${atMost - deleted}`.execute(
        transaction,
      );
      return remove(transaction, workspace, rows);
    });
  }
  return deleted;
}

/** What sessions amount to is kept apart from their entries, which are taken from it one by one. */
async function removeSessions({ db, remove }: RetentionOptions, part: Part): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { rows } = await sql<Old & { workspace_id: string | null }>`
      select id, created_at, metadata, workspace_id from ${tableOf(part)}
      where session_id is not null limit ${SESSIONS_AT_ONCE}`.execute(transaction);
    for (const [workspace, own] of Map.groupBy(rows, ({ workspace_id }) => workspace_id))
      await remove(transaction, workspace, own);
  });
}
