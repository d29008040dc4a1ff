import { type Kysely, sql } from 'kysely';
import { bigint, bytes, type Engine, type Migration, real, text } from '../storage/migrate.ts';
import { beginDigests, createAggregates, createRuns } from './aggregates/schema.ts';
import { divideByDay } from './days/dividing.ts';
import { createGuardrailCounts } from './hits/schema.ts';
import { LAST_LOG_MIGRATION } from './log-columns.ts';
import { createWords } from './search/schema.ts';
import { createUnshipped } from './shipments/schema.ts';

export const LOG_MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-request-logs',
    up: async (db, engine) => {
      await createTables(db, engine);
      await createIndexes(db);
      if (engine === 'sqlite') await describeIndexes(db);
    },
  },
  {
    name: '0002-hook-results',
    up: async (db) => {
      await db.schema.alterTable('request_logs').addColumn('hook_results', 'text').execute();
    },
  },
  {
    name: '0003-ascending-indexes',
    up: async (db, engine) => {
      if (engine === 'sqlite') await rebuildDescending(db);
    },
  },
  {
    name: '0004-attempts-and-sessions',
    up: async (db, engine) => {
      await addAttempts(db, engine);
      await createSessions(db, engine);
    },
  },
  { name: '0005-aggregates', up: createAggregates },
  { name: '0006-words', up: createWords },
  { name: '0007-days', up: divideByDay },
  { name: '0008-exports', up: createUnshipped },
  { name: '0009-guardrail-counts', up: createGuardrailCounts },
  { name: '0010-runs', up: createRuns },
  { name: LAST_LOG_MIGRATION, up: beginDigests },
];

