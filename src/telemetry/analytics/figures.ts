import { type Kysely, sql } from 'kysely';
import type { Engine } from '../../storage/migrate.ts';
import type { Amount, Sum } from '../aggregates/amount.ts';
import { columnsOfCube } from '../aggregates/cubes.ts';
import type { Source, Value } from '../aggregates/fact.ts';
import { GRAINS } from '../aggregates/grains.ts';
import { areSeldom, readColumns } from '../aggregates/layout.ts';
import { type State, stateIn } from '../aggregates/state.ts';
import { wholesOf } from '../aggregates/wholes.ts';
import type { LogTables } from '../log-columns.ts';
import type { LogFilter } from '../log-query.ts';
import { workspacesWithin } from '../log-workspaces.ts';
import { entriesOf, WHOLE_ENTRIES } from './entries.ts';
import { type By, conditionsIn, Kinds, type Meant, meantBy } from './kinds.ts';
import { type Piece, type Plan, planOf, resolutionAt } from './plan.ts';
import { type Chunk, cellsMeant, namesBy, Scan, verdictsOn } from './scan.ts';
import { bucketsOf, type TimeRange } from './time-range.ts';
import { Waiting, type WaitingCell, waitingCells } from './waiting.ts';

export interface Looked {
  readonly filter: LogFilter;
  readonly range: TimeRange;
  readonly by: By | null;
  /** By what those are told apart once more. */
  readonly then?: By | null;
  /** Whether figures are wanted for each bucket of the time, and not for all of it. */
  readonly isOverTime: boolean;
  /** How long buckets are to be. */
  readonly bucketMs?: number;
  /** Which sums may be wished for. */
  readonly sums: readonly Sum[];
  /** Which histograms are wanted. */
  readonly histograms?: readonly HistogramName[];
}

/** What is added up of that: no other sums and histograms than were looked for. */
export interface Wish {
  readonly sums: readonly Sum[];
  readonly histograms?: readonly HistogramName[];
  /** All buckets as one. */
  readonly isTogether?: boolean;
  /** So many lines names are taken together in; left out: each name stands for itself. */
  readonly lines?: { readonly count: number; readonly of: (name: Value, then: Value) => number };
}

export const HISTOGRAMS = ['durations', 'firstBytes'] as const;
export type HistogramName = (typeof HISTOGRAMS)[number];
const HISTOGRAM_COLUMNS = { durations: 'durations', firstBytes: 'first_bytes' } as const;

/** What some entries of one name, and of one bucket, amount to: the sums and histograms that were wished for. */
export type Counted = Readonly<Record<Sum, number>> & {
  readonly bucket: number;
  /** Or the number of its line. */
  readonly name: Value;
  readonly then: Value;
} & Pick<Amount, HistogramName>;

/** What is known of a time, as of one moment. */
export interface Look {
  readonly range: TimeRange;
  /** Buckets can be no shorter than this. */
  readonly shortestMs: number;
  /** What is to be counted in the log. */
  readonly log: readonly TimeRange[];
  count(wish: Wish): Counted[];
}

export interface Found extends Omit<Look, 'count'> {
  readonly rows: readonly Counted[];
}

interface Moment {
  readonly state: State;
  readonly waiting: readonly WaitingCell[];
  /** What was read for another question, and which of it was meant. */
  readonly read: Map<string, readonly Chunk[]>;
  readonly verdicts: Map<string, Uint8Array>;
  readonly chosen: Map<string, readonly Chosen[] | null>;
}

interface Chosen {
  readonly chunk: Chunk;
  readonly cells: Int32Array;
}

/** Answers from what was counted when entries were logged. */
export class Figures {
  readonly #db: Kysely<LogTables>;
  readonly #engine: Engine;
  readonly #kinds = new Kinds();
  readonly #waiting = new Waiting();

  constructor(db: Kysely<LogTables>, engine: Engine) {
    this.#db = db;
    this.#engine = engine;
  }

  async find(asked: Looked): Promise<Found> {
    const [found] = await this.findAll([asked]);
    return found!;
  }

  /** Several questions, answered as of the same moment. */
  async findAll(asked: readonly Looked[]): Promise<Found[]> {
    const looks = await this.#lookAt(asked);
    return looks.map(({ count, ...look }, at) => ({ ...look, rows: count(asked[at]!) }));
  }

