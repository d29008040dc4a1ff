import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { dirname, join } from 'node:path';
import { Kysely, PostgresDialect, type SelectQueryBuilder, sql } from 'kysely';
import type { Pool } from 'pg';
import { unpackHookResults } from '../core/hook-results.ts';
import { type Engine, migrate } from '../storage/migrate.ts';
import { BodySegments, Share } from './body-segments.ts';
import { cursorOf, type LogDetail, type LogPage, type LogPosition, type LogQuery, type LogReach } from './log-query.ts';
import {
  LOG_COLUMNS,
  LOG_MIGRATION_TABLE,
  LOG_MIGRATIONS,
  type LogRow,
  type LogTables,
  NO_WORKSPACE,
} from './log-schema.ts';
import { compress, decompress, type PackedBody, showMessages, unpack } from './packed-bodies.ts';
import type { LogRecord } from './record.ts';

/** Where request logs live. */
export type LogTarget =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string };

/** Records on their way to the store, each with its packed bodies, if any were kept. */
export interface LogBatch {
  readonly rows: readonly LogRow[];
  readonly bodies: readonly (PackedBody | null)[];
}

export interface LogStore {
  /**
   * All or nothing. A record that is already there is left as it is, so a batch may be sent again; only what guardrails
   * have found since then is added to it, in whatever order the two come.
   */
  insert(batch: LogBatch): Promise<void>;
  list(query: LogQuery): Promise<LogPage>;
  read(reach: LogReach, id: string): Promise<LogDetail | null>;
  /** Deletes at most so many entries that are older; says how many it were. */
  prune(before: number, atMost: number): Promise<number>;
  close(): Promise<void>;
}

/** `writer` creates and migrates the tables; `reader` only reads. */
export type LogRole = 'writer' | 'reader';

export function openLogStore(target: LogTarget, role: LogRole): Promise<LogStore> {
  return target.engine === 'sqlite' ? openSqlite(target.file, role) : openPostgres(target.url, role);
}

async function openSqlite(file: string, role: LogRole): Promise<LogStore> {
  const { openSqliteFile, sqliteDialect } = await import('../storage/sqlite.ts');
  const segments = new BodySegments(join(dirname(file), 'bodies'));
  const options = { durability: 'normal', readonly: role === 'reader' } as const;
  const db = new Kysely<LogTables>({ dialect: sqliteDialect(file, options) });
  try {
    if (role === 'reader')
      return new SqlLogStore({ db, engine: 'sqlite', segments, insert: refuseWrites, close: () => db.destroy() });
    await migrate(db, 'sqlite', LOG_MIGRATION_TABLE, LOG_MIGRATIONS);
    const raw = openSqliteFile(file, options);
    const close = async () => {
      raw.close();
      segments.close();
      await db.destroy();
    };
    return new SqlLogStore({ db, engine: 'sqlite', segments, insert: sqliteInsert(raw, segments), close });
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

async function openPostgres(url: string, role: LogRole): Promise<LogStore> {
  const { postgresPool } = await import('../storage/postgres.ts');
  const pool = postgresPool(url, role === 'reader' ? 4 : 2);
  const db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const close = () => db.destroy();
    if (role === 'reader')
      return new SqlLogStore({ db, engine: 'postgres', segments: null, insert: refuseWrites, close });
    await migrate(db, 'postgres', LOG_MIGRATION_TABLE, LOG_MIGRATIONS);
    return new SqlLogStore({ db, engine: 'postgres', segments: null, insert: postgresInsert(pool), close });
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Results are only ever added to. */
const FOUND_MORE = "length(excluded.hook_results) > length(coalesce(request_logs.hook_results, ''))";

type Insert = (batch: LogBatch) => Promise<void>;

const refuseWrites: Insert = () => Promise.reject(new Error('This log store was opened for reading.'));

/** Fewer, longer statements: half the time per row of one statement each (measured with nine indexes). */
const ROWS_PER_STATEMENT = 16;

/** Prepared statements of bun:sqlite itself: this is the one hot path of the writer thread. */
function sqliteInsert(raw: Database, segments: BodySegments): Insert {
  const columns = [...LOG_COLUMNS, 'body_place'].join(', ');
  const holes = `(${[...LOG_COLUMNS, 'body_place'].map(() => '?').join(', ')})`;
  const prepare = (rows: number) =>
    raw.prepare(
      `insert into request_logs (${columns}) values ${Array(rows).fill(holes).join(', ')}
       on conflict (id) do update set body_place = coalesce(request_logs.body_place, excluded.body_place),
         hook_results = case when ${FOUND_MORE} then excluded.hook_results else request_logs.hook_results end`,
    );
  const many = prepare(ROWS_PER_STATEMENT);
  const one = prepare(1);
  const label = raw.prepare('insert into request_log_labels values (?, ?, ?, ?, ?) on conflict do nothing');

  const insertAll = ({ rows, bodies }: LogBatch) => {
    const places = segments.append(bodies);
    const insertRows = (statement: Statement, from: number, to: number) => {
      const values: SQLQueryBindings[] = [];
      for (let index = from; index < to; index++) {
        for (const column of LOG_COLUMNS) values.push(rows[index]![column] ?? null);
        values.push(places[index]!);
      }
      statement.run(...values);
    };
    let at = 0;
    for (; at + ROWS_PER_STATEMENT <= rows.length; at += ROWS_PER_STATEMENT)
      insertRows(many, at, at + ROWS_PER_STATEMENT);
    for (; at < rows.length; at++) insertRows(one, at, at + 1);
    for (const row of rows) {
      for (const [key, value] of labelsOf(row)) {
        label.run(row.workspace_id ?? NO_WORKSPACE, key, value, row.created_at, row.id);
      }
    }
  };
  const transaction = raw.transaction(insertAll);
  return async (batch) => transaction.immediate(batch);
}

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
      await connection.query(insertRows, [plainText(JSON.stringify(rows))]);
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

/**
 * PostgreSQL text can hold neither U+0000 nor half a surrogate pair, and clients choose model names and metadata. Both
 * are spelt as escapes in the JSON that `JSON.stringify` makes.
 */
const plainText = (json: string): string => json.replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f]..)/g, '$1\uFFFD');

