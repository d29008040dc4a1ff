import { CompiledQuery, type Kysely, sql } from 'kysely';
import type { Pool } from 'pg';
import { oneByOne } from '../core/one-by-one.ts';
import { arrivalsOf, type Earlier, leavingOf } from './aggregates/arrivals.ts';
import { FACT_SOURCES, type Source } from './aggregates/fact.ts';
import { keptMs, USUAL_FIGURES } from './aggregates/options.ts';
import { runOnPostgres } from './aggregates/runners.ts';
import { Tending } from './aggregates/tending.ts';
import { Upkeep } from './aggregates/upkeep.ts';
import type { Work } from './aggregates/work.ts';
import { Share } from './body-segments.ts';
import { makeDays } from './days/days.ts';
import { pruneDays } from './days/retention.ts';
import { addedIn, COUNT_COLUMNS, GuardrailCounts } from './hits/counts.ts';
import { LOG_COLUMNS, type LogRow, type LogTables, NO_WORKSPACE } from './log-columns.ts';
import { labelsOf, plainText } from './log-labels.ts';
import { FOUND_MORE, type Kept, type LogOwner, type LogSink, type SinkOptions, USER_LABEL } from './log-sink.ts';
import { workspacesIn } from './log-workspaces.ts';
import { compress, type PackedBody } from './packed-bodies.ts';
import { searchedIn } from './search/said.ts';
import { postgresAdd } from './search/stores.ts';
import { ARE_LISTED, addToSessions, removeFromSessions } from './sessions/postgres.ts';

const DAYS_EVERY_MS = 60 * 60 * 1000;

/** The writer's side of the log on PostgreSQL. */
export function postgresSink(
  pool: Pool,
  db: Kysely<LogTables>,
  { figures = USUAL_FIGURES, searches = false, isExported = false }: SinkOptions = {},
): Omit<LogSink, 'close'> & { readonly begin: () => Promise<unknown> } {
  const keys = figures.metadataKeys;
  const now = Date.now;
  const upkeep = new Upkeep({ engine: 'postgres', keys, keep: keptMs(figures.keepDays), now });
  // So that inserts always find a connection.
  const inTurn = oneByOne();
  const run = <Result>(work: Work<Result>) => inTurn(() => runOnPostgres(pool, upkeep, work));
  const runInTurn = <Result>(work: Work<Result>) => inTurn(() => runOnPostgres(pool, upkeep, work, { waits: true }));
  const tending = new Tending({ upkeep, run, now });
  const retention = { pool, db, remove: removeRows, workspaces: () => workspacesIn(db), now };
  let daysAt = 0;
  return {
    /** Before anything is inserted: what figures are kept by is known of every entry then. */
    begin: () => runInTurn(upkeep.begin()),
    insert: postgresInsert(pool, { keys, searches, isExported }),
    prune: async (before, atMost) => {
      await runInTurn(upkeep.logPruned(before));
      return pruneDays(retention, before, atMost);
    },
    erase: async (whose, atMost) => {
      const erased = await eraseRows(db, keys, whose, atMost);
      if (erased < atMost) await runInTurn(upkeep.end(whose));
      return erased;
    },
    tend: async () => {
      if (now() >= daysAt) await makeDays(pool, now());
      daysAt = Math.max(daysAt, now() + DAYS_EVERY_MS);
      return tending.step();
    },
    recount: async (isToBegin) => (await runInTurn(upkeep.recount(isToBegin)))!,
  };
}

