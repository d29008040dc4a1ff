import { fail } from '../../core/errors.ts';
import type { Engine } from '../../storage/migrate.ts';
import type { Amount, Sum } from '../aggregates/amount.ts';
import { type KindCube, TOTAL } from '../aggregates/cubes.ts';
import type { Source, Value } from '../aggregates/fact.ts';
import { GRAINS } from '../aggregates/grains.ts';
import { areSeldom, type Columns, narrowed, readColumns } from '../aggregates/layout.ts';
import { type State, stateIn } from '../aggregates/state.ts';
import { wholesOf } from '../aggregates/wholes.ts';
import type { LogFilter } from '../log-query.ts';
import { workspacesWithin } from '../log-workspaces.ts';
import { entriesOf, WHOLE_ENTRIES, type Workspaces } from './entries.ts';
import { type By, conditionsIn, Kinds, type Meant, meantBy } from './kinds.ts';
import { type CubePiece, type Plan, planOf, readOf, resolutionAt } from './plan.ts';
import { type Chunk, cellsMeant, type Known, namesBy, Scan, type Tallied, verdictsOn } from './scan.ts';
import { ANSWER_WITHIN_MS } from './slices.ts';
import type { CellBytes, CellColumn, Snapshot, Snapshots } from './snapshots.ts';
import { bucketsOf, type LoggedTime, type TimeRange } from './time-range.ts';
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
  readonly log: readonly LoggedTime[];
  /** Which workspaces may have entries of that; null: the log has to be asked. */
  readonly workspaces: Workspaces | null;
  count(wish: Wish): Counted[];
  /** The same of a question about one name: one sum as columns, and what waits. */
  tally(sum: Sum): { readonly scanned: Tallied; readonly waiting: readonly Counted[] };
}

const NOTHING_COUNTED: Pick<Look, 'count' | 'tally'> = {
  count: () => [],
  tally: () => ({ scanned: { names: [], buckets: [], numbers: [], totals: new Float64Array(0) }, waiting: [] }),
};

export interface Found extends Omit<Look, 'count' | 'tally'> {
  readonly rows: readonly Counted[];
}

/** What is known as of one moment; most of it was found out for another question. */
class Moment {
  readonly snapshot: Snapshot;
  readonly state: State;
  readonly waiting: readonly WaitingCell[];
  readonly kinds = new Map<KindCube, Promise<Known>>();
  readonly verdicts = new Map<string, Uint8Array>();
  readonly chosen = new Map<string, readonly Chosen[] | null>();
  readonly beyond = new Map<string, Promise<readonly WaitingCell[]>>();
  /** How much of the cells is kept. */
  bytes = 0;

  constructor(snapshot: Snapshot, state: State, waiting: readonly WaitingCell[]) {
    this.snapshot = snapshot;
    this.state = state;
    this.waiting = waiting;
  }
}

/** Questions that are to be answered as of the same moment. */
interface Asked {
  readonly all: readonly Looked[];
  readonly deadline: number;
  readonly resolve: (looks: Look[]) => void;
  readonly reject: (reason: unknown) => void;
}

/** A client that asks for a log entry waits for so many questions at most, and what they have read lies in memory as long. */
const MOST_TOGETHER = 16;
const MOST_BYTES_TOGETHER = 32 << 20;

interface Chosen {
  readonly chunk: Chunk;
  readonly cells: Int32Array;
}

/** Of more workspaces, few have entries of a short time. */
const MOST_WORKSPACES = 200;

/** One in so many cells at most: those are kept, and not the chunk that they lie in. */
const FEW = 2;

interface Choosing {
  readonly looked: Looked;
  /** Of how many kinds keys are made. */
  readonly width: number;
  readonly verdicts: readonly Uint8Array[];
  readonly bucketMs: number | null;
}

/** Answers from what was counted when entries were logged. */
export class Figures {
  readonly #snapshots: Snapshots;
  readonly #engine: Engine;
  readonly #kinds = new Kinds();
  readonly #waiting = new Waiting();
  /** They wait for their moment. */
  readonly #asked: Asked[] = [];
  #isLooking = false;
  /** By bytes that are held; they go with them. */
  readonly #columns = new WeakMap<Uint8Array, Columns>();

  constructor(snapshots: Snapshots, engine: Engine) {
    this.#snapshots = snapshots;
    this.#engine = engine;
  }

  async find(asked: Looked, deadline: number): Promise<Found> {
    const [found] = await this.findAll([asked], deadline);
    return found!;
  }

  /** Several questions, answered as of the same moment. */
  async findAll(asked: readonly Looked[], deadline: number): Promise<Found[]> {
    const looks = await this.lookAtAll(asked, deadline);
    return looks.map(({ count, tally: _, ...look }, at) => ({ ...look, rows: count(asked[at]!) }));
  }

  async look(looked: Looked, deadline: number): Promise<Look> {
    const [look] = await this.lookAtAll([looked], deadline);
    return look!;
  }

