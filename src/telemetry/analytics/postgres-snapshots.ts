import { Kysely, PostgresDialect } from 'kysely';
import { escapeLiteral, type Pool, type PoolClient, type QueryResult } from 'pg';
import { type BinaryRow, binaryRows, int32In, uint32In } from '../../storage/postgres-bytes.ts';
import { GRAINS } from '../aggregates/grains.ts';
import type { LogTables } from '../log-columns.ts';
import { HeldCells, type HeldVersions, NOT_HELD, type RowPlace } from './held-cells.ts';
import type { CubePiece } from './plan.ts';
import { type CellBytes, type CellColumn, type CellsRow, OPENING, type Opening, type Snapshots } from './snapshots.ts';

/**
 * In one history of a server no two transactions have the same number, and of what one of them wrote into a row only the last is ever
 * seen: who knows which transaction wrote a row knows the row. A server that took over from another one, or that came back from a
 * crash without what it had not flushed, gives numbers again: it has another history, and says so by when it started and since when
 * it counts. When a user was erased, nothing from before is held.
 */
const HISTORY = `
  select concat_ws(' ', pg_postmaster_start_time(),
    case when current_setting('server_version_num')::int >= 150000 then pg_stat_get_bgwriter_stat_reset_time() end,
    (select value from analytics_state where name = 'kinds_changed')) as history`;

/** As one row: there may be hundreds, of which nearly all are known. */
const waitingBut = (known: readonly number[]) => `
  select string_agg(id::text, ',') as ids,
    json_agg(json_build_array(id, facts)) filter (where id <> all('{${known}}'::bigint[])) as fresh
  from analytics_waiting`;

/** In one round trip: a question about a short time takes most of its time to ask. */
const beginning = (known: readonly number[]) =>
  [
    'begin isolation level repeatable read read only',
    HISTORY,
    OPENING.state,
    waitingBut(known),
    OPENING.newestKind,
  ].join(';');

async function begin(
  client: PoolClient,
  known: readonly number[],
): Promise<{ readonly history: string; readonly opening: Opening }> {
  const results = (await client.query(beginning(known))) as unknown as QueryResult[];
  const [, history, state, waiting, newest] = results.map(({ rows }) => rows);
  const { ids, fresh } = waiting![0] as { ids: string | null; fresh: [id: number, facts: string][] | null };
  const facts = new Map(fresh);
  return {
    history: history![0].history,
    opening: {
      state: state!,
      waiting: (ids?.split(',') ?? []).map((id) => ({ id: Number(id), facts: facts.get(Number(id)) ?? null })),
      newestKind: newest![0].id,
    },
  };
}

export const postgresSnapshots =
  (pool: Pool, held = new HeldCells()): Snapshots =>
  async (work, known = []) => {
    const client = await pool.connect();
    let failure: Error | undefined;
    try {
      const { history, opening } = await begin(client, known);
      held.begin(history);
      const db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool: lending(client) }) });
      const result = await work({
        db,
        opening,
        cells: (pieces, columns, take) => readCells(client, held, { pieces, columns, take }),
      });
      await client.query('commit');
      return result;
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // A connection that is thrown away takes its transaction with it.
      client.release(failure);
    }
  };

interface Reading {
  readonly pieces: readonly CubePiece[];
  readonly columns: readonly CellColumn[];
  readonly take: (row: CellsRow) => void;
}

async function readCells(client: PoolClient, held: HeldCells, { pieces, columns, take }: Reading): Promise<void> {
  const firsts = pieces.map(({ grain, from }) => from / GRAINS[grain]!.ms);
  const known = pieces.map((piece) => columns.map((column) => held.versions(piece, column)));
  const unseen = known.map((ofColumns, piece) => {
    const buckets = (versions: HeldVersions) =>
      versions.flatMap((version, at) => (version === NOT_HELD ? [] : [firsts[piece]! + at]));
    return new Set(ofColumns.flatMap(buckets));
  });
  const taken = ([at, of, writtenBy, ...read]: BinaryRow) => {
    const [piece, bucket, version] = [int32In(at!), int32In(of!), uint32In(writtenBy!)];
    const place = placeIn(pieces[piece]!, bucket);
    unseen[piece]!.delete(bucket);
    const isKnown = columns.map((_, column) => known[piece]![column]![bucket - firsts[piece]!] === version);
    const bytes = columns.map((name, column) => (isKnown[column] ? held.held(place, version, name) : read[column]!));
    const isNew = isKnown.includes(false);
    if (isNew && !held.hasRoom(lengthOf(read))) {
      let isKept = false;
      const own = () => {
        isKept = true;
      };
      take({ piece, bucket, bytes, isHeld: false, own });
      return isKept;
    }
    const unheld = columns.flatMap((name, column) => (isKnown[column] ? [] : [[name, read[column]!] as const]));
    if (isNew) held.keep(place, version, Object.fromEntries(unheld));
    take({ piece, bucket, bytes, isHeld: true, own: null });
    return isNew;
  };
  await binaryRows(client, unknown(pieces, columns, known), taken);
  for (const [piece, buckets] of unseen.entries())
    for (const bucket of buckets) held.drop(placeIn(pieces[piece]!, bucket));
}

/** All rows with the transactions that wrote them; of a column that is known as it is, nothing else. */
function unknown(
  pieces: readonly CubePiece[],
  columns: readonly CellColumn[],
  known: readonly (readonly HeldVersions[])[],
): string {
  const branches = pieces.map(({ grain, cube, from, until }, at) => {
    const { ms, id } = GRAINS[grain]!;
    const first = from / ms;
    // Looked up by place: to plan a join for each piece takes longer than to read the versions.
    const version = (column: number) => `('{${known[at]![column]!}}'::xid[])[cell.bucket - ${first - 1}]`;
    const wanted = columns.map(
      (name, column) => `case when cell.xmin = ${version(column)} then null else cell.${name} end`,
    );
    return `select ${at} as piece, cell.bucket, cell.xmin, ${wanted.join(', ')} from analytics_cells as cell
      where cell.grain = ${id} and cell.cube = ${escapeLiteral(cube)}
      and cell.bucket >= ${first} and cell.bucket < ${until / ms}`;
  });
  return branches.join(' union all ');
}

const placeIn = ({ cube, grain }: CubePiece, bucket: number): RowPlace => ({ cube, grain, bucket });

const lengthOf = (bytes: CellBytes): number => bytes.reduce((sum, each) => sum + (each?.length ?? 0), 0);

/** As Kysely asks for connections: it gets this one, and does not give it back. */
const lending = (client: PoolClient) => ({
  connect: async () => ({ query: client.query.bind(client) as PoolClient['query'], release: () => {} }),
  end: async () => {},
});