function postgresInsert(pool: Pool, { keys, searches, isExported }: Kept): LogSink['insert'] {
  const compressing = new Share(() => performance.now());
  const stored = (pieces: PackedBody) => {
    const content = Buffer.concat(pieces);
    return Buffer.from(compressing.spend(() => compress(content)) ?? content);
  };
  const columns = LOG_COLUMNS.join(', ');
  // One parameter for any number of rows; the server takes them apart by the table's own types.
  const insertRows = `insert into request_logs (${columns})
    select ${columns} from json_populate_recordset(null::request_logs, $1::json)
    on conflict do nothing returning id`;
  const knownRows = 'select id, hook_results from request_logs where id = any($1::text[]) order by id for update';
  const addFound = `update request_logs set hook_results = excluded.hook_results
    from json_populate_recordset(null::request_logs, $1::json) as excluded
    where request_logs.id = excluded.id and ${FOUND_MORE}`;
  const wait = 'insert into analytics_waiting (facts) values ($1)';
  const unshipped = 'insert into request_log_unshipped (entries, ids) values ($1, $2)';
  const insertLabels = `insert into request_log_labels (workspace_id, key, value, created_at, log_id)
    select workspace_id, key, value, created_at, log_id
    from json_populate_recordset(null::request_log_labels, $1::json) on conflict do nothing`;

  return async (batch) => {
    const { rows, bodies } = batch;
    const json = plainText(JSON.stringify(rows));
    const labels = rows.flatMap((row) => labelRows(row.workspace_id, row));
    const contents = bodies.flatMap((content, index) => (content ? [rows[index]!.id, stored(content)] : []));
    const searched = searches ? await searchedIn(batch) : [];
    const connection = await pool.connect();
    /** Those that were there before this batch. */
    const knownOf = async (added: readonly { id: string }[]): Promise<Earlier[]> => {
      if (added.length === rows.length) return [];
      const fresh = new Set(added.map(({ id }) => id));
      const ids = rows.map(({ id }) => id).filter((id) => !fresh.has(id));
      return (await connection.query<Earlier>(knownRows, [ids])).rows;
    };
    let failure: Error | undefined;
    try {
      await connection.query('begin');
      const added = await connection.query<{ id: string }>(insertRows, [json]);
      const earlier = await knownOf(added.rows);
      if (earlier.length > 0) await connection.query(addFound, [json]);
      const later = earlier.length > 0 ? await knownOf(added.rows) : earlier;
      if (rows.some(({ session_id }) => session_id)) {
        const fresh = new Set(added.rows.map(({ id }) => id));
        const inSessions = (JSON.parse(json) as LogRow[]).filter(({ id, session_id }) => session_id && fresh.has(id));
        await addToSessions((text, values) => connection.query(text, values), inSessions);
      }
      const ids = added.rows.length === rows.length ? null : new Set(added.rows.map(({ id }) => id));
      const facts = arrivalsOf(batch, keys, { added: ids, earlier, later });
      if (facts !== null) await connection.query(wait, [plainText(facts)]);
      if (rows.some(({ hook_results }) => hook_results !== null)) {
        const counts = new GuardrailCounts().add(addedIn(rows, ids)).move(rows, earlier, later).all();
        if (counts.length > 0) await connection.query(ADD_COUNTS, [plainText(JSON.stringify(counts))]);
      }
      const leaving = added.rows.map(({ id }) => id);
      if (isExported && leaving.length > 0)
        await connection.query(unshipped, [leaving.length, JSON.stringify(leaving)]);
      if (contents.length) await connection.query(insertBodies(contents.length / 2), contents);
      if (labels.length) await connection.query(insertLabels, [JSON.stringify(labels)]);
      if (searched.length) await connection.query(...postgresAdd(searched));
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

const labelRows = (workspace: string | null, row: Pick<LogRow, 'id' | 'created_at' | 'metadata'>) =>
  labelsOf(row).map(([key, value]) => ({
    workspace_id: workspace ?? NO_WORKSPACE,
    key,
    value,
    created_at: row.created_at,
    log_id: row.id,
  }));

/** What guardrails came to, in rows of their own (`hits/`): no two nodes change the same one. */
const ADD_COUNTS = `insert into analytics_guardrails (${COUNT_COLUMNS.join(', ')})
  select ${COUNT_COLUMNS.join(', ')} from json_populate_recordset(null::analytics_guardrails, $1::json)`;

const insertBodies = (count: number) => {
  const holes = Array.from({ length: count }, (_, index) => `($${index * 2 + 1}, $${index * 2 + 2}::bytea)`);
  return `insert into request_log_bodies (log_id, content) values ${holes.join(', ')} on conflict do nothing`;
};

async function eraseRows(
  db: Kysely<LogTables>,
  keys: readonly string[],
  whose: LogOwner,
  atMost: number,
): Promise<number> {
  if ('workspaceId' in whose) return eraseIn(db, keys, whose.workspaceId, whose, atMost);
  let erased = 0;
  for (const workspace of await workspacesIn(db)) {
    if (erased >= atMost) break;
    erased += await eraseIn(db, keys, workspace, whose, atMost - erased);
  }
  return erased;
}

function eraseIn(
  db: Kysely<LogTables>,
  keys: readonly string[],
  workspace: string | null,
  whose: LogOwner,
  atMost: number,
): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const columns = FACT_SOURCES.map((name) => `request_logs.${name}` as const);
    const entries = transaction.selectFrom('request_logs').select(columns).limit(atMost).forUpdate();
    const inWorkspace = entries.where('request_logs.workspace_id', workspace === null ? 'is' : '=', workspace);
    const remove = async (rows: readonly Source[]) => {
      if (rows.length === 0) return 0;
      await sql`insert into analytics_waiting (facts) values (${plainText(leavingOf(rows, keys))})`.execute(
        transaction,
      );
      const counts = new GuardrailCounts().add(rows, -1).all();
      if (counts.length > 0)
        await transaction.executeQuery(CompiledQuery.raw(ADD_COUNTS, [plainText(JSON.stringify(counts))]));
      return removeRows(transaction, workspace, rows);
    };
    if ('workspaceId' in whose) return remove(await inWorkspace.execute());
    const ofOrganisation = inWorkspace.where('organisation_id', '=', whose.organisationId);
    const own = await ofOrganisation.where('user_id', '=', whose.userId).execute();
    if (own.length > 0 || whose.names.length === 0) return remove(own);
    const named = transaction
      .selectFrom('request_log_labels')
      .select('log_id')
      .where('workspace_id', '=', workspace ?? NO_WORKSPACE)
      .where('key', '=', USER_LABEL)
      .where('value', 'in', whose.names);
    return remove(await ofOrganisation.where('id', 'in', named).execute());
  });
}

