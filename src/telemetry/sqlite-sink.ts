import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { dirname, join } from 'node:path';
import { type Columns, columnsOf } from '../core/columns.ts';
import { insertText } from '../storage/insert-text.ts';
import { openSqliteFile } from '../storage/sqlite-file.ts';
import { type Arrived, arrivalsOf, type Earlier, leavingOf } from './aggregates/arrivals.ts';
import { FACT_SOURCES, type Source } from './aggregates/fact.ts';
import { keptMs, USUAL_FIGURES } from './aggregates/options.ts';
import { runOnSqlite } from './aggregates/runners.ts';
import { Tending } from './aggregates/tending.ts';
import { Upkeep } from './aggregates/upkeep.ts';
import type { Work } from './aggregates/work.ts';
import { BodySegments } from './body-segments.ts';
import { addedIn, COUNT_COLUMNS, GuardrailCounts } from './hits/counts.ts';
import { LAST_LOG_MIGRATION, LOG_COLUMNS, LOG_MIGRATION_TABLE, NO_WORKSPACE } from './log-columns.ts';
import { labelsOf } from './log-labels.ts';
import {
  type Cell,
  FOUND_MORE,
  type Kept,
  type LogBatch,
  type LogOwner,
  type LogSink,
  type SinkOptions,
  USER_LABEL,
} from './log-sink.ts';
import { type Searched, SqliteWords } from './search/stores.ts';
import { SqliteSessions } from './sessions/sqlite.ts';

/**
 * The writer's side of the embedded log, on bun:sqlite alone. Its thread loads Kysely only to make the tables, and the
 * gateway has made them before the thread begins: 3 MB less in a process that has nothing to do.
 */
