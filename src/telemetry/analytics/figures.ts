import { type Kysely, sql } from 'kysely';
import type { Engine } from '../../storage/migrate.ts';
import { GRAINS, type Sum } from '../aggregates/cells.ts';
import { factsOf, type Source, type Value } from '../aggregates/fact.ts';
import { type State, stateIn } from '../aggregates/state.ts';
import type { LogTables } from '../log-columns.ts';
import type { LogFilter } from '../log-query.ts';
import { workspacesIn } from '../postgres-sink.ts';
import { entriesOf, WHOLE_ENTRIES } from './entries.ts';
import { type By, conditionsIn, Kinds, type Known, type Meant, meantBy } from './kinds.ts';
import { type Piece, type Plan, planOf, resolutionAt } from './plan.ts';
import { bucketsOf, type TimeRange } from './time-range.ts';
import { cellsOf, Waiting, type WaitingCell } from './waiting.ts';

export interface Asked {
  readonly filter: LogFilter;
  readonly range: TimeRange;
  readonly by: By | null;
  readonly sums: readonly Sum[];
  /** Whether figures are wanted for each bucket of the time, and not for all of it. */
  readonly isOverTime: boolean;
  /** Which histograms are wanted. */
  readonly histograms?: readonly HistogramName[];
}

export const HISTOGRAMS = ['durations', 'first_bytes_text'] as const;
export type HistogramName = (typeof HISTOGRAMS)[number];

/** What some entries of one name, and of one bucket, amount to. */
export type Counted = Readonly<Record<Sum, number>> & {
  readonly bucket: number;
  readonly name: Value;
} & Readonly<Record<HistogramName, string>>;

export interface Found {
  readonly range: TimeRange;
  /** Buckets can be no shorter than this. */
  readonly shortestMs: number;
  readonly rows: readonly Counted[];
  /** What is to be counted in the log. */
  readonly log: readonly TimeRange[];
}

type CellRow = Counted & { readonly kind: number };

interface Moment {
  readonly state: State;
  readonly waiting: readonly WaitingCell[];
  /** Cells that were read, and kinds that were chosen, for another question. */
  readonly read: Map<string, readonly CellRow[]>;
  readonly chosen: Map<string, readonly Known[] | null>;
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

  async find(asked: Asked): Promise<Found> {
    const [found] = await this.findAll([asked]);
    return found!;
  }

