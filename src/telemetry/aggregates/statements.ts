import type { Engine } from '../../storage/migrate.ts';
import { FACT_SOURCES } from './fact.ts';

/** What upkeep asks of a store. Those of `each` are run for any number of rows: on PostgreSQL all at once, as arrays. */
export interface Statements {
  readonly readState: string;
  readonly setState: string;
  readonly waiting: string;
  readonly takeWaiting: string;
  readonly findKinds: string;
  readonly addKinds: string;
  readonly findCells: string;
  readonly putCells: string;
  readonly dropCells: string;
  readonly dropBetween: string;
  readonly dropBefore: string;
  readonly cubesBetween: string;
  readonly lastBefore: string;
  readonly cellsBetween: string;
  readonly workspaces: string;
  readonly entries: string;
  readonly entriesOfNone: string;
  readonly oldest: string;
  readonly oldestOfNone: string;
  readonly kindsOf: string;
  readonly kindsById: string;
  readonly rename: string;
  readonly dropKindsOf: string;
}

const columns = 'grain, cube, bucket, sums, durations, first_bytes, more';
const sources = FACT_SOURCES.join(', ');
/** Of an hour of a busy workspace, so many entries are read at a time. */
export const ENTRIES_AT_ONCE = 5_000;
const inOrder = `order by created_at, id limit ${ENTRIES_AT_ONCE}`;

/** Every workspace that has entries, by jumping along the index instead of reading it. */
const WORKSPACES = `with recursive jump(workspace_id) as (
    select (select min(workspace_id) from request_logs)
    union all
    select (select min(workspace_id) from request_logs where workspace_id > jump.workspace_id)
    from jump where jump.workspace_id is not null)
  select workspace_id from jump where workspace_id is not null`;

const both = {
  readState: 'select name, value from analytics_state',
  waiting: 'select id, facts from analytics_waiting order by id limit 1000',
  workspaces: WORKSPACES,
  entriesOfNone: '',
  oldestOfNone: 'select min(created_at) as at from request_logs where workspace_id is null',
};

const SQLITE: Statements = {
  ...both,
  setState: 'insert or replace into analytics_state (name, value) values (?, ?)',
  takeWaiting: 'delete from analytics_waiting where id = ?',
  findKinds: 'select id, key from analytics_kinds where key = ?',
  addKinds: 'insert into analytics_kinds (key, text, workspace_id, cube) values (?, ?, ?, ?) returning id, key',
  findCells: `select ${columns} from analytics_cells where grain = ? and cube = ? and bucket = ?`,
  putCells: `insert or replace into analytics_cells (${columns}) values (?, ?, ?, ?, ?, ?, ?)`,
  dropCells: 'delete from analytics_cells where grain = ? and cube = ? and bucket = ?',
  dropBetween: 'delete from analytics_cells where grain = ? and bucket >= ? and bucket < ?',
  dropBefore: 'delete from analytics_cells where grain = ? and bucket < ?',
  cubesBetween: 'select distinct cube from analytics_cells where grain = ? and bucket >= ? and bucket < ?',
  lastBefore: 'select max(bucket) as bucket from analytics_cells where grain = ? and bucket < ?',
  cellsBetween: `select ${columns} from analytics_cells where grain = ? and cube = ? and bucket >= ? and bucket < ?`,
  entries: `select ${sources} from request_logs
    where workspace_id = ? and (created_at, id) > (?, ?) and created_at < ? ${inOrder}`,
  entriesOfNone: `select ${sources} from request_logs
    where workspace_id is null and (created_at, id) > (?, ?) and created_at < ? ${inOrder}`,
  oldest: 'select min(created_at) as at from request_logs where workspace_id = ?',
  kindsOf: 'select id, key, text, workspace_id from analytics_kinds order by id',
  kindsById: 'select id, text from analytics_kinds where id = ?',
  rename: 'update analytics_kinds set key = ?, text = ? where id = ?',
  dropKindsOf: 'delete from analytics_kinds where id = ?',
};

const POSTGRES: Statements = {
  ...both,
  setState: `insert into analytics_state (name, value) select * from unnest($1::text[], $2::bigint[])
    on conflict (name) do update set value = excluded.value`,
  takeWaiting: 'delete from analytics_waiting where id = any($1::bigint[])',
  findKinds: 'select id, key from analytics_kinds where key = any($1::text[])',
  addKinds: `insert into analytics_kinds (key, text, workspace_id, cube)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) returning id, key`,
  findCells: `select ${columns} from unnest($1::int[], $2::text[], $3::int[]) as asked (grain, cube, bucket)
    join analytics_cells using (grain, cube, bucket)`,
  putCells: `insert into analytics_cells (${columns})
    select * from unnest($1::int[], $2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
    on conflict (grain, cube, bucket) do update
    set sums = excluded.sums, durations = excluded.durations, first_bytes = excluded.first_bytes, more = excluded.more`,
  dropCells: `delete from analytics_cells using unnest($1::int[], $2::text[], $3::int[]) as asked (grain, cube, bucket)
    where analytics_cells.grain = asked.grain and analytics_cells.cube = asked.cube
    and analytics_cells.bucket = asked.bucket`,
  dropBetween: 'delete from analytics_cells where grain = $1 and bucket >= $2 and bucket < $3',
  dropBefore: 'delete from analytics_cells where grain = $1 and bucket < $2',
  cubesBetween: 'select distinct cube from analytics_cells where grain = $1 and bucket >= $2 and bucket < $3',
  lastBefore: 'select max(bucket) as bucket from analytics_cells where grain = $1 and bucket < $2',
  cellsBetween: `select ${columns} from analytics_cells
    where grain = $1 and cube = $2 and bucket >= $3 and bucket < $4`,
  entries: `select ${sources} from request_logs
    where workspace_id = $1 and (created_at, id) > ($2, $3) and created_at < $4 ${inOrder}`,
  entriesOfNone: `select ${sources} from request_logs
    where workspace_id is null and (created_at, id) > ($1, $2) and created_at < $3 ${inOrder}`,
  oldest: 'select min(created_at) as at from request_logs where workspace_id = $1',
  kindsOf: 'select id, key, text, workspace_id from analytics_kinds order by id',
  kindsById: 'select id, text from analytics_kinds where id = any($1::int[])',
  rename: `update analytics_kinds set key = named.key, text = named.text
    from unnest($1::text[], $2::text[], $3::int[]) as named (key, text, id) where analytics_kinds.id = named.id`,
  dropKindsOf: 'delete from analytics_kinds where id = any($1::int[])',
};

export const statementsOf = (engine: Engine): Statements => (engine === 'sqlite' ? SQLITE : POSTGRES);
