import { type Kysely, sql } from 'kysely';
import { NANO_DOLLARS } from '../../core/money.ts';
import type { LogTables, SessionRow } from '../log-columns.ts';
import type { LogReach } from '../log-query.ts';
import type { ModelRow } from './sums.ts';

/** Which sessions of those within reach, by when their last call came. */
export interface SessionQuery extends LogReach {
  /** Milliseconds since the epoch, included. */
  readonly startTime?: number;
  /** Milliseconds since the epoch, excluded. */
  readonly endTime?: number;
  readonly limit: number;
  readonly after?: SessionPosition;
}

/** A place in the order newest first. */
export interface SessionPosition {
  readonly lastAt: number;
  readonly id: string;
  readonly workspaceId: string;
}

/** A session as it is shown. Field names are those of the wire. */
export interface ShownSession {
  readonly object: 'log_session';
  readonly id: string;
  readonly workspace_id: string;
  readonly first_call_at: number;
  readonly last_call_at: number;
  readonly ended_at: number;
  readonly duration_ms: number;
  readonly calls: number;
  readonly errors: number;
  readonly unpriced_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost: number;
  readonly model_count: number;
  readonly models: readonly { readonly model: string; readonly calls: number; readonly cost: number }[];
}

export interface SessionPage {
  readonly object: 'list';
  readonly data: readonly ShownSession[];
  readonly has_more: boolean;
  readonly next_cursor?: string;
}

/** Clients choose the names of models; `model_count` says how many there are. */
const MOST_MODELS = 100;

type Db = Kysely<LogTables>;
type Workspaces = readonly (string | null)[];

export async function listSessions(db: Db, workspaces: Workspaces, query: SessionQuery): Promise<SessionPage> {
  const { limit } = query;
  let rows: SessionRow[] = [];
  // One question per workspace keeps the index usable.
  for (const workspace of workspaces) {
    if (workspace === null) continue;
    const branch = await selectIn(db, workspace, query)
      .limit(limit + 1)
      .execute();
    rows = rows.length === 0 ? branch : [...rows, ...branch].sort(newestFirst).slice(0, limit + 1);
  }
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit;
  return {
    object: 'list',
    data: await shownWithModels(db, page),
    has_more: hasMore,
    ...(hasMore &&
      last && {
        next_cursor: sessionCursor({ lastAt: last.last_at, id: last.session_id, workspaceId: last.workspace_id }),
      }),
  };
}

/** Sessions of that id; several where several workspaces have one. */
export async function readSessions(
  db: Db,
  workspaces: Workspaces,
  { organisationId }: LogReach,
  id: string,
): Promise<ShownSession[]> {
  const found: SessionRow[] = [];
  for (const workspace of workspaces) {
    if (workspace === null) continue;
    const row = await db
      .selectFrom('request_log_sessions')
      .selectAll()
      .where('workspace_id', '=', workspace)
      .where('session_id', '=', id)
      .where('organisation_id', '=', organisationId)
      .executeTakeFirst();
    if (row) found.push(row);
  }
  return shownWithModels(db, found);
}

function selectIn(db: Db, workspace: string, { organisationId, startTime, endTime, after }: SessionQuery) {
  let select = db
    .selectFrom('request_log_sessions')
    .selectAll()
    .where('workspace_id', '=', workspace)
    .where('organisation_id', '=', organisationId);
  if (startTime !== undefined) select = select.where('last_at', '>=', startTime);
  if (endTime !== undefined) select = select.where('last_at', '<', endTime);
  if (after) {
    // Between sessions of one id and one moment the workspaces decide.
    const isBehind = sql.raw(workspace < after.workspaceId ? '<=' : '<');
    select = select.where(sql<boolean>`(last_at, session_id) ${isBehind} (${after.lastAt}, ${after.id})`);
  }
  return select.orderBy('last_at', 'desc').orderBy('session_id', 'desc');
}

async function shownWithModels(db: Db, rows: readonly SessionRow[]): Promise<ShownSession[]> {
  if (rows.length === 0) return [];
  const keys = rows.map((row) => sql`(${row.workspace_id}, ${row.session_id})`);
  const { rows: models } = await sql<ModelRow & { rank: number; among: number }>`
    select * from (
      select request_log_session_models.*,
        row_number() over (partition by workspace_id, session_id order by calls desc, model) as rank,
        count(*) over (partition by workspace_id, session_id) as among
      from request_log_session_models where (workspace_id, session_id) in (values ${sql.join(keys)})) as ranked
    where rank <= ${MOST_MODELS} order by rank`.execute(db);
  const keyOf = (row: { workspace_id: string; session_id: string }) => `${row.workspace_id} ${row.session_id}`;
  const bySession = Map.groupBy(models, keyOf);
  return rows.map((row) => shown(row, bySession.get(keyOf(row)) ?? []));
}

function shown(row: SessionRow, models: readonly (ModelRow & { among: number })[]): ShownSession {
  const { session_id, workspace_id, first_at, last_at, ended_at, nano_dollars } = row;
  return {
    object: 'log_session',
    id: session_id,
    workspace_id,
    first_call_at: first_at,
    last_call_at: last_at,
    ended_at,
    duration_ms: ended_at - first_at,
    calls: row.calls,
    errors: row.errors,
    unpriced_calls: row.unpriced_calls,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    total_tokens: row.total_tokens,
    cached_tokens: row.cached_tokens,
    reasoning_tokens: row.reasoning_tokens,
    cost: nano_dollars / NANO_DOLLARS,
    model_count: models[0]?.among ?? 0,
    models: models.map((each) => ({
      model: each.model,
      calls: each.calls,
      cost: each.nano_dollars / NANO_DOLLARS,
    })),
  };
}

function newestFirst(one: SessionRow, other: SessionRow): number {
  return (
    other.last_at - one.last_at ||
    compare(other.session_id, one.session_id) ||
    compare(other.workspace_id, one.workspace_id)
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

export const sessionCursor = ({ lastAt, id, workspaceId }: SessionPosition): string =>
  Buffer.from(`${lastAt}.${workspaceId}.${id}`).toString('base64url');

export function sessionPosition(cursor: string): SessionPosition | null {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, lastAt, workspaceId, id] = /^(\d{1,16})\.([^.]{1,64})\.([\x21-\x7e]{1,256})$/.exec(text) ?? [];
  return lastAt && workspaceId && id ? { lastAt: Number(lastAt), id, workspaceId } : null;
}
