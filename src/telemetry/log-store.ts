import { dirname, join } from 'node:path';
import { CompiledQuery, Kysely, PostgresDialect, type SelectQueryBuilder, sql } from 'kysely';
import type { Pool } from 'pg';
import { unpackHookResults } from '../core/hook-results.ts';
import type { Engine } from '../storage/migrate.ts';
import { entriesOf } from './analytics/entries.ts';
import type { Graph } from './analytics/graph.ts';
import { drawLogGraph } from './analytics/log-graphs.ts';
import { type GroupPage, listGroups } from './analytics/log-groups.ts';
import type { Question } from './analytics/question.ts';
import { BodySegments, Share } from './body-segments.ts';
import {
  LISTED_COLUMNS,
  type ListedRow,
  LOG_COLUMNS,
  type LogRow,
  type LogTables,
  NO_WORKSPACE,
} from './log-columns.ts';
import { conditionsOf, firstPair, isInWorkspace, isLabelled } from './log-conditions.ts';
import { labelsOf, plainText } from './log-labels.ts';
import { migrateLog } from './log-migrate.ts';
import { cursorOf, type LogDetail, type LogPage, type LogPosition, type LogQuery, type LogReach } from './log-query.ts';
import { FOUND_MORE, type LogOwner, type LogSink, USER_LABEL } from './log-sink.ts';
import { compress, decompress, type PackedBody, showExchanges, showMessages, unpack } from './packed-bodies.ts';
import type { LogRecord } from './record.ts';
import { addToSessions, removeFromSessions } from './sessions/postgres.ts';
import {
  listSessions,
  readSessions,
  type SessionPage,
  type SessionQuery,
  type ShownSession,
} from './sessions/reading.ts';
import { SUMMED, type Summed } from './sessions/sums.ts';
import { showAttempts } from './shown-attempts.ts';
import { openSqliteSink } from './sqlite-sink.ts';

/** Where request logs live. */
export type LogTarget =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string };

export interface LogStore extends LogSink {
  list(query: LogQuery): Promise<LogPage>;
  read(reach: LogReach, id: string): Promise<LogDetail | null>;
  sessions(query: SessionQuery): Promise<SessionPage>;
  session(reach: LogReach, id: string): Promise<readonly ShownSession[]>;
  /** Counts entries. `deadline` is a moment of `performance.now()`; after it, throws `analytics_too_slow`. */
  analyse(question: Question, deadline: number): Promise<Graph | GroupPage>;
}

/** `writer` creates and migrates the tables; `reader` only reads. */
export type LogRole = 'writer' | 'reader';

export function openLogStore(target: LogTarget, role: LogRole): Promise<LogStore> {
  return target.engine === 'sqlite' ? openSqlite(target.file, role) : openPostgres(target.url, role);
}

async function openSqlite(file: string, role: LogRole): Promise<LogStore> {
  const { sqliteDialect } = await import('../storage/sqlite.ts');
  const sink = role === 'reader' ? null : await openSqliteSink(file);
  const segments = new BodySegments(join(dirname(file), 'bodies'));
  const options = { durability: 'normal', readonly: role === 'reader' } as const;
  const db = new Kysely<LogTables>({ dialect: sqliteDialect(file, options) });
  const close = async () => {
    await sink?.close();
    segments.close();
    await db.destroy();
  };
  const { insert = refuseWrites, prune, erase } = sink ?? {};
  return new SqlLogStore({ db, engine: 'sqlite', segments, insert, prune, erase, close });
}