const labelsOf = (row: Pick<LogRow, 'metadata'>): [string, string][] =>
  row.metadata === null ? [] : Object.entries(JSON.parse(plainText(row.metadata)) as Record<string, string>);

type Select = SelectQueryBuilder<LogTables, 'request_logs', LogRow>;

class SqlLogStore implements LogStore {
  readonly insert: Insert;
  readonly close: () => Promise<void>;
  readonly #db: Kysely<LogTables>;
  readonly #engine: Engine;
  /** Where the embedded store keeps bodies; PostgreSQL keeps them itself, for every node to read. */
  readonly #segments: BodySegments | null;

  constructor(parts: {
    db: Kysely<LogTables>;
    engine: Engine;
    segments: BodySegments | null;
    insert: Insert;
    close: () => Promise<void>;
  }) {
    this.#db = parts.db;
    this.#engine = parts.engine;
    this.#segments = parts.segments;
    this.insert = parts.insert;
    this.close = parts.close;
  }

  async list(query: LogQuery): Promise<LogPage> {
    const { limit } = query;
    const workspaces =
      query.workspaceId === null ? await this.#workspacesOf(query.organisationId) : [query.workspaceId];
    let rows: LogRow[] = [];
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
    const { body_place: place, ...row } = found;
    const packed = await this.#bodyOf(id, place);
    const shown = packed ? await showMessages(unpack(packed)) : { request: null, response: null };
    return { ...toRecord(row), ...shown };
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

  async prune(before: number, atMost: number): Promise<number> {
    this.#segments?.prune(before);
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
      if (old.length === 0) return 0;
      for (const row of old) {
        for (const [key, value] of labelsOf(row)) {
          await transaction
            .deleteFrom('request_log_labels')
            .where('workspace_id', '=', workspace ?? NO_WORKSPACE)
            .where('key', '=', key)
            .where('value', '=', value)
            .where('created_at', '=', row.created_at)
            .where('log_id', '=', row.id)
            .execute();
        }
      }
      const ids = JSON.stringify(old.map((row) => row.id));
      const listed =
        this.#engine === 'postgres'
          ? sql<string>`(select value from json_array_elements_text(${ids}::json))`
          : sql<string>`(select value from json_each(${ids}))`;
      await transaction.deleteFrom('request_log_bodies').where('log_id', 'in', listed).execute();
      await transaction.deleteFrom('request_logs').where('id', 'in', listed).execute();
      return old.length;
    });
  }

  #select(query: LogQuery, workspace: string | null, oldest: number | undefined): Select {
    const [pair, ...pairs] = Object.entries(query.metadata ?? {});
    let select = pair ? this.#labelled(workspace, pair) : this.#inWorkspace(workspace);
    select = select.where('request_logs.organisation_id', '=', query.organisationId);
    for (const [column, value] of exactly(query)) select = select.where(column, '=', value);
    // The index over failures is only considered when the query says that it asks for failures.
    if (query.status !== undefined && query.status >= 400)
      select = select.where(sql<boolean>`request_logs.status >= 400`);
    if (query.startTime !== undefined) select = select.where('request_logs.created_at', '>=', query.startTime);
    if (query.endTime !== undefined) select = select.where('request_logs.created_at', '<', query.endTime);
    if (oldest !== undefined) select = select.where('request_logs.created_at', '>=', oldest);
    if (query.pathPrefix !== undefined) {
      select = select.where(
        sql<boolean>`substr(request_logs.path, 1, ${[...query.pathPrefix].length}) = ${query.pathPrefix}`,
      );
    }
    for (const [key, value] of pairs) select = select.where(this.#hasLabel(workspace, key, value));
    if (query.after) select = select.where(this.#beyond(query.after, pair !== undefined));
    const [time, id] = pair
      ? (['label.created_at', 'label.log_id'] as const)
      : (['request_logs.created_at', 'request_logs.id'] as const);
    return select.orderBy(sql.ref(time), 'desc').orderBy(sql.ref(id), 'desc');
  }

  #inWorkspace(workspace: string | null): Select {
    return this.#db
      .selectFrom('request_logs')
      .select(LOG_COLUMNS.map((column) => `request_logs.${column}` as const))
      .where('request_logs.workspace_id', workspace === null ? 'is' : '=', workspace);
  }

  /** Starts from the labels: `cross join` is how SQLite is told to keep that order. */
  #labelled(workspace: string | null, [key, value]: [string, string]): Select {
    const joined = this.#db
      .selectFrom('request_log_labels as label')
      .crossJoin('request_logs')
      .select(LOG_COLUMNS.map((column) => `request_logs.${column}` as const))
      .whereRef('request_logs.id', '=', 'label.log_id')
      .where('label.workspace_id', '=', workspace ?? NO_WORKSPACE)
      .where('label.key', '=', key)
      .where('label.value', '=', value);
    return joined as unknown as Select;
  }

  #hasLabel(workspace: string | null, key: string, value: string) {
    return sql<boolean>`exists (
      select 1 from request_log_labels as other
      where other.workspace_id = ${workspace ?? NO_WORKSPACE} and other.key = ${key} and other.value = ${value}
      and other.created_at = request_logs.created_at and other.log_id = request_logs.id)`;
  }

  #beyond({ createdAt, id }: LogPosition, isLabelled: boolean) {
    return isLabelled
      ? sql<boolean>`(label.created_at, label.log_id) < (${createdAt}, ${id})`
      : sql<boolean>`(request_logs.created_at, request_logs.id) < (${createdAt}, ${id})`;
  }

  async #workspacesOf(organisation: string): Promise<(string | null)[]> {
    const all = await this.#workspaces();
    return all
      .filter((each) => each.workspace_id === null || each.organisation_id === organisation)
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

type ExactColumn =
  | 'status'
  | 'failed_by'
  | 'provider'
  | 'model'
  | 'virtual_key'
  | 'api_key_id'
  | 'user_id'
  | 'trace_id'
  | 'is_stream';

function exactly(query: LogQuery): [`request_logs.${ExactColumn}`, never][] {
  const wanted: Record<ExactColumn, unknown> = {
    status: query.status,
    failed_by: query.failedBy,
    provider: query.provider,
    model: query.model,
    virtual_key: query.virtualKey,
    api_key_id: query.apiKeyId,
    user_id: query.userId,
    trace_id: query.traceId,
    is_stream: query.isStream,
  };
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => [`request_logs.${column as ExactColumn}`, value as never]);
}

const newestFirst = (one: LogRow, other: LogRow) =>
  other.created_at - one.created_at || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

const toRecord = (row: LogRow): LogRecord => ({
  ...row,
  is_stream: Boolean(row.is_stream),
  metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
  hook_results: row.hook_results === null ? null : unpackHookResults(JSON.parse(row.hook_results)),
});