export async function openSqliteSink(
  file: string,
  { figures = USUAL_FIGURES, searches = false, isExported = false }: SinkOptions = {},
): Promise<LogSink> {
  const options = { durability: 'normal' } as const;
  const raw = openSqliteFile(file, options);
  try {
    if (!isUpToDate(raw)) await (await import('./log-migrate.ts')).migrateSqliteLog(file);
    const segments = new BodySegments(join(dirname(file), 'bodies'));
    const keys = figures.metadataKeys;
    const now = Date.now;
    const upkeep = new Upkeep({ engine: 'sqlite', keys, keep: keptMs(figures.keepDays), now });
    const run = async <Result>(work: Work<Result>) => runOnSqlite(raw, upkeep, work);
    // Before anything is inserted: what figures are kept by is known of every entry then.
    await run(upkeep.begin());
    const tending = new Tending({ upkeep, run, now });
    const prune = sqlitePrune(raw, segments);
    const erase = sqliteErase(raw, segments, keys);
    return {
      insert: sqliteInsert(raw, segments, { keys, searches, isExported }),
      prune: async (before, atMost) => {
        await run(upkeep.logPruned(before));
        return prune(before, atMost);
      },
      erase: async (whose, atMost) => {
        const erased = await erase(whose, atMost);
        if (erased < atMost) await run(upkeep.end(whose));
        return erased;
      },
      tend: () => tending.step(),
      recount: (isToBegin) => run(upkeep.recount(isToBegin)),
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
const SESSION = LOG_COLUMNS.indexOf('session_id');
const HOOK_RESULTS = LOG_COLUMNS.indexOf('hook_results');
const ID = LOG_COLUMNS.indexOf('id');

let lastWaiting = 0;

/** Under ids that grow as long as the process runs: SQLite would give them again once what had them is gone, and readers know rows by them. */
function waiting(raw: Database): (facts: string) => void {
  const wait = raw.prepare(`insert into analytics_waiting (id, facts)
    values (max(coalesce((select max(id) from analytics_waiting), 0) + 1, ?), ?)`);
  return (facts) => {
    lastWaiting = Math.max(lastWaiting + 1, Date.now() * 1_000);
    wait.run(lastWaiting, facts);
  };
}

/** Prepared statements of bun:sqlite itself: this is the one hot path of the writer thread. */
function sqliteInsert(raw: Database, segments: BodySegments, { keys, searches, isExported }: Kept): LogSink['insert'] {
  const statements = new Statements(raw);
  const sessions = new SqliteSessions(raw);
  const known = raw.prepare<Earlier, [string]>(
    'select id, hook_results from request_logs where id in (select value from json_each(?))',
  );
  const wait = waiting(raw);
  const addCounts = counting(raw);
  const unshipped = isExported ? raw.prepare('insert into request_log_unshipped (entries, ids) values (?, ?)') : null;
  const label = raw.prepare('insert into request_log_labels values (?, ?, ?, ?, ?) on conflict do nothing');

  const insertAll = (batch: LogBatch) => {
    const columns = batch.columns ?? columnsOf(batch.rows, LOG_COLUMNS);
    const count = batch.bodies.length;
    const ids = JSON.stringify(columns[ID]);
    const earlier = known.all(ids);
    const places = segments.append(batch.bodies);
    if (columns[SESSION]!.some(Boolean)) sessions.add(batch.rows);
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
    const arrived = earlier.length === 0 ? ALL_NEW : arrivedBeside(columns[ID]!, earlier, known.all(ids));
    const facts = arrivalsOf(batch, keys, arrived);
    if (facts !== null) wait(facts);
    if (columns[HOOK_RESULTS]!.some(Boolean))
      addCounts(
        new GuardrailCounts().add(addedIn(batch.rows, arrived.added)).move(batch.rows, arrived.earlier, arrived.later),
      );
    const leaving = arrived.added === null ? (columns[ID] as readonly string[]) : [...arrived.added];
    if (leaving.length > 0) unshipped?.run(leaving.length, JSON.stringify(leaving));
    if (columns[METADATA]!.every((metadata) => metadata === null)) return;
    for (const row of batch.rows) {
      for (const [key, value] of labelsOf(row)) {
        label.run(row.workspace_id ?? NO_WORKSPACE, key, value, row.created_at, row.id);
      }
    }
  };
  const words = new SqliteWords(raw);
  const transaction = raw.transaction((batch: LogBatch, searched: readonly Searched[]) => {
    insertAll(batch);
    words.add(searched);
  });
  return async (batch) => {
    const searched = searches ? await (await import('./search/said.ts')).searchedIn(batch) : NONE;
    transaction.immediate(batch, searched);
  };
}

/** Adds what guardrails came to, in rows of its own (`hits/`). */
function counting(raw: Database): (counts: GuardrailCounts) => void {
  const insert = raw.prepare(insertText('analytics_guardrails', [], COUNT_COLUMNS, 1));
  return (counts) => {
    for (const each of counts.all()) insert.run(...COUNT_COLUMNS.map((name) => each[name]));
  };
}

const NONE: readonly Searched[] = [];
const ALL_NEW: Arrived = { added: null, earlier: [], later: [] };

function arrivedBeside(ids: readonly Cell[], earlier: readonly Earlier[], later: readonly Earlier[]): Arrived {
  const known = new Set(earlier.map(({ id }) => id));
  return { added: new Set((ids as readonly string[]).filter((id) => !known.has(id))), earlier, later };
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

/** Entries with their labels. */
function removeRows(raw: Database, workspace: string | null, rows: readonly OldRow[]): number {
  const label = raw.query(
    'delete from request_log_labels where workspace_id = ? and key = ? and value = ? and created_at = ? and log_id = ?',
  );
  for (const row of rows)
    for (const [key, value] of labelsOf(row)) label.run(workspace ?? NO_WORKSPACE, key, value, row.created_at, row.id);
  const ids = JSON.stringify(rows.map(({ id }) => id));
  new SqliteSessions(raw).remove(ids);
  new SqliteWords(raw).remove(ids);
  raw.query('delete from request_logs where id in (select value from json_each(?))').run(ids);
  return rows.length;
}

interface ErasedRow extends Source {
  readonly body_place: string | null;
}

/** Bodies first: the entries that lead to them are found again should the process die in between. */
function sqliteErase(raw: Database, segments: BodySegments, keys: readonly string[]): LogSink['erase'] {
  const wait = waiting(raw);
  const addCounts = counting(raw);
  const remove = raw.transaction((workspace: string | null, rows: readonly ErasedRow[]) => {
    wait(leavingOf(rows, keys));
    addCounts(new GuardrailCounts().add(rows, -1));
    return removeRows(raw, workspace, rows);
  });
  /** Moves what stays out of a block, so that all of it can go. Finding it takes a look at every entry, and is seldom needed. */
  const empty = (block: string, erased: ReadonlySet<string>) => {
    const staying = raw
      .query<{ id: string; body_place: string }, [string]>(
        'select id, body_place from request_logs where body_place glob ?',
      )
      .all(`${block}:*`)
      .filter(({ body_place }) => !erased.has(body_place));
    const bodies = staying.map(({ body_place }) => segments.read(body_place));
    const places = segments.append(bodies.map((body) => body && [body]));
    const move = raw.query('update request_logs set body_place = ? where id = ?');
    raw.transaction(() => {
      for (const [index, { id }] of staying.entries()) move.run(places[index]!, id);
    })();
    segments.blank(block);
  };
  const eraseIn = (workspace: string | null, whose: LogOwner, atMost: number): number => {
    const rows = rowsOf(raw, workspace, whose, atMost);
    if (rows.length === 0) return 0;
    const places = rows.flatMap(({ body_place }) => body_place ?? []);
    for (const block of segments.erase(places)) empty(block, new Set(places));
    return remove.immediate(workspace, rows);
  };
  return async (whose, atMost) => {
    if ('workspaceId' in whose) return eraseIn(whose.workspaceId, whose, atMost);
    let erased = 0;
    for (const workspace of workspacesIn(raw)) {
      if (erased >= atMost) break;
      erased += eraseIn(workspace, whose, atMost - erased);
    }
    return erased;
  };
}

function rowsOf(raw: Database, workspace: string | null, whose: LogOwner, atMost: number): ErasedRow[] {
  const columns = [...FACT_SOURCES, 'body_place'].map((name) => `entry.${name}`).join(', ');
  if ('workspaceId' in whose)
    return raw
      .query<ErasedRow, [string, number]>(`select ${columns} from request_logs as entry where workspace_id = ? limit ?`)
      .all(whose.workspaceId, atMost);
  const own = raw
    .query<ErasedRow, [string | null, string, string, number]>(
      `select ${columns} from request_logs as entry
       where workspace_id is ? and user_id = ? and organisation_id = ? limit ?`,
    )
    .all(workspace, whose.userId, whose.organisationId, atMost);
  if (own.length > 0) return own;
  return raw
    .query<ErasedRow, [string, string, string, string, number]>(
      `select ${columns} from request_log_labels as label cross join request_logs as entry
       where label.workspace_id = ? and label.key = ? and label.value in (select value from json_each(?))
       and entry.id = label.log_id and entry.organisation_id = ? limit ?`,
    )
    .all(workspace ?? NO_WORKSPACE, USER_LABEL, JSON.stringify(whose.names), whose.organisationId, atMost);
}

function sqlitePrune(raw: Database, segments: BodySegments): LogSink['prune'] {
  const pruneWorkspace = raw.transaction((workspace: string | null, before: number, atMost: number): number => {
    const old = raw
      .query<OldRow, [string | null, number, number]>(
        `select id, created_at, metadata from request_logs where workspace_id is ? and created_at < ?
         order by created_at, id limit ?`,
      )
      .all(workspace, before, atMost);
    return removeRows(raw, workspace, old);
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
  // While a user signs in, the user is known before the workspace is: such entries have an empty one.
  const found: (string | null)[] = [null, ''];
  for (let last = ''; ; ) {
    const { workspace } = next.get(last)!;
    if (workspace === null) return found;
    found.push(workspace);
    last = workspace;
  }
}