async function openPostgres(url: string, role: LogRole): Promise<LogStore> {
  const { postgresPool } = await import('../storage/postgres.ts');
  const pool = postgresPool(url, role === 'reader' ? 4 : 2);
  const db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const close = () => db.destroy();
    if (role === 'reader')
      return new SqlLogStore({ db, engine: 'postgres', segments: null, insert: refuseWrites, close });
    await migrateLog(db, 'postgres');
    return new SqlLogStore({ db, engine: 'postgres', segments: null, insert: postgresInsert(pool), close });
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

type Insert = LogSink['insert'];

const refuseWrites: Insert = () => Promise.reject(new Error('This log store was opened for reading.'));

function postgresInsert(pool: Pool): Insert {
  const compressing = new Share(() => performance.now());
  const stored = (pieces: PackedBody) => {
    const content = Buffer.concat(pieces);
    return Buffer.from(compressing.spend(() => compress(content)) ?? content);
  };
  const columns = LOG_COLUMNS.join(', ');
  // One parameter for any number of rows; the server takes them apart by the table's own types.
  const insertRows = `insert into request_logs (${columns})
    select ${columns} from json_populate_recordset(null::request_logs, $1::json)
    on conflict (id) do update set hook_results = excluded.hook_results where ${FOUND_MORE}`;
  // Rows that were not there, as far as sessions need them.
  const insertSessions = `with stored as (${insertRows} returning xmax = 0 as is_new, ${SUMMED.join(', ')})
    select ${SUMMED.join(', ')} from stored where is_new and session_id is not null`;
  const insertLabels = `insert into request_log_labels (workspace_id, key, value, created_at, log_id)
    select workspace_id, key, value, created_at, log_id
    from json_populate_recordset(null::request_log_labels, $1::json) on conflict do nothing`;

  return async ({ rows, bodies }) => {
    const labels = rows.flatMap((row) =>
      labelsOf(row).map(([key, value]) => ({
        workspace_id: row.workspace_id ?? NO_WORKSPACE,
        key,
        value,
        created_at: row.created_at,
        log_id: row.id,
      })),
    );
    const contents = bodies.flatMap((content, index) => (content ? [rows[index]!.id, stored(content)] : []));
    const connection = await pool.connect();
    let failure: Error | undefined;
    try {
      await connection.query('begin');
      const given = [plainText(JSON.stringify(rows))];
      if (rows.some(({ session_id }) => session_id)) {
        const { rows: fresh } = await connection.query<Summed>(insertSessions, given);
        await addToSessions((text, values) => connection.query(text, values), fresh);
      } else await connection.query(insertRows, given);
      if (contents.length) await connection.query(insertBodies(contents.length / 2), contents);
      if (labels.length) await connection.query(insertLabels, [JSON.stringify(labels)]);
      await connection.query('commit');
    } catch (error) {
      failure = error as Error;
      await connection.query('rollback').catch(() => {});
      throw error;
    } finally {
      connection.release(failure);
    }
  };
}

const insertBodies = (count: number) => {
  const holes = Array.from({ length: count }, (_, index) => `($${index * 2 + 1}, $${index * 2 + 2}::bytea)`);
  return `insert into request_log_bodies (log_id, content) values ${holes.join(', ')} on conflict do nothing`;
};

type Select = SelectQueryBuilder<LogTables, 'request_logs', ListedRow>;

class SqlLogStore implements LogStore {
  readonly insert: Insert;
  readonly erase: LogSink['erase'];
  readonly close: () => Promise<void>;
  readonly #prune: LogSink['prune'];
  readonly #db: Kysely<LogTables>;
  readonly #engine: Engine;
  /** Where the embedded store keeps bodies; PostgreSQL keeps them itself, for every node to read. */
  readonly #segments: BodySegments | null;

  constructor(parts: {
    db: Kysely<LogTables>;
    engine: Engine;
    segments: BodySegments | null;
    insert: Insert;
    prune?: LogSink['prune'];
    erase?: LogSink['erase'];
    close: () => Promise<void>;
  }) {
    this.#db = parts.db;
    this.#engine = parts.engine;
    this.#segments = parts.segments;
    this.insert = parts.insert;
    this.#prune = parts.prune ?? ((before, atMost) => this.#pruneRows(before, atMost));
    this.erase = parts.erase ?? ((whose, atMost) => this.#eraseRows(whose, atMost));
    this.close = parts.close;
  }

  async list(query: LogQuery): Promise<LogPage> {
    const { limit } = query;
    const workspaces = await this.#within(query);
    let rows: ListedRow[] = [];
    // One question per workspace keeps every index usable; each branch only looks for what could still make the page.
    for (const workspace of workspaces) {
      const oldest = rows.length > limit ? rows[limit]!.created_at : undefined;
      const branch = await this.#select(query, workspace, oldest)
        .limit(limit + 1)
        .execute();
      rows = rows.length === 0 ? branch : [...rows, ...branch].sort(newestFirst).slice(0, limit + 1);
    }
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const hasMore = rows.length > limit;
    return {
      object: 'list',
      data: page.map(toRecord),
      has_more: hasMore,
      ...(hasMore && last && { next_cursor: cursorOf({ createdAt: last.created_at, id: last.id }) }),
    };
  }

  async read({ organisationId, workspaceId }: LogReach, id: string): Promise<LogDetail | null> {
    let select = this.#db
      .selectFrom('request_logs')
      .select([...LOG_COLUMNS, 'body_place'])
      .where('id', '=', id)
      .where('organisation_id', '=', organisationId);
    if (workspaceId !== null) select = select.where('workspace_id', '=', workspaceId);
    const found = await select.executeTakeFirst();
    if (!found) return null;
    const { body_place: place, ...stored } = found;
    const { attempts: _packed, ...row } = stored;
    const packed = await this.#bodyOf(id, place);
    const bodies = packed && unpack(packed);
    const shown = bodies ? await showMessages(bodies) : { request: null, response: null };
    return { ...toRecord(row), ...showAttempts(stored, bodies ? showExchanges(bodies) : []), ...shown };
  }

  async sessions(query: SessionQuery): Promise<SessionPage> {
    return listSessions(this.#db, await this.#within(query), query);
  }

  async session(reach: LogReach, id: string): Promise<readonly ShownSession[]> {
    return readSessions(this.#db, await this.#within(reach), reach, id);
  }

  async analyse(question: Question, deadline: number): Promise<Graph | GroupPage> {
    const entries = entriesOf({
      db: this.#db,
      filter: question.filter,
      workspaces: await this.#within(question.filter),
    });
    return question.kind === 'graph'
      ? drawLogGraph(question, entries, deadline)
      : listGroups(question, entries, deadline);
  }

  async #bodyOf(id: string, place: string | null): Promise<Uint8Array | null> {
    if (this.#segments) return place === null ? null : this.#segments.read(place);
    const stored = await this.#db
      .selectFrom('request_log_bodies')
      .select('content')
      .where('log_id', '=', id)
      .executeTakeFirst();
    return stored ? decompress(stored.content) : null;
  }

  prune(before: number, atMost: number): Promise<number> {
    return this.#prune(before, atMost);
  }

  async #pruneRows(before: number, atMost: number): Promise<number> {
    let deleted = 0;
    for (const { workspace_id } of await this.#workspaces()) {
      if (deleted >= atMost) break;
      deleted += await this.#pruneWorkspace(workspace_id, before, atMost - deleted);
    }
    return deleted;
  }

  #pruneWorkspace(workspace: string | null, before: number, atMost: number): Promise<number> {
    return this.#db.transaction().execute(async (transaction) => {
      const old = await transaction
        .selectFrom('request_logs')
        .select(['id', 'created_at', 'metadata'])
        .where('workspace_id', workspace === null ? 'is' : '=', workspace)
        .where('created_at', '<', before)
        .orderBy('created_at')
        .orderBy('id')
        .limit(atMost)
        .execute();
      return removeRows(transaction, workspace, old);
    });
  }

  async #eraseRows(whose: LogOwner, atMost: number): Promise<number> {
    if ('workspaceId' in whose) return this.#eraseIn(whose.workspaceId, whose, atMost);
    let erased = 0;
    for (const { workspace_id } of await this.#workspaces()) {
      if (erased >= atMost) break;
      erased += await this.#eraseIn(workspace_id, whose, atMost - erased);
    }
    return erased;
  }

  #eraseIn(workspace: string | null, whose: LogOwner, atMost: number): Promise<number> {
    return this.#db.transaction().execute(async (transaction) => {
      const columns = ['request_logs.id', 'request_logs.created_at', 'request_logs.metadata'] as const;
      const entries = transaction.selectFrom('request_logs').select(columns).limit(atMost);
      const inWorkspace = entries.where('request_logs.workspace_id', workspace === null ? 'is' : '=', workspace);
      if ('workspaceId' in whose) return removeRows(transaction, workspace, await inWorkspace.execute());
      const ofOrganisation = inWorkspace.where('organisation_id', '=', whose.organisationId);
      const own = await ofOrganisation.where('user_id', '=', whose.userId).execute();
      if (own.length > 0) return removeRows(transaction, workspace, own);
      const named = transaction
        .selectFrom('request_log_labels')
        .select('log_id')
        .where('workspace_id', '=', workspace ?? NO_WORKSPACE)
        .where('key', '=', USER_LABEL)
        .where('value', 'in', whose.names);
      return removeRows(transaction, workspace, await ofOrganisation.where('id', 'in', named).execute());
    });
  }

  #select(query: LogQuery, workspace: string | null, oldest: number | undefined): Select {
    const pair = firstPair(query);
    let select = pair ? this.#labelled(workspace, pair) : this.#inWorkspace(workspace);
    for (const condition of conditionsOf(query, workspace)) select = select.where(condition);
    if (query.startTime !== undefined) select = select.where('request_logs.created_at', '>=', query.startTime);
    if (query.endTime !== undefined) select = select.where('request_logs.created_at', '<', query.endTime);
    if (oldest !== undefined) select = select.where('request_logs.created_at', '>=', oldest);
    if (query.after) select = select.where(this.#beyond(query.after, pair !== undefined));
    const [time, id] = pair
      ? (['label.created_at', 'label.log_id'] as const)
      : (['request_logs.created_at', 'request_logs.id'] as const);
    return select.orderBy(sql.ref(time), 'desc').orderBy(sql.ref(id), 'desc');
  }

  #inWorkspace(workspace: string | null): Select {
    return this.#db
      .selectFrom('request_logs')
      .select(LISTED_COLUMNS.map((column) => `request_logs.${column}` as const))
      .where(isInWorkspace(workspace));
  }

  /** Starts from the labels: `cross join` is how SQLite is told to keep that order. */
  #labelled(workspace: string | null, pair: [string, string]): Select {
    const joined = this.#db
      .selectFrom('request_log_labels as label')
      .crossJoin('request_logs')
      .select(LISTED_COLUMNS.map((column) => `request_logs.${column}` as const))
      .where(isLabelled(workspace, pair));
    return joined as unknown as Select;
  }

  #beyond({ createdAt, id }: LogPosition, isLabelled: boolean) {
    return isLabelled
      ? sql<boolean>`(label.created_at, label.log_id) < (${createdAt}, ${id})`
      : sql<boolean>`(request_logs.created_at, request_logs.id) < (${createdAt}, ${id})`;
  }

  /** Workspaces that may have entries within reach. */
  async #within({ organisationId, workspaceId }: LogReach): Promise<(string | null)[]> {
    if (workspaceId !== null) return [workspaceId];
    const all = await this.#workspaces();
    return all
      .filter((each) => each.workspace_id === null || each.organisation_id === organisationId)
      .map((each) => each.workspace_id);
  }

  /** Every workspace that has entries, by jumping along the index instead of reading it; null stands for "none". */
  async #workspaces(): Promise<{ workspace_id: string | null; organisation_id: string | null }[]> {
    const { rows } = await sql<{ workspace_id: string; organisation_id: string | null }>`
      with recursive jump(workspace_id) as (
        select (select min(workspace_id) from request_logs)
        union all
        select (select min(workspace_id) from request_logs where workspace_id > jump.workspace_id)
        from jump where jump.workspace_id is not null)
      select workspace_id, (
        select organisation_id from request_logs where request_logs.workspace_id = jump.workspace_id limit 1
      ) as organisation_id
      from jump where workspace_id is not null`.execute(this.#db);
    return [...rows, { workspace_id: null, organisation_id: null }];
  }
}

