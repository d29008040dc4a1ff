import { Database, type SQLQueryBindings } from 'bun:sqlite';
import { Client } from 'pg';
import { GRAINS } from '../../src/telemetry/aggregates/grains.ts';
import { stateIn } from '../../src/telemetry/aggregates/state.ts';
import { LOG_COLUMNS, type LogRow } from '../../src/telemetry/log-columns.ts';
import { type LogTarget, openLogStore } from '../../src/telemetry/log-store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Over how many days entries are spread, up to now. */
export const DAYS = 30;
const BATCH = 5_000;
/** How many entries wait before figures take them in: more than in life, where they are taken in by time. */
const WAITING = 50_000;
/** The gateway keeps minutes of no more days. */
const MINUTES_DAYS = 4;

const WORKSPACES = 20;
const FIRST_WORKSPACE = 'workspace-0';
const KEYS_EACH = 10;
const USERS = 500;
const PROVIDERS = ['openai', 'anthropic', 'google', 'mistral', 'groq', 'cohere', 'bedrock', 'azure-openai'];
const MODELS_EACH = 5;
const PATHS = ['/v1/chat/completions', '/v1/chat/completions', '/v1/embeddings', '/v1/messages'];
const FAILURES = [
  { status: 429, failed_by: 'provider', error_code: 'upstream_rate_limited' },
  { status: 400, failed_by: 'client', error_code: 'invalid_request' },
  { status: 502, failed_by: 'provider', error_code: 'upstream_error' },
] as const;

/** Whole numbers below a bound, the same ones each time. */
function numbers(seed: number) {
  let state = seed;
  return (bound: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

export interface Filling {
  /** Empty so far. */
  readonly target: LogTarget;
  readonly organisationId: string;
  /** One that can be looked at in the console: a twentieth of the entries are its own. */
  readonly workspaceId?: string;
  readonly entries: number;
  readonly days?: number;
}

/** Minutes of all days stay until the gateway starts. */
const FIGURES = { metadataKeys: ['_user'], keepDays: { minutes: 3_650, hours: 3_650, days: 3_650 } };

/**
 * Entries of a month. The first day is written by the gateway's own writer; the others are the same day again, entries and
 * figures, copied within the database. A test counts such figures anew and finds the same. Keys belong to a workspace and
 * mostly call the same few models, as applications do.
 */
export async function fillLog({ target, organisationId, workspaceId, entries, days = DAYS }: Filling): Promise<void> {
  // What the gateway has logged when it was prepared is newer.
  const until = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 2 * MINUTE_MS;
  const firstDay = Math.floor(Date.now() / DAY_MS) * DAY_MS - days * DAY_MS;
  const count = Math.floor(entries / days);
  const below = numbers(1);
  const store = await openLogStore(target, 'writer', { figures: FIGURES });
  for (let at = 0; at < count; at += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - at) }, (_, index) =>
      entry(organisationId, Math.floor(firstDay + ((at + index) * DAY_MS) / count), below),
    );
    if (workspaceId) for (const row of rows) if (row.workspace_id === FIRST_WORKSPACE) row.workspace_id = workspaceId;
    await store.insert({ rows, bodies: rows.map(() => null) });
    if ((at + BATCH) % WAITING === 0) while (await store.tend());
  }
  while (await store.tend());
  await store.close();
  await (target.engine === 'sqlite' ? copyInSqlite : copyInPostgres)(target as never, { firstDay, until, days });
}

type Writable<Row> = { -readonly [Name in keyof Row]: Row[Name] };

interface Copying {
  readonly days: number;
  readonly firstDay: number;
  /** What would lie behind this is left out. */
  readonly until: number;
}

const copied = LOG_COLUMNS.map((name) => {
  if (name === 'id' || name === 'trace_id') return `${name} || '-' || $1`;
  return name === 'created_at' ? 'created_at + $1' : name;
}).join(', ');
const ENTRIES = (table: string) => `insert into ${table} (${LOG_COLUMNS.join(', ')}) select ${copied} from request_logs
  where created_at >= $2 and created_at < $2 + ${DAY_MS} and created_at + $1 < $3`;
const LABELS = (table: string) => `insert into ${table} (workspace_id, key, value, created_at, log_id)
  select workspace_id, key, value, created_at + $1, log_id || '-' || $1 from request_log_labels
  where created_at >= $2 and created_at < $2 + ${DAY_MS} and created_at + $1 < $3`;
const CELLS = (ms: number) => `insert into analytics_cells (grain, cube, bucket, sums, durations, first_bytes, more)
  select grain, cube, bucket + $1 / ${ms}, sums, durations, first_bytes, more from analytics_cells
  where grain = $4 and bucket >= $2 / ${ms} and bucket < ($2 + ${DAY_MS}) / ${ms} and cast(bucket + 1 as bigint) * ${ms} + $1 <= $3`;

type Run = (text: string, values: readonly number[]) => unknown;

/** Longer buckets that are not over are made by the gateway. */
async function copyCells(
  run: Run,
  state: ReturnType<typeof stateIn>,
  { firstDay, until, days }: Copying,
): Promise<void> {
  for (let day = 1; day <= days; day++)
    for (const { name, ms, id } of GRAINS)
      if (ms >= HOUR_MS || day > days - MINUTES_DAYS)
        await run(CELLS(ms), [day * DAY_MS, firstDay, Math.min(until, state.rolledBefore[name]), id]);
}

