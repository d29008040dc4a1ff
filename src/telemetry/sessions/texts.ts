import { COUNTS, SUMMED } from './sums.ts';

/** What SQLite and PostgreSQL are both told. */

export const SESSION_COLUMNS = [
  'workspace_id',
  'session_id',
  'organisation_id',
  'first_at',
  'last_at',
  'ended_at',
  ...COUNTS,
] as const;

export const MODEL_COLUMNS = ['workspace_id', 'session_id', 'model', 'calls', 'nano_dollars'] as const;

/** How each store calls the smaller and the greater of two values. */
export interface Extremes {
  readonly least: string;
  readonly greatest: string;
}

const added = (table: string, columns: readonly string[]) =>
  columns.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(', ');

/** Adds to what sessions amount to. */
export const addSessions = (values: string, { least, greatest }: Extremes) => `
  insert into request_log_sessions (${SESSION_COLUMNS.join(', ')}) ${values}
  on conflict (workspace_id, session_id) do update set ${added('request_log_sessions', COUNTS)},
    first_at = ${least}(request_log_sessions.first_at, excluded.first_at),
    last_at = ${greatest}(request_log_sessions.last_at, excluded.last_at),
    ended_at = ${greatest}(request_log_sessions.ended_at, excluded.ended_at)`;

export const addModels = (values: string) => `
  insert into request_log_session_models (${MODEL_COLUMNS.join(', ')}) ${values}
  on conflict (workspace_id, session_id, model) do update
  set ${added('request_log_session_models', ['calls', 'nano_dollars'])}`;

/** Removes entries of sessions, and says which they were: only one of two that remove the same entry takes it from the sums. */
export const takeEntries = (areMeant: string) => `
  delete from request_logs where ${areMeant} and session_id is not null and workspace_id is not null
  returning ${SUMMED.join(', ')}`;

const OF_SESSION = `from request_logs where request_logs.workspace_id = request_log_sessions.workspace_id
  and request_logs.session_id = request_log_sessions.session_id`;

/** When the entries came that a session still has; the index knows. */
export const FIRST_AND_LAST = `
  first_at = coalesce((select min(created_at) ${OF_SESSION}), first_at),
  last_at = coalesce((select max(created_at) ${OF_SESSION}), last_at)`;

/** When the last of them ended. Looks at all of them, and is asked only where the one that ended last is gone. */
export const lastEnd = (whole: string) =>
  `ended_at = coalesce((select max(created_at + ${whole}) ${OF_SESSION}), ended_at)`;