/** Entries with their labels and bodies, of PostgreSQL. */
async function removeRows(
  db: Kysely<LogTables>,
  workspace: string | null,
  rows: readonly Pick<LogRow, 'id' | 'created_at' | 'metadata'>[],
): Promise<number> {
  if (rows.length === 0) return 0;
  for (const row of rows) {
    for (const [key, value] of labelsOf(row)) {
      await db
        .deleteFrom('request_log_labels')
        .where('workspace_id', '=', workspace ?? NO_WORKSPACE)
        .where('key', '=', key)
        .where('value', '=', value)
        .where('created_at', '=', row.created_at)
        .where('log_id', '=', row.id)
        .execute();
    }
  }
  const ids = JSON.stringify(rows.map((row) => row.id));
  const listed = sql<string>`(select value from json_array_elements_text(${ids}::json))`;
  await db.deleteFrom('request_log_bodies').where('log_id', 'in', listed).execute();
  await removeFromSessions((text, values) => db.executeQuery(CompiledQuery.raw(text, values)), ids);
  await db.deleteFrom('request_logs').where('id', 'in', listed).execute();
  return rows.length;
}

const newestFirst = (one: ListedRow, other: ListedRow) =>
  other.created_at - one.created_at || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

const toRecord = (row: ListedRow): LogRecord => ({
  ...row,
  is_stream: Boolean(row.is_stream),
  metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
  hook_results: row.hook_results === null ? null : unpackHookResults(JSON.parse(row.hook_results)),
});