  async look(looked: Looked): Promise<Look> {
    const [look] = await this.#lookAt([looked]);
    return look!;
  }

  #lookAt(all: readonly Looked[]): Promise<Look[]> {
    const transaction = this.#db.transaction();
    // Cells and what waits for them must be of one moment.
    return (this.#engine === 'postgres' ? transaction.setIsolationLevel('repeatable read') : transaction).execute(
      async (snapshot) => {
        const { rows } = await sql<{ name: string; value: number }>`select name, value from analytics_state`.execute(
          snapshot,
        );
        const state = stateIn(rows);
        const waiting = await this.#waiting.in(snapshot);
        const looks: Look[] = [];
        const moment: Moment = { state, waiting, read: new Map(), verdicts: new Map(), chosen: new Map() };
        for (const each of all) looks.push(await this.#look(snapshot, each, moment));
        return looks;
      },
    );
  }

  async #look(db: Kysely<LogTables>, looked: Looked, moment: Moment): Promise<Look> {
    const { state, waiting, read, chosen } = moment;
    const shortestMs = resolutionAt(looked.range.from, state);
    const fromLog: Look = { range: looked.range, shortestMs, log: [looked.range], count: () => [] };
    const by = [looked.by, looked.then ?? null].filter((each) => each !== null);
    const meant = meantBy(looked.filter, by);
    const since = countedSince(looked.filter, by, state);
    if (!meant || since === null) return fromLog;
    const bucketMs = looked.isOverTime ? bucketsOf(looked.range, { shortestMs, wishedMs: looked.bucketMs }).ms : null;
    const coarsest = GRAINS.findLastIndex(({ ms }) => bucketMs === null || ms <= bucketMs);
    const plan = planOf(looked.range, state, { from: since, coarsest, now: Date.now() });
    const kinds = await Promise.all(meant.columns.map(({ cube }) => this.#kinds.of(db, cube, state.kindsChanged)));
    const verdicts = meant.columns.map(({ cube, includes }, at) => {
      const key = JSON.stringify([meant.columns.length, cube, looked.filter]);
      const known = moment.verdicts.get(key) ?? verdictsOn(kinds[at]!, includes);
      moment.verdicts.set(key, known);
      return known;
    });
    const cells: Chosen[] = [];
    // Questions about one moment often differ in nothing but what they tell apart.
    const keyOf = (piece: Piece) =>
      JSON.stringify([piece, meant.cube, looked.histograms, areSeldom(looked.sums), bucketMs]);
    const unread = plan.pieces.filter((piece) => !read.has(keyOf(piece)));
    const found = await this.#chunks(db, unread, meant, looked, bucketMs);
    for (const [at, piece] of unread.entries()) read.set(keyOf(piece), found[at]!);
    for (const piece of plan.pieces) {
      const key = keyOf(piece);
      const chunks = read.get(key)!;
      const choice = JSON.stringify([key, looked.filter]);
      const meantOf = chosen.has(choice) ? chosen.get(choice)! : chosenIn(chunks, verdicts);
      chosen.set(choice, meantOf);
      if (meantOf === null) return fromLog;
      for (const each of meantOf) cells.push(each);
    }
    const beyond = plan.less
      ? await entriesBeyond(db, this.#engine, looked.filter, plan.less, [...state.metadata.keys()])
      : [];
    const still = waitingMeant([...waiting, ...beyond], plan, meant);
    if (still === null) return fromLog;
    const names = meant.names.map((naming) => namesBy(naming, kinds[naming.column]!, verdicts[naming.column]!));
    const count = (wish: Wish) => {
      const scan = new Scan(names, wish);
      for (const each of cells) scan.add(each.chunk, each.cells);
      return scan.found().concat(still.map((each) => countedAs(each, meant, bucketMs, wish)));
    };
    return { range: plan.range, shortestMs, log: plan.log, count };
  }

  /** Of each piece; all of them are read by one statement. */
  async #chunks(
    db: Kysely<LogTables>,
    pieces: readonly Piece[],
    { cube }: Meant,
    { sums, histograms = [] }: Looked,
    bucketMs: number | null,
  ): Promise<Chunk[][]> {
    const chunks: Chunk[][] = pieces.map(() => []);
    if (pieces.length === 0) return chunks;
    const apart = areSeldom(sums) ? ['more'] : [];
    const columns = ['bucket', 'sums', ...apart, ...histograms.map((name) => HISTOGRAM_COLUMNS[name])];
    const branches = pieces.map(({ grain, from, until }, at) => {
      const { ms, id } = GRAINS[grain]!;
      return sql`select ${sql.lit(at)} as piece, ${sql.join(columns.map((name) => sql.ref(name)))} from analytics_cells
        where grain = ${sql.lit(id)} and cube = ${cube} and bucket >= ${from / ms} and bucket < ${until / ms}`;
    });
    const { rows } = await sql<Record<string, Uint8Array> & { bucket: number; piece: number }>`
      ${sql.join(branches, sql` union all `)}`.execute(db);
    const width = columnsOfCube(cube).length;
    for (const row of rows) {
      const { ms } = GRAINS[pieces[row.piece]!.grain]!;
      chunks[row.piece]!.push({
        bucket: bucketMs === null ? 0 : Math.floor(row.bucket / (bucketMs / ms)),
        columns: readColumns(row.sums!, row.more ?? null, width),
        histograms: Object.fromEntries(histograms.map((name) => [name, row[HISTOGRAM_COLUMNS[name]]!])),
      });
    }
    return chunks;
  }
}

/** Null: whether some of it is meant cannot be told. */
function chosenIn(chunks: readonly Chunk[], verdicts: readonly Uint8Array[]): readonly Chosen[] | null {
  const chosen: Chosen[] = [];
  for (const chunk of chunks) {
    const cells = cellsMeant(chunk.columns, verdicts);
    if (cells === null) return null;
    if (cells.length > 0) chosen.push({ chunk, cells });
  }
  return chosen;
}

/** Entries of a time, to be taken away from what was counted of it. */
async function entriesBeyond(
  db: Kysely<LogTables>,
  engine: Engine,
  { organisationId, workspaceId }: LogFilter,
  range: TimeRange,
  keys: readonly string[],
): Promise<WaitingCell[]> {
  const filter = { organisationId, workspaceId };
  const entries = entriesOf({ db, engine, filter, workspaces: workspacesWithin(db, engine, filter) });
  return waitingCells(wholesOf(await entries<Source>(WHOLE_ENTRIES, range), keys, -1));
}

/** What waits, of what is asked for. Null: whether some of it is meant cannot be told. */
function waitingMeant(waiting: readonly WaitingCell[], { pieces }: Plan, meant: Meant): WaitingCell[] | null {
  const found: WaitingCell[] = [];
  for (const cell of waiting) {
    if (!pieces.some(({ from, until }) => cell.at >= from && cell.at < until)) continue;
    const isMeant = meant.includes(cell.shared);
    if (isMeant === null) return null;
    if (isMeant) found.push(cell);
  }
  return found;
}

function countedAs(
  { shared, at, amount: { sums, durations, firstBytes } }: WaitingCell,
  { names: [first, second] }: Meant,
  bucketMs: number | null,
  { lines, isTogether }: Wish,
): Counted {
  const bucket = bucketMs === null || isTogether ? 0 : Math.floor(at / bucketMs);
  const name = first?.ofShared(shared) ?? null;
  const then = second?.ofShared(shared) ?? null;
  return {
    ...sums,
    bucket,
    durations,
    firstBytes,
    ...(lines ? { name: lines.of(name, then), then: null } : { name, then }),
  };
}

/** Since when what is asked about is counted; null: it is not. */
function countedSince(filter: LogFilter, by: readonly By[], state: State): number | null {
  const keys = [...(conditionsIn(filter)?.keys() ?? [])].flatMap((cube) =>
    cube.startsWith('metadata.') ? [cube.slice('metadata.'.length)] : [],
  );
  for (const each of by) if (typeof each !== 'string') keys.push(each.metadata);
  let since = state.countedFrom;
  for (const key of keys) {
    const from = state.metadata.get(key);
    if (from === undefined) return null;
    since = Math.max(since, from);
  }
  return since;
}