  /** Several looks as of the same moment. */
  lookAtAll(all: readonly Looked[], deadline: number): Promise<Look[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Look[]>();
    this.#asked.push({ all, deadline, resolve, reject });
    if (!this.#isLooking) void this.#answerAsked();
    return promise;
  }

  /** A page asks much at once: what comes in one turn, or while others are answered, is answered together. */
  async #answerAsked(): Promise<void> {
    this.#isLooking = true;
    await new Promise(setImmediate);
    while (this.#asked.length > 0) {
      const left = new Set(this.#asked.splice(0, MOST_TOGETHER));
      const { size } = left;
      try {
        await this.#snapshots((snapshot) => this.#answer(left, snapshot), this.#waiting.known);
      } catch (error) {
        // Where one of them failed, it knows; the others get another moment.
        if (left.size === size) for (const each of left) this.#refuse(left, each, error);
      }
      this.#asked.unshift(...left);
    }
    this.#isLooking = false;
  }

  /** Takes those away that were answered. */
  async #answer(left: Set<Asked>, snapshot: Snapshot): Promise<void> {
    const { opening } = snapshot;
    const moment = new Moment(snapshot, stateIn(opening.state), this.#waiting.in(opening.waiting));
    for (const asked of left) {
      try {
        if (performance.now() > asked.deadline) fail('analytics_too_slow', ANSWER_WITHIN_MS / 1_000);
        const looks = await this.#looks(asked.all, moment);
        if (looks === null) continue;
        left.delete(asked);
        asked.resolve(looks);
      } catch (error) {
        this.#refuse(left, asked, error);
        throw error;
      }
      // Other questions to this thread get their turn.
      await new Promise(setImmediate);
    }
  }

  #refuse(left: Set<Asked>, asked: Asked, error: unknown): void {
    left.delete(asked);
    asked.reject(error);
  }