async function copyInSqlite({ file }: { file: string }, copying: Copying): Promise<void> {
  const raw = new Database(file);
  const run: Run = (text, values) =>
    raw.query(text.replace(/\$(\d)/g, '?$1')).run(...([...values] as SQLQueryBindings[]));
  raw.run('pragma synchronous = off');
  raw.run('pragma cache_size = -1000000');
  const figures = raw.query<{ tbl: string; idx: string; stat: string }, []>('select * from sqlite_stat1').all();
  const indexes = raw
    .query<{ name: string; sql: string }, []>(
      "select name, sql from sqlite_master where type = 'index' and tbl_name = 'request_logs' and sql is not null",
    )
    .all();
  // Of one day they are; the copies are read in the order they lie in.
  for (const { name } of indexes) raw.run(`drop index ${name}`);
  const state = stateIn(
    raw.query<{ name: string; value: number }, []>('select name, value from analytics_state').all(),
  );
  raw.run('create temp table of_day as select * from request_logs');
  for (let day = 1; day <= copying.days; day++) {
    const values = [day * DAY_MS, copying.firstDay, copying.until];
    raw.transaction(() => {
      run(ENTRIES('request_logs').replace('from request_logs', 'from of_day'), values);
      run(LABELS('request_log_labels'), values);
    })();
  }
  for (const { sql } of indexes) raw.run(sql);
  raw.run("delete from sqlite_stat1 where tbl = 'request_logs'");
  for (const { tbl, idx, stat } of figures.filter(({ tbl }) => tbl === 'request_logs'))
    raw.query('insert into sqlite_stat1 (tbl, idx, stat) values (?, ?, ?)').run(tbl, idx, stat);
  await raw.transaction(() => copyCells(run, state, copying))();
  raw.run('pragma wal_checkpoint(truncate)');
  raw.close();
}

const nameOf = (day: number): string => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');

async function copyInPostgres({ url }: { url: string }, copying: Copying): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const run: Run = (text, values) =>
    client.query(text.replace(/\$(\d)/g, (_, at) => `${values[Number(at) - 1]}::bigint`));
  await client.query('set synchronous_commit = off');
  await client.query("set maintenance_work_mem = '512MB'");
  const { rows } = await client.query('select name, value from analytics_state');
  const state = stateIn(rows);
  for (let day = 1; day <= copying.days; day++) {
    const values = [day * DAY_MS, copying.firstDay, copying.until];
    const [from, until] = [copying.firstDay + day * DAY_MS, copying.firstDay + (day + 1) * DAY_MS];
    for (const [table, fill] of [
      ['request_logs', ENTRIES],
      ['request_log_labels', LABELS],
    ] as const) {
      const part = `${table}_${nameOf(from)}`;
      const there = (await client.query('select to_regclass($1) as name', [part])).rows[0].name !== null;
      if (!there) await client.query(`create table ${part} (like ${table} including defaults)`);
      await run(fill(part), values);
      // Its indexes are made at once then, as each day of the gateway has them.
      if (!there)
        await client.query(`alter table ${table} attach partition ${part} for values from (${from}) to (${until})`);
    }
  }
  await copyCells(run, state, copying);
  // As a server does along the way: it would do so while something is measured.
  await client.query('vacuum (analyze) request_logs, request_log_labels, analytics_cells, analytics_kinds');
  await client.end();
}

/** Entries as they come to the writer: of all keys and models of a log, or all of one kind. */
export function someEntries(organisationId: string, { isAlike = false } = {}): (createdAt: number) => LogRow {
  const below = numbers(1);
  const alike = { workspace_id: FIRST_WORKSPACE, api_key_id: 'key-0', user_id: null, virtual_key: 'virtual-openai' };
  const same = { provider: 'openai', model: 'openai-model-0', path: PATHS[0]!, is_stream: true, metadata: null };
  const succeeded = { status: 200, failed_by: null, error_code: null };
  return (createdAt) => ({
    ...entry(organisationId, createdAt, below),
    ...(isAlike && { ...alike, ...same, ...succeeded }),
  });
}

function entry(organisationId: string, createdAt: number, below: (bound: number) => number): Writable<LogRow> {
  const key = below(WORKSPACES * KEYS_EACH);
  const provider = PROVIDERS[(key + (below(5) === 0 ? 1 : 0)) % PROVIDERS.length]!;
  const failure = below(25) === 0 ? FAILURES[below(FAILURES.length)]! : null;
  const [input, output] = [50 + below(4_000), failure ? 0 : 10 + below(900)];
  const duration = 200 + below(3_000) + (below(50) === 0 ? 20_000 : 0);
  const id = Bun.randomUUIDv7();
  return {
    id,
    trace_id: id,
    created_at: createdAt,
    organisation_id: organisationId,
    workspace_id: `workspace-${key % WORKSPACES}`,
    api_key_id: `key-${key}`,
    user_id: below(3) === 0 ? `user-${(key * 7 + below(5)) % USERS}` : null,
    virtual_key: `virtual-${provider}`,
    provider,
    model: `${provider}-model-${(key + below(2)) % MODELS_EACH}`,
    method: 'POST',
    path: PATHS[key % PATHS.length]!,
    status: failure?.status ?? 200,
    failed_by: failure?.failed_by ?? null,
    error_code: failure?.error_code ?? null,
    is_stream: below(2) === 0,
    request_bytes: 300 + below(20_000),
    response_bytes: 500 + below(5_000),
    first_byte_ms: duration / 3,
    duration_ms: duration,
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cached_tokens: null,
    reasoning_tokens: null,
    cost: (input * 2 + output * 8) / 1e6,
    client_address: '127.0.0.1',
    metadata: below(4) === 0 ? JSON.stringify({ _user: `reader-${below(200)}` }) : null,
    hook_results: null,
    session_id: null,
    attempt_count: 1,
    attempts: null,
  };
}
