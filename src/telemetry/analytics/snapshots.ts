import { type Kysely, sql } from 'kysely';
import { GRAINS } from '../aggregates/grains.ts';
import type { LogTables } from '../log-columns.ts';
import type { CubePiece } from './plan.ts';

/** The log and its figures as of one moment. */
export interface Snapshot {
  readonly db: Kysely<LogTables>;
  readonly opening: Opening;
  /** Gives what lies in columns of the cells of these pieces to `take`, row by row; all of it is read by one statement. */
  cells(pieces: readonly CubePiece[], columns: readonly CellColumn[], take: (row: CellsRow) => void): Promise<void>;
}

/** What every question begins with. */
export interface Opening {
  readonly state: readonly { readonly name: string; readonly value: number }[];
  readonly waiting: readonly WaitingRow[];
  /** No kind has a greater id. */
  readonly newestKind: number;
}

/** What waits for the cells; of what the reader knows, nothing but that it is there. */
export interface WaitingRow {
  readonly id: number;
  readonly facts: string | null;
}

export const OPENING = {
  state: 'select name, value from analytics_state',
  newestKind: 'select coalesce(max(id), 0) as id from analytics_kinds',
};

export type CellColumn = 'sums' | 'more' | 'durations' | 'first_bytes';

export interface CellsRow {
  /** Which of the pieces. */
  readonly piece: number;
  readonly bucket: number;
  /** One for each column. */
  readonly bytes: CellBytes;
  /** They are held for other moments, too, and take no memory of this one. */
  readonly isHeld: boolean;
  /** They are lent until the row is taken; who says this keeps them. Null: they may be kept. */
  readonly own: (() => void) | null;
}

export type CellBytes = readonly (Uint8Array | null)[];

/** Cells and what waits for them must be of one moment. `known`: the ids of what waits that the reader has read before. */
export type Snapshots = <Result>(
  work: (snapshot: Snapshot) => Promise<Result>,
  known?: readonly number[],
) => Promise<Result>;

export const sqliteSnapshots =
  (db: Kysely<LogTables>): Snapshots =>
  (work, known = []) =>
    db.transaction().execute(async (snapshot) => {
      const ask = async <Row>(text: string) => (await sql.raw<Row>(text).execute(snapshot)).rows;
      const opening: Opening = {
        state: await ask(OPENING.state),
        waiting: await waitingAfter(snapshot, known.at(-1) ?? 0),
        newestKind: (await ask<{ id: number }>(OPENING.newestKind))[0]!.id,
      };
      return work({
        db: snapshot,
        opening,
        cells: async (pieces, columns, take) => {
          type Row = Readonly<Record<CellColumn, Uint8Array | null>> & Pick<CellsRow, 'piece' | 'bucket'>;
          const { rows } = await sql<Row>`${selection(pieces, columns)}`.execute(snapshot);
          for (const { piece, bucket, ...row } of rows)
            take({ piece, bucket, bytes: columns.map((name) => row[name]), isHeld: false, own: null });
        },
      });
    });

/** One process writes here, so a reader that knows an id knows all before it, too. */
const waitingAfter = async (db: Kysely<LogTables>, last: number) =>
  (
    await sql<WaitingRow>`select id, case when id > ${last} then facts end as facts from analytics_waiting order by id`.execute(
      db,
    )
  ).rows;

/** Of no pieces there is none. */
export function selection(pieces: readonly CubePiece[], columns: readonly CellColumn[]) {
  const names = sql.raw(columns.join(', '));
  const branches = pieces.map(({ grain, cube, from, until }, at) => {
    const { ms, id } = GRAINS[grain]!;
    const [first, end] = [sql.lit(from / ms), sql.lit(until / ms)];
    return sql`select ${sql.lit(at)} as piece, bucket, ${names} from analytics_cells
      where grain = ${sql.lit(id)} and cube = ${cube} and bucket >= ${first} and bucket < ${end}`;
  });
  return sql`${sql.join(branches, sql` union all `)}`;
}
