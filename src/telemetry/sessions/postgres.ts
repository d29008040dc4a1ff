import { COUNTS, type Summed, sumsOf } from './sums.ts';
import {
  addModels,
  addSessions,
  FIRST_AND_LAST,
  lastEnd,
  MODEL_COLUMNS,
  SESSION_COLUMNS,
  takeEntries,
} from './texts.ts';

/** Asks inside a transaction. */
export type Query = (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>;

const SESSIONS = 'json_populate_recordset(null::request_log_sessions, $1::json) as given';
const MODELS = 'json_populate_recordset(null::request_log_session_models, $1::json) as given';
const isGiven = (table: string) =>
  `${table}.workspace_id = given.workspace_id and ${table}.session_id = given.session_id`;
const IS_SESSION = isGiven('request_log_sessions');
const IS_MODEL = `${isGiven('request_log_session_models')} and request_log_session_models.model = given.model`;
/** Both locks are taken in the order of the keys, by all that change these tables. */
const EXTREMES = { least: 'least', greatest: 'greatest' } as const;

/** Adds entries that this transaction has stored for the first time. */
export async function addToSessions(query: Query, rows: readonly Summed[]): Promise<void> {
  const sums = sumsOf(rows);
  if (sums.length === 0) return;
  const select = (columns: readonly string[], source: string) => `select ${columns.join(', ')} from ${source}`;
  const models = sums.flatMap((each) => each.models);
  await query(addSessions(select(SESSION_COLUMNS, SESSIONS), EXTREMES), [
    JSON.stringify(sums.map(({ session }) => session)),
  ]);
  if (models.length > 0) await query(addModels(select(MODEL_COLUMNS, MODELS)), [JSON.stringify(models)]);
}

/** Some entries of the log, and a time within which all of them lie. */
export interface Listed {
  /** A list as JSON. */
  readonly ids: string;
  readonly from: number;
  readonly to: number;
}

/** Their time comes along, so that only the tables of those days are looked into. */
export const ARE_LISTED = `id in (select value from json_array_elements_text($1::json)) and created_at between $2 and $3`;

/** Removes entries of sessions from the log, and what they amounted to. */
export async function removeFromSessions(query: Query, { ids, from, to }: Listed): Promise<void> {
  const { rows } = await query(takeEntries(ARE_LISTED), [ids, from, to]);
  const sums = sumsOf(rows as Summed[]);
  if (sums.length === 0) return;
  const given = [JSON.stringify(sums.map(({ session }) => session))];
  // Waits for others that are adding to them. What follows sees what they have added.
  await query(
    `select 1 from request_log_sessions join ${SESSIONS} on ${IS_SESSION}
     order by request_log_sessions.workspace_id, request_log_sessions.session_id for update of request_log_sessions`,
    given,
  );
  const less = COUNTS.map((column) => `${column} = request_log_sessions.${column} - given.${column}`).join(', ');
  await query(`update request_log_sessions set ${less} from ${SESSIONS} where ${IS_SESSION}`, given);
  await query(
    `delete from request_log_sessions using ${SESSIONS} where ${IS_SESSION} and request_log_sessions.calls <= 0`,
    given,
  );
  const inGiven = `(workspace_id, session_id) in (select given.workspace_id, given.session_id from ${SESSIONS})`;
  await query(`update request_log_sessions set ${FIRST_AND_LAST} where ${inGiven}`, given);
  await query(
    `update request_log_sessions set ${lastEnd('trunc(duration_ms)::bigint')}
     where exists (select 1 from ${SESSIONS} where ${IS_SESSION} and request_log_sessions.ended_at <= given.ended_at)`,
    given,
  );
  const models = [JSON.stringify(sums.flatMap((each) => each.models))];
  await query(
    `update request_log_session_models set calls = request_log_session_models.calls - given.calls,
     nano_dollars = request_log_session_models.nano_dollars - given.nano_dollars from ${MODELS} where ${IS_MODEL}`,
    models,
  );
  await query(
    `delete from request_log_session_models using ${MODELS} where ${IS_MODEL} and request_log_session_models.calls <= 0`,
    models,
  );
}