  /** Several questions, answered as of the same moment. */
  findAll(asked: readonly Asked[]): Promise<Found[]> {
    const transaction = this.#db.transaction();
    // Cells and what waits for them must be of one moment.
    return (this.#engine === 'postgres' ? transaction.setIsolationLevel('repeatable read') : transaction).execute(
      async (snapshot) => {
        const { rows } = await sql<{ name: string; value: number }>`select name, value from analytics_state`.execute(
          snapshot,
        );
        const state = stateIn(rows);
        const waiting = await this.#waiting.in(snapshot);
        const found: Found[] = [];
        const moment: Moment = { state, waiting, read: new Map(), chosen: new Map() };
        for (const each of asked) found.push(await this.#find(snapshot, each, moment));
        return found;
      },
    );
  }

  async #find(db: Kysely<LogTables>, asked: Asked, { state, waiting, read, chosen }: Moment): Promise<Found> {
    const shortestMs = resolutionAt(asked.range.from, state);
    const fromLog: Found = { range: asked.range, shortestMs, rows: [], log: [asked.range] };
    const meant = meantBy(asked.filter, asked.by);
    const since = countedSince(asked, state);
    if (!meant || since === null) return fromLog;
    const place = JSON.stringify([meant.cube, asked.filter]);
    const meantKinds = chosen.has(place)
      ? chosen.get(place)!
      : meant.among(await this.#kinds.of(db, meant.cube, state.kindsChanged));
    chosen.set(place, meantKinds);
    if (meantKinds === null) return fromLog;
    const bucketMs = asked.isOverTime ? bucketsOf(asked.range, shortestMs).ms : null;
    const coarsest = GRAINS.findLastIndex(({ ms }) => bucketMs === null || ms <= bucketMs);
    const plan = planOf(asked.range, state, { from: since, coarsest, now: Date.now() });
    const counted: Counted[] = [];
    const names = new Map(meantKinds.map(({ id, kind }) => [id, meant.nameOf(kind)]));
    for (const piece of plan.pieces) {
      // Questions about one moment that differ in what they tell apart only read the same cells.
      const key = JSON.stringify([piece, meant.cube, asked.filter, asked.by === null, asked.sums, bucketMs]);
      const rows = read.get(key) ?? (await this.#cells(db, piece, [...names.keys()], asked, bucketMs));
      read.set(key, rows);
      for (const row of rows) counted.push({ ...row, name: names.get(row.kind) ?? null });
    }
    const beyond = plan.less ? await entriesBeyond(db, asked.filter, plan.less, [...state.metadata.keys()]) : [];
    const still = counting([...waiting, ...beyond], plan, meant, bucketMs);
    if (still === null) return fromLog;
    return { range: plan.range, shortestMs, rows: counted.concat(still), log: plan.log };
  }

  async #cells(
    db: Kysely<LogTables>,
    { grain, from, until }: Piece,
    ids: readonly number[],
    { by, sums, histograms = [] }: Asked,
    bucketMs: number | null,
  ): Promise<CellRow[]> {
    const { ms } = GRAINS[grain]!;
    // Written into the text: a number that is bound is a fraction to SQLite, and so would be what it divides.
    const bucket = bucketMs === null ? sql`0` : sql`bucket / ${sql.lit(bucketMs / ms)}`;
    const kind = by === null ? sql`0` : sql`kind`;
    const wanted = sums.map((name) => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`);
    const plain = sums.map((name) => sql.ref(name));
    const within =
      this.#engine === 'sqlite'
        ? sql`kind in (select value from json_each(${JSON.stringify(ids)}))`
        : sql`kind = any(${ids}::int[])`;
    // No database can add histograms: they come as they are.
    const isPlain = histograms.length > 0;
    const columns = isPlain ? [...plain, ...histograms.map((name) => sql.ref(name))] : wanted;
    const { rows } = await sql<Counted & { kind: number }>`
      select ${bucket} as point, ${kind} as kind, ${sql.join(columns)} from analytics_cells
      where grain = ${sql.lit(grain)} and ${within} and bucket >= ${from / ms} and bucket < ${until / ms}
      ${isPlain ? sql`` : sql`group by 1, 2`}`.execute(db);
    return (rows as (Counted & { kind: number; point: number })[]).map((row) => ({ ...row, bucket: row.point }));
  }
}

/** Entries of a time, to be taken away from what was counted of it. */
async function entriesBeyond(
  db: Kysely<LogTables>,
  { organisationId, workspaceId }: LogFilter,
  range: TimeRange,
  keys: readonly string[],
): Promise<WaitingCell[]> {
  const workspaces = async () =>
    workspaceId === null ? (await workspacesIn(db)).map(({ workspace_id }) => workspace_id) : [workspaceId];
  const entries = entriesOf({ db, filter: { organisationId, workspaceId }, workspaces });
  return cellsOf(factsOf(await entries<Source>(WHOLE_ENTRIES, range), keys, -1));
}

/** What waits, of what is asked for. Null: whether some of it is meant cannot be told. */
function counting(
  waiting: readonly WaitingCell[],
  { pieces }: Plan,
  meant: Meant,
  bucketMs: number | null,
): Counted[] | null {
  const counted: Counted[] = [];
  for (const { kind, at, sums, durations, first_bytes_text } of waiting) {
    if (!pieces.some(({ from, until }) => at >= from && at < until)) continue;
    const isMeant = meant.includes(kind);
    if (isMeant === null) return null;
    if (!isMeant) continue;
    const bucket = bucketMs === null ? 0 : Math.floor(at / bucketMs);
    counted.push({ ...sums, bucket, name: meant.nameOf(kind), durations, first_bytes_text });
  }
  return counted;
}

/** Since when what is asked about is counted; null: it is not. */
function countedSince({ filter, by }: Asked, state: State): number | null {
  const keys = [...(conditionsIn(filter)?.keys() ?? [])].flatMap((cube) =>
    cube.startsWith('metadata.') ? [cube.slice('metadata.'.length)] : [],
  );
  if (by !== null && typeof by !== 'string') keys.push(by.metadata);
  let since = state.countedFrom;
  for (const key of keys) {
    const from = state.metadata.get(key);
    if (from === undefined) return null;
    since = Math.max(since, from);
  }
  return since;
}
