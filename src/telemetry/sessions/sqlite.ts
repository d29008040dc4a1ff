import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { COUNTS, type SessionSums, type Summed, sumsOf } from './sums.ts';
import {
  addModels,
  addSessions,
  FIRST_AND_LAST,
  lastEnd,
  MODEL_COLUMNS,
  SESSION_COLUMNS,
  takeEntries,
} from './texts.ts';

const marks = (columns: readonly string[]) => `values (${columns.map(() => '?').join(', ')})`;
const IS_SESSION = 'workspace_id = ? and session_id = ?';

/** Keeps sums of sessions in step with the entries of the embedded log, inside the transactions that change these. */
export class SqliteSessions {
  readonly #raw: Database;

  constructor(raw: Database) {
    this.#raw = raw;
  }

  /** Before they are stored: those that the log has already were added when it got them. */
  add(all: readonly Summed[]): void {
    const rows = all.filter(({ session_id }) => session_id);
    const known = new Set(
      this.#raw
        .query<{ id: string }, [string]>('select id from request_logs where id in (select value from json_each(?))')
        .all(JSON.stringify(rows.map(({ id }) => id)))
        .map(({ id }) => id),
    );
    const session = this.#raw.query(addSessions(marks(SESSION_COLUMNS), { least: 'min', greatest: 'max' }));
    const model = this.#raw.query(addModels(marks(MODEL_COLUMNS)));
    for (const sums of sumsOf(rows.filter(({ id }) => !known.has(id)))) {
      session.run(...SESSION_COLUMNS.map((column) => sums.session[column]));
      for (const each of sums.models) model.run(...MODEL_COLUMNS.map((column) => each[column]));
    }
  }

  /** Removes entries of sessions from the log, and what they amounted to. */
  remove(ids: string): void {
    const gone = this.#raw.query<Summed, [string]>(takeEntries('id in (select value from json_each(?))')).all(ids);
    for (const sums of sumsOf(gone)) this.#take(sums);
  }

  #take({ session, models }: SessionSums): void {
    const key = [session.workspace_id, session.session_id] as const;
    const run = (text: string, ...values: SQLQueryBindings[]) => this.#raw.query(text).run(...values);
    run(
      `update request_log_sessions set ${COUNTS.map((column) => `${column} = ${column} - ?`).join(', ')}
       where ${IS_SESSION}`,
      ...COUNTS.map((column) => session[column]),
      ...key,
    );
    run(`delete from request_log_sessions where ${IS_SESSION} and calls <= 0`, ...key);
    run(`update request_log_sessions set ${FIRST_AND_LAST} where ${IS_SESSION}`, ...key);
    run(
      `update request_log_sessions set ${lastEnd('cast(duration_ms as integer)')}
       where ${IS_SESSION} and ended_at <= ?`,
      ...key,
      session.ended_at,
    );
    for (const { model, calls, nano_dollars } of models) {
      run(
        `update request_log_session_models set calls = calls - ?, nano_dollars = nano_dollars - ?
         where ${IS_SESSION} and model = ?`,
        ...[calls, nano_dollars, ...key, model],
      );
      run(`delete from request_log_session_models where ${IS_SESSION} and model = ? and calls <= 0`, ...key, model);
    }
  }
}