/** Entries with their labels and bodies. */
async function removeRows(
  db: Kysely<LogTables>,
  workspace: string | null,
  rows: readonly Pick<LogRow, 'id' | 'created_at' | 'metadata'>[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const query = (text: string, values: unknown[]) => db.executeQuery(CompiledQuery.raw(text, values));
  const times = rows.map(({ created_at }) => created_at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const labels = rows.flatMap((row) => labelRows(workspace, row));
  if (labels.length > 0) await query(REMOVE_LABELS, [JSON.stringify(labels), from, to]);
  const ids = JSON.stringify(rows.map((row) => row.id));
  const listed = sql<string>`(select value from json_array_elements_text(${ids}::json))`;
  await db.deleteFrom('request_log_bodies').where('log_id', 'in', listed).execute();
  await db.deleteFrom('request_log_words').where('log_id', 'in', listed).execute();
  await removeFromSessions(query, { ids, from, to });
  await query(`delete from request_logs where ${ARE_LISTED}`, [ids, from, to]);
  return rows.length;
}

const REMOVE_LABELS = `delete from request_log_labels as label
  using json_populate_recordset(null::request_log_labels, $1::json) as gone
  where label.workspace_id = gone.workspace_id and label.key = gone.key and label.value = gone.value
  and label.created_at = gone.created_at and label.log_id = gone.log_id and label.created_at between $2 and $3`;
