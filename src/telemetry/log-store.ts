import { dirname, join } from 'node:path';
import { Kysely, PostgresDialect, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { fail } from '../core/errors.ts';
import { unpackHookResults } from '../core/hook-results.ts';
import { oneByOne } from '../core/one-by-one.ts';
import type { Engine } from '../storage/migrate.ts';
import { entriesOf } from './analytics/entries.ts';
import { Figures } from './analytics/figures.ts';
import type { Graph } from './analytics/graph.ts';
import { drawLogGraph } from './analytics/log-graphs.ts';
import { type Facets, type GroupPage, listFacets, listGroups } from './analytics/log-groups.ts';
import type { HitQuestion, Question } from './analytics/question.ts';
import { drawSeries, type Series } from './analytics/series.ts';
import { ANSWER_WITHIN_MS, allInSlices, allOfServer, type Slices } from './analytics/slices.ts';
import { type Snapshots, sqliteSnapshots } from './analytics/snapshots.ts';
import { type Summed, sumUp } from './analytics/sums.ts';
import type { TimeRange } from './analytics/time-range.ts';
import { BodySegments } from './body-segments.ts';
import { DAY_MS, dayOf } from './days/days.ts';
import { withDaysPrepared } from './days/dividing.ts';
import { saidTerms } from './filter/language.ts';
import { saysOf } from './filter/says.ts';
import { type CountedGuardrails, countGuardrails, latestHits } from './hits/reading.ts';
import { LISTED_COLUMNS, type ListedRow, LOG_COLUMNS, type LogTables } from './log-columns.ts';
import { asksForLabels, conditionsOf, firstPair, isInWorkspace, isLabelled } from './log-conditions.ts';
import { migrateLog } from './log-migrate.ts';
import {
  cursorOf,
  type LogDetail,
  type LogFilter,
  type LogPage,
  type LogPosition,
  type LogQuery,
  type LogReach,
} from './log-query.ts';
import type { LogSink, SinkOptions } from './log-sink.ts';
import { workspacesWithin, workspacesWithSessions } from './log-workspaces.ts';
import { decompress, showExchanges, showMessages, unpack } from './packed-bodies.ts';
import { postgresSink } from './postgres-sink.ts';
import type { LogRecord } from './record.ts';
import {
  listSessions,
  readSessions,
  type SessionPage,
  type SessionQuery,
  type ShownSession,
} from './sessions/reading.ts';
import type { EntryPlace, PackingStore } from './shipments/pack.ts';
import { type Begun, endShipment, nextShipment } from './shipments/waiting.ts';
import { showAttempts } from './shown-attempts.ts';
import { openSqliteSink } from './sqlite-sink.ts';

/** Where request logs live. */
export type LogTarget =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string };

export interface LogStore extends LogSink, PackingStore {
  list(query: LogQuery): Promise<LogPage>;
  read(reach: LogReach, id: string): Promise<LogDetail | null>;
  sessions(query: SessionQuery): Promise<SessionPage>;
  session(reach: LogReach, id: string): Promise<readonly ShownSession[]>;
  /** Counts entries. `deadline` is a moment of `performance.now()`; after it, throws `analytics_too_slow`. */
  analyse(question: Question, deadline: number): Promise<Analysed>;
  /** The entries that leave next, the same ones until they are there. */
  nextShipment(atMost: number): Promise<Begun | null>;
  endShipment(name: string): Promise<void>;
}

export type Analysed = Graph | GroupPage | Facets | Series | readonly Summed[] | CountedGuardrails | LogPage;

/** `writer` creates and migrates the tables; `reader` only reads; `packer` also marks what has been exported. */
export type LogRole = 'writer' | 'reader' | 'packer';

export function openLogStore(target: LogTarget, role: LogRole, options?: SinkOptions): Promise<LogStore> {
  return target.engine === 'sqlite' ? openSqlite(target.file, role, options) : openPostgres(target.url, role, options);
}