async function createTables(db: Kysely<unknown>, engine: Engine) {
  await db.schema
    .createTable('request_logs')
    .addColumn('id', text(engine), (column) => column.primaryKey().notNull())
    .addColumn('trace_id', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('organisation_id', text(engine))
    .addColumn('workspace_id', text(engine))
    .addColumn('api_key_id', text(engine))
    .addColumn('user_id', text(engine))
    .addColumn('virtual_key', text(engine))
    .addColumn('provider', text(engine))
    .addColumn('model', text(engine))
    .addColumn('method', text(engine), (column) => column.notNull())
    .addColumn('path', text(engine), (column) => column.notNull())
    .addColumn('status', 'integer', (column) => column.notNull())
    .addColumn('failed_by', text(engine))
    .addColumn('error_code', text(engine))
    .addColumn('is_stream', 'boolean', (column) => column.notNull())
    .addColumn('request_bytes', bigint(engine), (column) => column.notNull())
    .addColumn('response_bytes', bigint(engine), (column) => column.notNull())
    .addColumn('first_byte_ms', real(engine))
    .addColumn('duration_ms', real(engine), (column) => column.notNull())
    .addColumn('input_tokens', bigint(engine))
    .addColumn('output_tokens', bigint(engine))
    .addColumn('total_tokens', bigint(engine))
    .addColumn('cached_tokens', bigint(engine))
    .addColumn('reasoning_tokens', bigint(engine))
    .addColumn('cost', real(engine))
    .addColumn('client_address', text(engine), (column) => column.notNull())
    .addColumn('metadata', text(engine))
    .addColumn('body_place', 'text')
    .execute();
  await db.schema
    .createTable('request_log_bodies')
    .addColumn('log_id', text(engine), (column) => column.primaryKey().notNull())
    .addColumn('content', bytes(engine), (column) => column.notNull())
    .execute();
  const labels = db.schema
    .createTable('request_log_labels')
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('key', text(engine), (column) => column.notNull())
    .addColumn('value', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('log_id', text(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('request_log_labels_pk', ['workspace_id', 'key', 'value', 'created_at', 'log_id']);
  await (engine === 'sqlite' ? labels.modifyEnd(sql`without rowid`) : labels).execute();
}

const SELECTIVE = ['model', 'provider', 'virtual_key', 'api_key_id', 'user_id', 'failed_by'] as const;

/**
 * Each begins with the workspace, because every question is asked about one; read backwards, the end gives newest first
 * for free. Ascending, because entries come in the order of time: put in front of each other, they cost twice as much.
 */
async function createIndexes(db: Kysely<unknown>) {
  await sql`create index request_logs_by_time on request_logs (workspace_id, created_at, id)`.execute(db);
  for (const column of SELECTIVE) {
    const name = sql.ref(`request_logs_by_${column}`);
    await sql`
      create index ${name} on request_logs (workspace_id, ${sql.ref(column)}, created_at)
      where ${sql.ref(column)} is not null
    `.execute(db);
  }
  // Successes are found at once by time; only failures are worth an index.
  await sql`
    create index request_logs_by_status on request_logs (workspace_id, status, created_at) where status >= 400
  `.execute(db);
  await sql`create index request_logs_by_trace on request_logs (trace_id) where trace_id <> id`.execute(db);
}

async function rebuildDescending(db: Kysely<unknown>) {
  const { rows } = await sql<{ name: string; sql: string }>`
    select name, sql from sqlite_master where tbl_name = 'request_logs' and sql like '% desc%'`.execute(db);
  for (const index of rows) {
    await sql`drop index ${sql.ref(index.name)}`.execute(db);
    await sql.raw(index.sql.replaceAll(' desc', '')).execute(db);
  }
  // Their figures went with them.
  await writeFigures(
    db,
    rows.map(({ name }) => name),
  );
}

async function addAttempts(db: Kysely<unknown>, engine: Engine) {
  const table = () => db.schema.alterTable('request_logs');
  await table().addColumn('session_id', text(engine)).execute();
  await table().addColumn('attempt_count', 'integer').execute();
  await table().addColumn('attempts', text(engine)).execute();
  await sql`
    create index request_logs_by_session on request_logs (workspace_id, session_id, created_at)
    where session_id is not null
  `.execute(db);
  if (engine === 'sqlite') await writeFigures(db, ['request_logs_by_session']);
}

async function createSessions(db: Kysely<unknown>, engine: Engine) {
  const counts = ['calls', 'errors', 'unpriced_calls', ...TOKENS, 'nano_dollars'];
  let sessions = db.schema
    .createTable('request_log_sessions')
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('session_id', text(engine), (column) => column.notNull())
    .addColumn('organisation_id', text(engine));
  for (const name of ['first_at', 'last_at', 'ended_at', ...counts])
    sessions = sessions.addColumn(name, bigint(engine), (column) => column.notNull());
  const keyed = sessions.addPrimaryKeyConstraint('request_log_sessions_pk', ['workspace_id', 'session_id']);
  await (engine === 'sqlite' ? keyed.modifyEnd(sql`without rowid`) : keyed).execute();
  await sql`
    create index request_log_sessions_by_time on request_log_sessions (workspace_id, last_at, session_id)
  `.execute(db);
  const models = db.schema
    .createTable('request_log_session_models')
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('session_id', text(engine), (column) => column.notNull())
    .addColumn('model', text(engine), (column) => column.notNull())
    .addColumn('calls', bigint(engine), (column) => column.notNull())
    .addColumn('nano_dollars', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('request_log_session_models_pk', ['workspace_id', 'session_id', 'model']);
  await (engine === 'sqlite' ? models.modifyEnd(sql`without rowid`) : models).execute();
}

const TOKENS = ['input_tokens', 'output_tokens', 'total_tokens', 'cached_tokens', 'reasoning_tokens'] as const;

/**
 * SQLite knows nothing about a table that was never analysed, and would rather walk along the time than sort the few
 * entries of one millisecond by id. These figures (rows, then rows per value of each column) tell it that the index
 * with the filtered column is always the better one; analysing a live table would cost seconds and say the same.
 */
async function describeIndexes(db: Kysely<unknown>) {
  await sql`analyze request_logs`.execute(db);
  await writeFigures(
    db,
    Object.keys(FIGURES).filter((index) => index !== 'request_logs_by_session'),
  );
}

const FIGURES: Readonly<Record<string, string>> = {
  request_logs_by_time: '1000000 1000000 10 1',
  request_logs_by_status: '10000 10000 100 1',
  request_logs_by_trace: '1000000 2',
  request_logs_by_session: '1000000 1000000 1000 1',
  ...Object.fromEntries(SELECTIVE.map((column) => [`request_logs_by_${column}`, '1000000 1000000 1000 1'])),
};

async function writeFigures(db: Kysely<unknown>, indexes: readonly string[]) {
  for (const index of indexes) {
    await sql`insert into sqlite_stat1 (tbl, idx, stat) values ('request_logs', ${index}, ${FIGURES[index]})`.execute(
      db,
    );
  }
}
