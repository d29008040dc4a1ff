import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { dirname, join } from 'node:path';
import { type Columns, columnsOf } from '../core/columns.ts';
import { insertText } from '../storage/insert-text.ts';
import { openSqliteFile } from '../storage/sqlite-file.ts';
import { BodySegments } from './body-segments.ts';
import { LAST_LOG_MIGRATION, LOG_COLUMNS, LOG_MIGRATION_TABLE, NO_WORKSPACE } from './log-columns.ts';
import { labelsOf } from './log-labels.ts';
import { type Cell, FOUND_MORE, type LogBatch, type LogSink } from './log-sink.ts';

/**
 * The writer's side of the embedded log, on bun:sqlite alone. Its thread loads Kysely only to make the tables, and the
 * gateway has made them before the thread begins: 3 MB less in a process that has nothing to do.
 */
export async function openSqliteSink(file: string): Promise<LogSink> {
  const options = { durability: 'normal' } as const;
  const raw = openSqliteFile(file, options);
  try {
    if (!isUpToDate(raw)) await (await import('./log-migrate.ts')).migrateSqliteLog(file);
    const segments = new BodySegments(join(dirname(file), 'bodies'));
    return {
      insert: sqliteInsert(raw, segments),
      prune: sqlitePrune(raw, segments),
      close: async () => {
        raw.close();
        segments.close();
      },
    };
  } catch (error) {
    raw.close();
    throw error;
  }
}

function isUpToDate(raw: Database): boolean {
  const isThere = raw.query('select 1 from sqlite_master where name = ?').get(LOG_MIGRATION_TABLE);
  return (
    isThere !== null &&
    raw.query(`select 1 from ${LOG_MIGRATION_TABLE} where name = ?`).get(LAST_LOG_MIGRATION) !== null
  );
}

/** Fewer, longer statements: half the time per row of one statement each (measured with nine indexes). */
const ROWS_PER_STATEMENT = 32;
/** Calls of one moment are of few kinds. */
const MOST_PREPARED = 16;
const METADATA = LOG_COLUMNS.indexOf('metadata');

/** Prepared statements of bun:sqlite itself: this is the one hot path of the writer thread. */
function sqliteInsert(raw: Database, segments: BodySegments): LogSink['insert'] {
  const statements = new Statements(raw);
  const label = raw.prepare('insert into request_log_labels values (?, ?, ?, ?, ?) on conflict do nothing');

  const insertAll = (batch: LogBatch) => {
    const columns = batch.columns ?? columnsOf(batch.rows, LOG_COLUMNS);
    const count = batch.bodies.length;
    const places = segments.append(batch.bodies);
    const common = columns.filter(isCommon).map(([cell]) => cell!);
    const own = [...columns.filter((column) => !isCommon(column)), places];
    const { many, one } = statements.for(columns);
    const insertRows = (statement: Statement, from: number, to: number) => {
      const values: SQLQueryBindings[] = [...common];
      for (let row = from; row < to; row++) for (const column of own) values.push(column[row]!);
      statement.run(...values);
    };
    let at = 0;
    for (; at + ROWS_PER_STATEMENT <= count; at += ROWS_PER_STATEMENT) insertRows(many, at, at + ROWS_PER_STATEMENT);
    for (; at < count; at++) insertRows(one, at, at + 1);
    if (columns[METADATA]!.every((metadata) => metadata === null)) return;
    for (const row of batch.rows) {
      for (const [key, value] of labelsOf(row)) {
        label.run(row.workspace_id ?? NO_WORKSPACE, key, value, row.created_at, row.id);
      }
    }
  };
  const transaction = raw.transaction(insertAll);
  return async (batch) => transaction.immediate(batch);
}

const isCommon = (column: readonly unknown[]): boolean => column.length === 1;

interface Prepared {
  readonly many: Statement;
  readonly one: Statement;
}

/** Batches that have the same columns in common share their statements. */
class Statements {
  readonly #raw: Database;
  readonly #prepared = new Map<string, Prepared>();

  constructor(raw: Database) {
    this.#raw = raw;
  }

  for(columns: Columns<Cell>): Prepared {
    const key = columns.map((column) => (isCommon(column) ? '1' : '0')).join('');
    let prepared = this.#prepared.get(key);
    if (!prepared) {
      if (this.#prepared.size >= MOST_PREPARED) this.#forget();
      prepared = { many: this.#prepare(columns, ROWS_PER_STATEMENT), one: this.#prepare(columns, 1) };
      this.#prepared.set(key, prepared);
    }
    return prepared;
  }

  #prepare(columns: Columns<Cell>, rows: number): Statement {
    const common = LOG_COLUMNS.filter((_, at) => isCommon(columns[at]!));
    const own = LOG_COLUMNS.filter((_, at) => !isCommon(columns[at]!));
    return this.#raw.prepare(
      `${insertText('request_logs', common, [...own, 'body_place'], rows)}
       on conflict (id) do update set body_place = coalesce(request_logs.body_place, excluded.body_place),
         hook_results = case when ${FOUND_MORE} then excluded.hook_results else request_logs.hook_results end`,
    );
  }

  #forget() {
    for (const { many, one } of this.#prepared.values()) for (const statement of [many, one]) statement.finalize();
    this.#prepared.clear();
  }
}

interface OldRow {
  readonly id: string;
  readonly created_at: number;
  readonly metadata: string | null;
}

function sqlitePrune(raw: Database, segments: BodySegments): LogSink['prune'] {
  const pruneWorkspace = raw.transaction((workspace: string | null, before: number, atMost: number): number => {
    const old = raw
      .query<OldRow, [string | null, number, number]>(
        `select id, created_at, metadata from request_logs where workspace_id is ? and created_at < ?
         order by created_at, id limit ?`,
      )
      .all(workspace, before, atMost);
    const label = raw.query(
      'delete from request_log_labels where workspace_id = ? and key = ? and value = ? and created_at = ? and log_id = ?',
    );
    for (const row of old)
      for (const [key, value] of labelsOf(row))
        label.run(workspace ?? NO_WORKSPACE, key, value, row.created_at, row.id);
    const ids = JSON.stringify(old.map(({ id }) => id));
    raw.query('delete from request_logs where id in (select value from json_each(?))').run(ids);
    return old.length;
  });
  return async (before, atMost) => {
    segments.prune(before);
    let deleted = 0;
    for (const workspace of workspacesIn(raw)) {
      if (deleted >= atMost) break;
      deleted += pruneWorkspace.immediate(workspace, before, atMost - deleted);
    }
    return deleted;
  };
}

/** Every workspace that has entries, by jumping along the index instead of reading it; null stands for "none". */
function workspacesIn(raw: Database): (string | null)[] {
  const next = raw.query<{ workspace: string | null }, [string]>(
    'select min(workspace_id) as workspace from request_logs where workspace_id > ?',
  );
  const found: (string | null)[] = [null];
  for (let last = ''; ; ) {
    const { workspace } = next.get(last)!;
    if (workspace === null) return found;
    found.push(workspace);
    last = workspace;
  }
}
