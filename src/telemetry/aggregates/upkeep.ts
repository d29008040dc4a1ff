import type { Engine } from '../../storage/migrate.ts';
import { type LogOwner, type RecountProgress, USER_LABEL } from '../log-sink.ts';
import {
  type Amount,
  type Cell,
  GRAINS,
  type GrainName,
  kindOf,
  METADATA_AT,
  nothing,
  SUMS,
  type Sum,
  spread,
  textOfKind,
  textsOf,
  WHOLE,
  wholesOf,
} from './cells.ts';
import { DIMENSIONS, factsOf, type Source, unpackFacts } from './fact.ts';
import { Guard } from './guard.ts';
import { addText, textOf } from './histogram.ts';
import { metadataState, type State, stateIn } from './state.ts';
import { ENTRIES_AT_ONCE, type Statements, statementsOf } from './statements.ts';

/** One statement: with its values, or for each of many rows. */
export interface Ask {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rows?: readonly (readonly unknown[])[];
}
// biome-ignore lint/suspicious/noExplicitAny: rows are as their statement says
export type Answer = any[];
/**
 * Work on the store, a statement at a time, so that both engines do the same: the embedded one at once, PostgreSQL when
 * the answers come. Each is one transaction, and no two of them run at the same time.
 */
export type Work<Result> = Generator<Ask, Result, Answer>;

export interface UpkeepOptions {
  readonly engine: Engine;
  /** Keys of metadata by which figures are kept. */
  readonly keys: readonly string[];
  /** For how long, in milliseconds. */
  readonly keep: Readonly<Record<GrainName, number>>;
  readonly now: () => number;
  readonly guard?: Guard;
}