  /** Null: more would have to be read than this moment has room for. */
  async #looks(all: readonly Looked[], moment: Moment): Promise<Look[] | null> {
    const mayRead = moment.bytes < MOST_BYTES_TOGETHER;
    const looks: Look[] = [];
    for (const each of all) {
      const look = await this.#look(each, moment, mayRead);
      if (look === null) return null;
      looks.push(look);
    }
    return looks;
  }

  async #look(looked: Looked, moment: Moment, mayRead: boolean): Promise<Look | null> {
    const { state, waiting, chosen } = moment;
    const shortestMs = resolutionAt(looked.range.from, state);
    const all = [looked.range];
    const fromLog = async (): Promise<Look> => ({
      ...{ range: looked.range, shortestMs, log: all, ...NOTHING_COUNTED },
      workspaces: await this.#workspaces(looked.filter, all, moment),
    });
    const by = [looked.by, looked.then ?? null].filter((each) => each !== null);
    const meant = meantBy(looked.filter, by);
    const since = countedSince(looked.filter, by, state);
    if (!meant || since === null) return fromLog();
    const bucketMs = looked.isOverTime ? bucketsOf(looked.range, { shortestMs, wishedMs: looked.bucketMs }).ms : null;
    const coarsest = GRAINS.findLastIndex(({ ms }) => bucketMs === null || ms <= bucketMs);
    const plan = planOf(looked.range, state, { from: since, coarsest, now: Date.now() });
    const kinds: Known[] = [];
    for (const { cube } of meant.columns) kinds.push(await this.#kindsOf(cube, moment));
    const verdicts = meant.columns.map(({ cube, includes }, at) => {
      const key = JSON.stringify([meant.columns.length, cube, looked.filter]);
      return known(moment.verdicts, key, () => verdictsOn(kinds[at]!, includes));
    });
    const cells: Chosen[] = [];
    // Questions about one moment often differ in nothing but what they tell apart.
    const keyOf = (piece: CubePiece) =>
      JSON.stringify([piece, looked.histograms, areSeldom(looked.sums), bucketMs, looked.filter]);
    const pieces = readOf(plan.pieces, meant, state);
    const unread = pieces.filter((piece) => !chosen.has(keyOf(piece)));
    if (unread.length > 0 && !mayRead) return null;
    const found = await this.#chosen(moment, unread, { looked, width: meant.columns.length, verdicts, bucketMs });
    for (const [at, piece] of unread.entries()) chosen.set(keyOf(piece), found[at]!);
    for (const piece of pieces) {
      const meantOf = chosen.get(keyOf(piece))!;
      if (meantOf === null) return fromLog();
      for (const each of meantOf) cells.push(each);
    }
    const beyond = plan.less ? await this.#entriesBeyond(looked.filter, plan.less, moment) : [];
    const still = waitingMeant([...waiting, ...beyond], plan, meant);
    if (still === null) return fromLog();
    const names = meant.names.map((naming) => namesBy(naming, kinds[naming.column]!, verdicts[naming.column]!));
    const scanned = (wish: Wish) => {
      const scan = new Scan(names, wish);
      for (const each of cells) scan.add(each.chunk, each.cells);
      return scan;
    };
    const stillOf = (wish: Wish) => still.map((each) => countedAs(each, meant, bucketMs, wish));
    return {
      range: plan.range,
      shortestMs,
      log: plan.log,
      workspaces: await this.#workspaces(looked.filter, plan.log, moment),
      count: (wish) => scanned(wish).found().concat(stillOf(wish)),
      tally: (sum) => ({ scanned: scanned({ sums: [sum] }).tallied(), waiting: stillOf({ sums: [sum] }) }),
    };
  }

  #kindsOf(cube: KindCube, { kinds, snapshot: { db, opening }, state }: Moment): Promise<Known> {
    return known(kinds, cube, () => this.#kinds.of(db, cube, state.kindsChanged, opening.newestKind));
  }

  /**
   * Which workspaces may have entries of these times. Each entry was counted when it was logged, so what is counted of workspaces alone,
   * and what waits, names them all. Null: some of the time is not counted, or there are so many that the log knows better.
   */
  async #workspaces(
    { organisationId, workspaceId }: LogFilter,
    times: readonly TimeRange[],
    moment: Moment,
  ): Promise<Workspaces | null> {
    if (workspaceId !== null) return [workspaceId];
    if (times.length === 0 || times.some(({ from }) => from < moment.state.countedFrom)) return null;
    const found = new Set<string | null>([null]);
    for (const { kind } of await this.#kindsOf(TOTAL, moment))
      if (kind.organisationId === organisationId) found.add(kind.workspaceId);
    for (const { shared } of moment.waiting)
      if (shared.organisationId === organisationId) found.add(shared.workspaceId);
    return found.size > MOST_WORKSPACES ? null : [...found];
  }

  /** Of each piece, what is meant. Null: of some of it, that cannot be told. */
  async #chosen(
    moment: Moment,
    pieces: readonly CubePiece[],
    { looked: { sums, histograms = [] }, width, verdicts, bucketMs }: Choosing,
  ): Promise<(readonly Chosen[] | null)[]> {
    const chosen: (Chosen[] | null)[] = pieces.map(() => []);
    if (pieces.length === 0) return chosen;
    const hasMore = areSeldom(sums);
    const names = ['sums', ...histograms.map((name) => HISTOGRAM_COLUMNS[name]), ...(hasMore ? ['more'] : [])];
    await moment.snapshot.cells(pieces, names as readonly CellColumn[], ({ piece, bucket: at, bytes, isHeld, own }) => {
      const found = chosen[piece];
      if (!found) return;
      const read = () => readColumns(bytes[0]!, hasMore ? bytes.at(-1)! : null, width);
      const columns = isHeld ? this.#columnsOf(bytes, hasMore, read) : read();
      const cells = cellsMeant(columns, verdicts);
      if (cells === null) chosen[piece] = null;
      if (cells === null || cells.length === 0) return;
      const bucket = bucketMs === null ? 0 : Math.floor(at / (bucketMs / GRAINS[pieces[piece]!.grain]!.ms));
      if (own && histograms.length === 0 && cells.length <= columns.count / FEW) {
        const few = narrowed(columns, cells, width, hasMore);
        moment.bytes += cells.length * (lengthOf(bytes) / columns.count);
        found.push({ chunk: { bucket, columns: few, histograms: {} }, cells: allOf(cells.length) });
        return;
      }
      own?.();
      if (!isHeld) moment.bytes += lengthOf(bytes);
      const histogramsKept = Object.fromEntries(histograms.map((name, place) => [name, bytes[place + 1]!]));
      found.push({ chunk: { bucket, columns, histograms: histogramsKept }, cells });
    });
    return chosen;
  }

  /** Of a row that is held for other moments, as it was taken apart for the first of them. */
  #columnsOf(bytes: CellBytes, hasMore: boolean, read: () => Columns): Columns {
    const from = (hasMore && bytes.at(-1)) || bytes[0]!;
    const columns = this.#columns.get(from) ?? read();
    this.#columns.set(from, columns);
    return columns;
  }

  /** Entries of a time, to be taken away from what was counted of it. */
  #entriesBeyond({ organisationId, workspaceId }: LogFilter, range: TimeRange, moment: Moment) {
    const { snapshot, state, beyond } = moment;
    const filter = { organisationId, workspaceId };
    return known(beyond, JSON.stringify([filter, range]), async () => {
      const { db } = snapshot;
      const entries = entriesOf({
        ...{ db, engine: this.#engine, filter },
        workspaces: workspacesWithin(db, this.#engine, filter),
      });
      const rows = await entries<Source>(WHOLE_ENTRIES, range, await this.#workspaces(filter, [range], moment));
      return waitingCells(wholesOf(rows, [...state.metadata.keys()], -1));
    });
  }
}

function known<Key, Value>(found: Map<Key, Value>, key: Key, find: () => Value): Value {
  if (!found.has(key)) found.set(key, find());
  return found.get(key)!;
}

function allOf(count: number): Int32Array {
  const cells = new Int32Array(count);
  for (let cell = 0; cell < count; cell++) cells[cell] = cell;
  return cells;
}

const lengthOf = (bytes: CellBytes): number => bytes.reduce((sum, each) => sum + (each?.length ?? 0), 0);

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
