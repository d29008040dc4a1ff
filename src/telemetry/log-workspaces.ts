import { type Kysely, sql } from 'kysely';
import type { Engine } from '../storage/migrate.ts';
import type { TimeRange } from './analytics/time-range.ts';
import { DAY_MS, dayOf } from './days/days.ts';
import type { LogTables } from './log-columns.ts';
import type { LogReach } from './log-query.ts';

/**
 * Which workspaces have entries, by jumping along the index instead of reading it. Every index of the log begins with the workspace,
 * so questions about an organisation are asked about each of these.
 */

interface Owned {
  readonly workspace_id: string;
  readonly organisation_id: string | null;
}

type Workspaces = (string | null)[];

/** All of them; null stands for "none". */
export async function workspacesIn(db: Kysely<LogTables>): Promise<Workspaces> {
  return [...(await jumpAlong(db, 'request_logs', 'created_at')).map(({ workspace_id }) => workspace_id), null];
}

/** Those that may have entries of a time. */
export type WorkspacesOf = (time: TimeRange) => Promise<readonly (string | null)[]>;

/**
 * Those within reach, for one question, which may ask about several times. PostgreSQL keeps a table for each day and takes longer to
 * plan a question about thirty than to answer it, so it is asked about the days of that time alone. They are whole: within a day
 * the first entry of a workspace is as good as any.
 */
export function workspacesWithin(
  db: Kysely<LogTables>,
  engine: Engine,
  { organisationId, workspaceId }: LogReach,
): WorkspacesOf {
  if (workspaceId !== null) return async () => [workspaceId];
  const known = new Map<string, Promise<Workspaces>>();
  const find = async (days: TimeRange) => {
    const found = await jumpAlong(db, 'request_logs', 'created_at', days);
    return [...ofOrganisation(found, organisationId), null];
  };
  return ({ from, until }) => {
    const days = engine === 'postgres' ? { from: dayOf(from), until: dayOf(until - 1) + DAY_MS } : ALWAYS;
    const key = `${days.from} ${days.until}`;
    const found = known.get(key) ?? find(days);
    known.set(key, found);
    return found;
  };
}

/** Those within reach that have sessions. */
export async function workspacesWithSessions(
  db: Kysely<LogTables>,
  { organisationId, workspaceId }: LogReach,
): Promise<Workspaces> {
  if (workspaceId !== null) return [workspaceId];
  return ofOrganisation(await jumpAlong(db, 'request_log_sessions', 'last_at'), organisationId);
}

const ofOrganisation = (found: readonly Owned[], organisationId: string): string[] =>
  found.filter((each) => each.organisation_id === organisationId).map(({ workspace_id }) => workspace_id);

export const ALWAYS: TimeRange = { from: 0, until: Number.POSITIVE_INFINITY };

/**
 * Whose a workspace is says its latest row: without an order PostgreSQL reads day after day from the first, which is all of the log
 * where a workspace is new.
 */
async function jumpAlong(
  db: Kysely<LogTables>,
  tableName: 'request_logs' | 'request_log_sessions',
  timeName: 'created_at' | 'last_at',
  { from, until }: TimeRange = ALWAYS,
): Promise<Owned[]> {
  const [table, time] = [sql.table(tableName), sql.ref(timeName)];
  const after = from > 0 ? sql`and ${time} >= ${from}` : sql``;
  const before = Number.isFinite(until) ? sql`and ${time} < ${until}` : sql``;
  const { rows } = await sql<Owned>`
    with recursive jump(workspace_id) as (
      select (select min(workspace_id) from ${table} where workspace_id is not null ${after} ${before})
      union all
      select (select min(workspace_id) from ${table} where workspace_id > jump.workspace_id ${after} ${before})
      from jump where jump.workspace_id is not null)
    select workspace_id, (
      select organisation_id from ${table} as latest where latest.workspace_id = jump.workspace_id ${after} ${before}
      order by ${time} desc limit 1
    ) as organisation_id
    from jump where workspace_id is not null`.execute(db);
  return rows;
}