const HOUR_MS = GRAINS[1].ms;
const DAY_MS = GRAINS[2].ms;
/** Ids of kinds are small; this many are a few megabytes. */
const MOST_KNOWN = 100_000;
const KINDS_AT_ONCE = 2_000;
const ERASED = 'erased';

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #guard: Guard;
  readonly #sql: Statements;
  /** Ids of kinds. */
  readonly #known = new Map<string, number>();
  #knownAt = -1;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#guard = options.guard ?? new Guard(options.now);
    this.#sql = statementsOf(options.engine);
  }

  /** What was found out in a transaction that failed is not true. */
  forget(): void {
    this.#known.clear();
  }

  /** Notes by which keys of metadata figures are kept, and since when. */
  *begin(): Work<true> {
    const state = yield* this.#state();
    const wanted = new Set(this.#options.keys);
    const since = Math.ceil(this.#options.now() / HOUR_MS) * HOUR_MS + HOUR_MS;
    const fresh = [...wanted].filter((key) => !state.metadata.has(key));
    const isEmpty = state.countedFrom === 0 && (yield* this.#isEmpty());
    for (const key of fresh) yield* this.#set(metadataState(key), isEmpty ? 0 : since);
    const gone = [...state.metadata.keys()].filter((key) => !wanted.has(key));
    for (const key of gone) yield* this.#set(metadataState(key), Number.MAX_SAFE_INTEGER);
    const again = [...wanted].filter((key) => state.metadata.get(key) === Number.MAX_SAFE_INTEGER);
    for (const key of again) yield* this.#set(metadataState(key), since);
    return true;
  }

  /** Takes what waits into the cells; says how many batches it were. */
  *compact(): Work<number> {
    const state = yield* this.#state();
    const waiting = (yield { text: this.#sql.waiting }) as { id: number; facts: string }[];
    if (waiting.length === 0) return 0;
    const wholes = new Map<string, Cell>();
    for (const { facts } of waiting) wholesOf(unpackFacts(facts), wholes);
    yield* this.#addWholes([...wholes.values()], state);
    yield { text: this.#sql.takeWaiting, rows: waiting.map(({ id }) => [id]) };
    return waiting.length;
  }

  /** Deletes cells that are older than they are kept; says whether there may be more. */
  *prune(after: number): Work<number | null> {
    const state = yield* this.#state();
    const last = Number(((yield { text: this.#sql.lastKind }) as { last: number }[])[0]!.last);
    for (const [grain, { name, ms }] of GRAINS.entries()) {
      const before = Math.floor((this.#options.now() - this.#options.keep[name]) / ms);
      if (before <= 0) continue;
      if (before * ms > state.prunedBefore[name]) yield* this.#set(`pruned_${name}`, before * ms);
      yield { text: this.#sql.dropBefore, values: [grain, after, after + KINDS_AT_ONCE, before] };
    }
    return after + KINDS_AT_ONCE < last ? after + KINDS_AT_ONCE : null;
  }

  /** The log has no more entries from before then. */
  *logPruned(before: number): Work<void> {
    const state = yield* this.#state();
    if (before > state.logPrunedBefore) yield* this.#set('log_pruned', before);
  }

  /** Counts one more hour anew, from now into the past; says whether there are more. */
  *countHour(): Work<boolean> {
    const state = yield* this.#state();
    const from = this.#since(state);
    if (from === 0 || from > this.#options.now() + HOUR_MS) return false;
    while ((yield* this.compact()) > 0);
    const places = yield* this.#places();
    const oldest = yield* this.#oldest(places);
    const hour = from - HOUR_MS;
    if (oldest === null || hour + HOUR_MS <= oldest || hour + HOUR_MS <= state.logPrunedBefore) {
      yield* this.#countedFrom(0, state);
      return false;
    }
    // The log holds less than all of the hour: what was counted of it before is more.
    if (hour >= state.logPrunedBefore || (yield* this.#between(1, hour, HOUR_MS)).length === 0)
      yield* this.#replaceHour(hour, places, state);
    if (hour % DAY_MS === 0 || hour <= oldest) yield* this.#replaceDay(Math.floor(hour / DAY_MS) * DAY_MS);
    yield* this.#countedFrom(hour, state);
    return true;
  }

  /** Begins to count everything anew, when told to: until an hour has its turn, figures come from the log. */
  *recount(isToBegin: boolean): Work<RecountProgress> {
    const { keys, now } = this.#options;
    if (isToBegin) {
      const from = (Math.floor(now() / HOUR_MS) + 1) * HOUR_MS;
      yield* this.#set('counted_from', from);
      for (const key of keys) yield* this.#set(metadataState(key), from);
    }
    const from = this.#since(yield* this.#state());
    return { countedFrom: from === 0 ? null : from, oldest: yield* this.#oldest(yield* this.#places()) };
  }

  #since({ countedFrom, metadata }: State): number {
    return Math.max(countedFrom, ...this.#options.keys.map((key) => metadata.get(key) ?? 0));
  }

  /** After all entries of an owner are gone: what cells still say of them, from before the log begins. */
  *end(whose: LogOwner): Work<void> {
    while ((yield* this.compact()) > 0);
    const rows = (yield { text: this.#sql.kindsOf }) as { id: number; text: string; workspace_id: string | null }[];
    const state = yield* this.#state();
    if ('workspaceId' in whose) {
      const ids = rows.filter(({ workspace_id }) => workspace_id === whose.workspaceId).map(({ id }) => id);
      if (ids.length === 0) return;
      yield { text: this.#sql.dropCellsOf, rows: ids.flatMap((id) => GRAINS.map((_, grain) => [grain, id])) };
      yield { text: this.#sql.dropKindsOf, rows: ids.map((id) => [id]) };
    } else {
      const renamed = rows.flatMap(({ id, text }) => {
        const nameless = withoutPerson(text, whose);
        return nameless === null ? [] : [[`${ERASED} ${id}`, nameless, id]];
      });
      if (renamed.length === 0) return;
      yield { text: this.#sql.rename, rows: renamed };
    }
    yield* this.#set('kinds_changed', state.kindsChanged + 1);
  }

  *#replaceHour(hour: number, places: readonly (string | null)[], state: State): Work<void> {
    for (const grain of [0, 1]) {
      const { ms } = GRAINS[grain]!;
      yield { text: this.#sql.dropBetween, values: [grain, hour / ms, (hour + HOUR_MS) / ms] };
    }
    const wholes = new Map<string, Cell>();
    for (const place of places) {
      let [at, id] = [hour, ''];
      for (let isMore = true; isMore; ) {
        const range = [at, id, hour + HOUR_MS];
        const rows: Answer =
          place === null
            ? yield { text: this.#sql.entriesOfNone, values: range }
            : yield { text: this.#sql.entries, values: [place, ...range] };
        wholesOf(factsOf(rows as Source[], this.#options.keys), wholes);
        isMore = rows.length === ENTRIES_AT_ONCE;
        if (isMore) ({ created_at: at, id } = rows.at(-1) as Source);
      }
    }
    yield* this.#addWholes([...wholes.values()], state, [0, 1]);
  }

  /** A day is the sum of its hours. */
  *#replaceDay(day: number): Work<void> {
    const cells = new Map<number, Amount>();
    for (const row of yield* this.#between(1, day, DAY_MS)) {
      const amount = cells.get(row.kind) ?? nothing();
      cells.set(row.kind, amount);
      addRow(amount, row);
    }
    yield { text: this.#sql.dropBetween, values: [2, day / DAY_MS, day / DAY_MS + 1] };
    const rows = [...cells].map(([kind, amount]) => rowOf(2, kind, day / DAY_MS, amount));
    if (rows.length > 0) yield { text: this.#sql.putCells, rows };
  }

  *#between(grain: number, from: number, length: number): Work<CellRow[]> {
    const { ms } = GRAINS[grain]!;
    return (yield { text: this.#sql.cellsBetween, values: [grain, from / ms, (from + length) / ms] }) as CellRow[];
  }

  *#countedFrom(moment: number, state: State): Work<void> {
    if (moment < state.countedFrom) yield* this.#set('counted_from', moment);
    for (const key of this.#options.keys)
      if (moment < (state.metadata.get(key) ?? 0)) yield* this.#set(metadataState(key), moment);
  }

  *#isEmpty(): Work<boolean> {
    return (yield* this.#oldest(yield* this.#places())) === null;
  }

  /** Workspaces that have entries; while a user signs in, the user is known before the workspace is. */
  *#places(): Work<(string | null)[]> {
    const rows = (yield { text: this.#sql.workspaces }) as { workspace_id: string }[];
    return [null, ...rows.map(({ workspace_id }) => workspace_id)];
  }

  *#oldest(places: readonly (string | null)[]): Work<number | null> {
    let oldest: number | null = null;
    for (const place of places) {
      const rows: Answer =
        place === null ? yield { text: this.#sql.oldestOfNone } : yield { text: this.#sql.oldest, values: [place] };
      const { at } = rows[0] as { at: number | null };
      if (at !== null && (oldest === null || at < oldest)) oldest = at;
    }
    return oldest;
  }

  *#addWholes(wholes: readonly Cell[], state: State, grains: readonly number[] = [0, 1, 2]): Work<void> {
    if (wholes.length === 0) return;
    const texts = yield* this.#settle(textsOf(wholes, this.#options.keys), state);
    const cells = spread(wholes, texts);
    for (const grain of grains) {
      const { name, ms } = GRAINS[grain]!;
      const kept = [...cells[grain]!.values()].filter(({ bucket }) => bucket * ms >= state.prunedBefore[name]);
      yield* this.#put(grain, kept);
    }
  }

  /** Adds to cells that are there. */
  *#put(grain: number, cells: readonly Cell[]): Work<void> {
    if (cells.length === 0) return;
    const keys = cells.map(({ text, bucket }) => [grain, this.#known.get(text)!, bucket] as const);
    const found = new Map<string, CellRow>();
    for (const row of (yield { text: this.#sql.findCells, rows: keys }) as CellRow[])
      found.set(`${row.kind} ${row.bucket}`, row);
    const rows = cells.map(({ amount, bucket }, at) => {
      const before = found.get(`${keys[at]![1]} ${bucket}`);
      if (before) addRow(amount, before);
      return rowOf(grain, keys[at]![1], bucket, amount);
    });
    yield { text: this.#sql.putCells, rows };
  }

  /** Sees to it that all kinds have ids; where the guard wants it, under another name. */
  *#settle(texts: Map<string, readonly string[]>, state: State): Work<Map<string, readonly string[]>> {
    if (this.#knownAt !== state.kindsChanged || this.#known.size > MOST_KNOWN) this.#known.clear();
    this.#knownAt = state.kindsChanged;
    const asked = new Set([...texts.values()].flat());
    yield* this.#find(asked);
    const names = new Map<string, string>();
    for (const text of asked) if (!this.#known.has(text)) names.set(text, this.#guard.admit(text));
    const wanted = new Set(names.values());
    yield* this.#find(wanted);
    const fresh = [...wanted].filter((text) => !this.#known.has(text));
    if (fresh.length > 0) {
      const byKey = new Map(fresh.map((text) => [keyOf(text), text]));
      const rows = [...byKey].map(([key, text]) => [key, text, kindOf(text).workspaceId]);
      for (const { id, key } of (yield { text: this.#sql.addKinds, rows }) as { id: number; key: string }[])
        this.#known.set(byKey.get(key)!, id);
    }
    if (names.size === 0) return texts;
    const named = (text: string) => names.get(text) ?? text;
    return new Map([...texts].map(([whole, parts]) => [whole, parts.map(named)]));
  }

  *#find(texts: Iterable<string>): Work<void> {
    const byKey = new Map<string, string>();
    for (const text of texts) if (!this.#known.has(text)) byKey.set(keyOf(text), text);
    if (byKey.size === 0) return;
    const rows = [...byKey.keys()].map((key) => [key]);
    for (const { id, key } of (yield { text: this.#sql.findKinds, rows }) as { id: number; key: string }[])
      this.#known.set(byKey.get(key)!, id);
  }

  *#state(): Work<State> {
    return stateIn((yield { text: this.#sql.readState }) as { name: string; value: number }[]);
  }

  *#set(name: string, value: number): Work<void> {
    yield { text: this.#sql.setState, rows: [[name, value]] };
  }
}

/** Texts can be longer than an index takes. */
const keyOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('base64').slice(0, 24);

export type CellRow = Record<Sum, number> & {
  readonly kind: number;
  readonly bucket: number;
  readonly durations: string;
  readonly first_bytes_text: string;
};

function addRow(amount: Amount, row: CellRow): void {
  for (const name of SUMS) amount.sums[name] += row[name];
  addText(amount.durations, row.durations);
  addText(amount.firstBytes, row.first_bytes_text);
}

/** In the order of `CELL_COLUMNS`. */
const rowOf = (grain: number, kind: number, bucket: number, { sums, durations, firstBytes }: Amount): unknown[] => [
  grain,
  kind,
  bucket,
  ...SUMS.map((name) => sums[name]),
  textOf(durations),
  textOf(firstBytes),
];

const USER_AT = DIMENSIONS.indexOf('user_id');

/** The same kind without what tells who it was; null when it is not about the person. */
function withoutPerson(text: string, whose: Extract<LogOwner, { userId: string }>): string | null {
  const kind = kindOf(text);
  if (kind.organisationId !== whose.organisationId) return null;
  const isUser = (at: number) => kind.cube === 'user_id' || (kind.cube === WHOLE && at === USER_AT);
  const nameless = (value: string) => (whose.names.includes(value) ? ERASED : value);
  const values = kind.values.map((value, at) => {
    if (typeof value !== 'string') return value;
    if (isUser(at)) return value === whose.userId ? ERASED : value;
    if (kind.cube === `metadata.${USER_LABEL}`) return nameless(value);
    if (kind.cube !== WHOLE || at !== METADATA_AT || !value.startsWith('[')) return value;
    const pairs = JSON.parse(value) as [string, string][];
    return JSON.stringify(pairs.map(([key, label]) => [key, key === USER_LABEL ? nameless(label) : label]));
  });
  const changed = textOfKind({ ...kind, values });
  return changed === text ? null : changed;
}