async function openSqlite(file: string, role: LogRole, sinkOptions?: SinkOptions): Promise<LogStore> {
  const { sqliteDialect } = await import('../storage/sqlite.ts');
  const sink = role === 'writer' ? await openSqliteSink(file, sinkOptions) : NO_SINK;
  const segments = new BodySegments(join(dirname(file), 'bodies'));
  const options = { durability: 'normal', readonly: role === 'reader' } as const;
  const open = () => new Kysely<LogTables>({ dialect: sqliteDialect(file, options) });
  // Questions about figures hold their connection until all of a page are answered; who reads a log entry waits for none.
  const [db, figures] = [open(), open()];
  const close = async () => {
    await sink.close();
    segments.close();
    await Promise.all([db.destroy(), figures.destroy()]);
  };
  return new SqlLogStore({
    db,
    snapshots: sqliteSnapshots(figures),
    engine: 'sqlite',
    segments,
    sink: { ...sink, close },
  });
}

async function openPostgres(url: string, role: LogRole, sinkOptions?: SinkOptions): Promise<LogStore> {
  const { postgresPool } = await import('../storage/postgres.ts');
  const { postgresSnapshots } = await import('./analytics/postgres-snapshots.ts');
  const pool = postgresPool(url, role === 'reader' ? 4 : 2);
  const db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const close = () => db.destroy();
    if (role === 'writer') await withDaysPrepared(pool, () => migrateLog(db, 'postgres'));
    const sink = role === 'writer' ? postgresSink(pool, db, sinkOptions) : NO_SINK;
    if ('begin' in sink) await sink.begin();
    return new SqlLogStore({
      db,
      snapshots: postgresSnapshots(pool),
      engine: 'postgres',
      segments: null,
      sink: { ...sink, close },
    });
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

const refuseWrites = () => Promise.reject(new Error('This log store was opened for reading.'));
const NO_SINK: LogSink = {
  insert: refuseWrites,
  prune: refuseWrites,
  erase: refuseWrites,
  tend: refuseWrites,
  recount: refuseWrites,
  close: async () => {},
};

type Select = SelectQueryBuilder<LogTables, 'request_logs', ListedRow>;

interface SqlLogParts {
  readonly db: Kysely<LogTables>;
  /** What figures are read in. */
  readonly snapshots: Snapshots;
  readonly engine: Engine;
  readonly segments: BodySegments | null;
  readonly sink: LogSink;
}

class SqlLogStore implements LogStore {
  readonly insert: LogSink['insert'];
  readonly prune: LogSink['prune'];
  readonly erase: LogSink['erase'];
  readonly tend: LogSink['tend'];
  readonly recount: LogSink['recount'];
  readonly close: LogSink['close'];
  readonly #db: Kysely<LogTables>;
  readonly #engine: Engine;
  readonly #figures: Figures;
  readonly #inTurn = oneByOne();
  /** Where the embedded store keeps bodies; PostgreSQL keeps them itself, for every node to read. */
  readonly #segments: BodySegments | null;

  constructor(parts: SqlLogParts) {
    this.#db = parts.db;
    this.#segments = parts.segments;
    this.#engine = parts.engine;
    this.#figures = new Figures(parts.snapshots, parts.engine);
    const { insert, prune, erase, tend, recount, close } = parts.sink;
    this.insert = insert;
    this.prune = prune;
    this.erase = erase;
    this.tend = tend;
    this.recount = recount;
    this.close = close;
  }

  async list(query: LogQuery): Promise<LogPage> {
    const { limit } = query;
    const workspaces = workspacesWithin(this.#db, this.#engine, query);
    const rows: ListedRow[] = [];
    for (const time of backwards(query, this.#engine)) {
      rows.push(...(await this.#newest(query, time, await workspaces(time), limit + 1 - rows.length)));
      if (rows.length > limit) break;
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

  /** The newest entries of a time. */
  async #newest(
    query: LogQuery,
    time: TimeRange,
    workspaces: readonly (string | null)[],
    count: number,
  ): Promise<readonly ListedRow[]> {
    const isAtOnce = this.#engine === 'postgres' && !asksForLabels(query) && saidTerms(query.terms).length === 0;
    if (isAtOnce && workspaces.length > 1) return this.#newestAtOnce(query, time, workspaces, count);
    let rows: ListedRow[] = [];
    // One question per workspace keeps every index usable; each branch only looks for what could still make the page.
    for (const workspace of workspaces) {
      const from = rows.length < count ? time.from : rows.at(-1)!.created_at;
      const branch = await this.#select(query, workspace, { from, until: time.until }).limit(count).execute();
      rows = rows.length === 0 ? branch : [...rows, ...branch].sort(newestFirst).slice(0, count);
    }
    return rows;
  }

  /** The same in one statement: PostgreSQL plans the question about a workspace once, and answers it for each. */
  async #newestAtOnce(query: LogQuery, time: TimeRange, workspaces: readonly (string | null)[], count: number) {
    const named = workspaces.filter((workspace) => workspace !== null);
    const isThere = sql<boolean>`request_logs.workspace_id = place.workspace_id`;
    const ofEach = this.#narrowed(this.#plain(isThere), query, null, time).limit(count);
    const ofNone = this.#select(query, null, time).limit(count);
    const { rows } = await sql<ListedRow>`
      select found.* from unnest(${named}::text[]) as place(workspace_id) cross join lateral (${ofEach}) as found
      union all (${ofNone}) order by created_at desc, id desc limit ${sql.lit(count)}`.execute(this.#db);
    return rows;
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
    return this.#detailOf(found, true);
  }

  async placesOf(ids: readonly string[]): Promise<readonly EntryPlace[]> {
    return this.#db
      .selectFrom('request_logs')
      .select(['id', 'created_at', 'workspace_id'])
      .where('id', 'in', ids)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }

  async readAll(ids: readonly string[], withBodies: boolean): Promise<readonly LogDetail[]> {
    const rows = await this.#db
      .selectFrom('request_logs')
      .select([...LOG_COLUMNS, 'body_place'])
      .where('id', 'in', ids)
      .execute();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const found = ids.flatMap((id) => byId.get(id) ?? []);
    return Promise.all(found.map((row) => this.#detailOf(row, withBodies)));
  }

  nextShipment(atMost: number): Promise<Begun | null> {
    return nextShipment(this.#db, this.#engine, atMost);
  }

  endShipment(name: string): Promise<void> {
    return endShipment(this.#db, name);
  }

  async #detailOf(found: LogTables['request_logs'], withBodies: boolean): Promise<LogDetail> {
    const { body_place: place, ...stored } = found;
    const { attempts: _packed, ...row } = stored;
    const packed = withBodies ? await this.#bodyOf(row.id, place) : null;
    const bodies = packed && unpack(packed);
    const shown = bodies ? await showMessages(bodies) : { request: null, response: null };
    return { ...toRecord(row), ...showAttempts(stored, bodies ? showExchanges(bodies) : []), ...shown };
  }

  async sessions(query: SessionQuery): Promise<SessionPage> {
    return listSessions(this.#db, await workspacesWithSessions(this.#db, query), query);
  }

  async session(reach: LogReach, id: string): Promise<readonly ShownSession[]> {
    return readSessions(this.#db, await workspacesWithSessions(this.#db, reach), reach, id);
  }

  async analyse(question: Question, deadline: number): Promise<Analysed> {
    if (performance.now() > deadline) fail('analytics_too_slow', ANSWER_WITHIN_MS / 1_000);
    if (question.kind === 'guardrails') return countGuardrails(this.#db, question.reach, question.range);
    if (question.kind === 'hits') return this.#hits(question);
    const workspaces = workspacesWithin(this.#db, this.#engine, question.filter);
    const entriesFor = (filter: LogFilter) => entriesOf({ db: this.#db, engine: this.#engine, filter, workspaces });
    const [figures, slices] = [this.#figures, this.#slices];
    if (question.kind === 'series') return drawSeries(question, { entriesFor, figures, slices }, deadline);
    const sources = { entries: entriesFor(question.filter), figures, slices };
    if (question.kind === 'graph') return drawLogGraph(question, sources, deadline);
    if (question.kind === 'sums') return sumUp(question, sources, deadline);
    return question.kind === 'group'
      ? listGroups(question, sources, deadline)
      : listFacets(question, sources, deadline);
  }

  /** One question at a time: a client that reads a log entry waits for one slice at most, however many are asked. */
  readonly #slices: Slices = async (times, ask, deadline) => {
    const all = this.#engine === 'postgres' ? allOfServer : allInSlices;
    if (times.length > 0) await this.#inTurn(() => all(times, ask, deadline));
  };

  async #hits({ reach, guardrail, limit }: HitQuestion): Promise<LogPage> {
    const ids = await latestHits(this.#db, reach, guardrail, limit);
    if (ids.length === 0) return { object: 'list', data: [], has_more: false };
    let select = this.#db
      .selectFrom('request_logs')
      .select(LISTED_COLUMNS)
      .where('id', 'in', ids)
      .where('organisation_id', '=', reach.organisationId);
    if (reach.workspaceId !== null) select = select.where('workspace_id', '=', reach.workspaceId);
    const rows = await select.execute();
    return { object: 'list', data: rows.sort(newestFirst).map(toRecord), has_more: false };
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

  #select(query: LogQuery, workspace: string | null, time: TimeRange): Select {
    const pair = firstPair(query);
    const source = pair ? this.#labelled(workspace, pair) : this.#plain(isInWorkspace(workspace));
    return this.#narrowed(source, query, workspace, time);
  }

  #narrowed(source: Select, query: LogQuery, workspace: string | null, { from, until }: TimeRange): Select {
    const pair = firstPair(query);
    let select = source;
    for (const condition of conditionsOf(query, workspace)) select = select.where(condition);
    for (const term of saidTerms(query.terms)) select = select.where(saysOf(term, this.#engine));
    if (from > 0) select = select.where(this.#notBefore(from));
    if (Number.isFinite(until)) select = select.where('request_logs.created_at', '<', until);
    if (query.after) select = select.where(this.#beyond(query.after, pair !== undefined));
    const [time, id] = pair
      ? (['label.created_at', 'label.log_id'] as const)
      : (['request_logs.created_at', 'request_logs.id'] as const);
    return select.orderBy(sql.ref(time), 'desc').orderBy(sql.ref(id), 'desc');
  }

  /**
   * PostgreSQL looks at its table of today now and then, and thinks that next to nothing came since: it would read and sort all of the last
   * hour. Of a moment that it learns when it begins to read it thinks that a third came later. The day says which tables are meant.
   */
  #notBefore(moment: number): RawBuilder<boolean> {
    const createdAt = sql.ref('request_logs.created_at');
    return this.#engine === 'postgres'
      ? sql<boolean>`${createdAt} >= ${dayOf(moment)} and ${createdAt} >= (select ${moment}::bigint)`
      : sql<boolean>`${createdAt} >= ${moment}`;
  }

  #plain(isThere: RawBuilder<boolean>): Select {
    return this.#db
      .selectFrom('request_logs')
      .select(LISTED_COLUMNS.map((column) => `request_logs.${column}` as const))
      .where(isThere);
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
}

/** How many days are looked through first, and then. */
const DAYS_BACK = [1, 7];

/**
 * The time of a query, the latest part first: PostgreSQL looks into the tables of the days that it is asked about, and most pages are
 * full after the first.
 */
function backwards(
  { startTime = 0, endTime = Number.POSITIVE_INFINITY, after }: LogQuery,
  engine: Engine,
): TimeRange[] {
  if (engine === 'sqlite') return [{ from: startTime, until: endTime }];
  const until = Math.min(endTime, after ? after.createdAt + 1 : Number.POSITIVE_INFINITY);
  const last = dayOf(Math.min(until, Date.now()));
  const bounds = DAYS_BACK.map((days) => last - days * DAY_MS).filter((bound) => bound > startTime);
  return [...bounds, startTime].map((from, at) => ({ from, until: at === 0 ? until : bounds[at - 1]! }));
}

const newestFirst = (one: ListedRow, other: ListedRow) =>
  other.created_at - one.created_at || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

const toRecord = (row: ListedRow): LogRecord => ({
  ...row,
  is_stream: Boolean(row.is_stream),
  metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
  hook_results: row.hook_results === null ? null : unpackHookResults(JSON.parse(row.hook_results)),
});
