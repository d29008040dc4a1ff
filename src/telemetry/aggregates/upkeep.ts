import type { Engine } from '../../storage/migrate.ts';
import { GuardrailUpkeep } from '../hits/upkeep.ts';
import type { LogOwner, RecountProgress } from '../log-sink.ts';
import { CellStore } from './cell-store.ts';
import { Dictionary } from './dictionary.ts';
import { FIRST_WITH_DIGESTS } from './digests.ts';
import type { Source } from './fact.ts';
import { DAY_MS, DAYS, FIVES, GRAINS, type GrainName, HOUR_MS, HOURS } from './grains.ts';
import { Guard } from './guard.ts';
import { keyOfErased, withoutPerson } from './people.ts';
import { digestedState, finerThan, metadataState, type State, stateIn } from './state.ts';
import { ENTRIES_AT_ONCE, type Statements, statementsOf } from './statements.ts';
import { unpackWholes, type Wholes, wholesOf } from './wholes.ts';
import type { Answer, Work } from './work.ts';

export interface UpkeepOptions {
  readonly engine: Engine;
  /** Keys of metadata by which figures are kept. */
  readonly keys: readonly string[];
  /** For how long, in milliseconds. */
  readonly keep: Readonly<Record<GrainName, number>>;
  readonly now: () => number;
  readonly guard?: Guard;
}

/** Of a time in which nothing was logged, so many buckets are passed over in one transaction. */
const MOST_EMPTY = 1_000;

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #sql: Statements;
  readonly #dictionary: Dictionary;
  readonly #cells: CellStore;
  readonly #guardrails: GuardrailUpkeep;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#sql = statementsOf(options.engine);
    this.#dictionary = new Dictionary(this.#sql, options.guard ?? new Guard(options.now), options.keys);
    this.#cells = new CellStore(this.#sql, this.#dictionary);
    this.#guardrails = new GuardrailUpkeep(options.engine);
  }

  /** What was found out in a transaction that failed is not true. */
  forget(): void {
    this.#dictionary.forget();
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
    yield* this.#guardrails.merge();
    const state = yield* this.#state();
    const waiting = (yield { text: this.#sql.waiting }) as { id: number; facts: string }[];
    if (waiting.length === 0) return 0;
    const wholes: Wholes = new Map();
    for (const { facts } of waiting) unpackWholes(facts, wholes);
    yield* this.#cells.add([...wholes.values()], state);
    yield { text: this.#sql.takeWaiting, rows: waiting.map(({ id }) => [id]) };
    return waiting.length;
  }

  /** Makes the next longer bucket that was over then; says whether there may be more of them. */
  *roll(over: number): Work<boolean> {
    const state = yield* this.#state();
    for (let grain = FIVES; grain < GRAINS.length; grain++) {
      const { name, ms } = GRAINS[grain]!;
      let begins = state.rolledBefore[name];
      const finer = Math.min(over, state.rolledBefore[GRAINS[finerThan(grain, begins, state)]!.name]);
      let isThere = false;
      for (let count = 0; begins + ms <= finer && !isThere && count < MOST_EMPTY; count++, begins += ms)
        isThere = yield* this.#cells.roll(grain, begins, state);
      if (begins === state.rolledBefore[name]) continue;
      yield* this.#set(`rolled_${name}`, begins);
      return true;
    }
    return false;
  }

  /** Makes the digests of one more bucket from before there were any, the latest first; says whether there may be more. */
  *digest(): Work<boolean> {
    const state = yield* this.#state();
    if (this.#options.now() < state.digestsBegin) return false;
    for (let grain = GRAINS.length - 1; grain >= FIRST_WITH_DIGESTS; grain--) {
      const { name } = GRAINS[grain]!;
      const from = state.digestedFrom[name];
      if (from === 0) continue;
      const made =
        from === Number.POSITIVE_INFINITY
          ? state.rolledBefore[name]
          : yield* this.#cells.digestLastBefore(grain, from, state);
      yield* this.#set(digestedState(name), made ?? 0);
      return true;
    }
    return false;
  }

  /** Deletes cells that are older than they are kept, and of which longer ones have been made. */
  *prune(): Work<true> {
    const state = yield* this.#state();
    for (const [grain, { name, ms }] of GRAINS.entries()) {
      const made = Math.min(...GRAINS.slice(grain + 1).map((longer) => state.rolledBefore[longer.name]));
      const before = Math.floor(Math.min(this.#options.now() - this.#options.keep[name], made) / ms) * ms;
      if (before <= 0) continue;
      if (before > state.prunedBefore[name]) yield* this.#set(`pruned_${name}`, before);
      yield* this.#cells.dropBefore(grain, before);
    }
    yield* this.#guardrails.dropBefore(this.#options.now() - this.#options.keep.hours);
    return true;
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
    if (hour >= state.logPrunedBefore || !(yield* this.#cells.isThere(HOURS, hour, hour + HOUR_MS)))
      yield* this.#replaceHour(hour, places, state);
    if (hour % DAY_MS === 0 || hour <= oldest) yield* this.#replaceLonger(Math.floor(hour / DAY_MS) * DAY_MS, state);
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
      yield* this.#guardrails.dropWorkspace(whose.workspaceId);
      const ids = rows.filter(({ workspace_id }) => workspace_id === whose.workspaceId).map(({ id }) => id);
      if (ids.length === 0) return;
      // No kind leads to what is left in cells.
      yield { text: this.#sql.dropKindsOf, rows: ids.map((id) => [id]) };
    } else {
      const renamed = rows.flatMap(({ id, text }) => {
        const nameless = withoutPerson(text, whose);
        return nameless === null ? [] : [[keyOfErased(id), nameless, id]];
      });
      if (renamed.length === 0) return;
      yield { text: this.#sql.rename, rows: renamed };
    }
    yield* this.#set('kinds_changed', state.kindsChanged + 1);
  }

  *#replaceHour(hour: number, places: readonly (string | null)[], state: State): Work<void> {
    yield* this.#cells.dropHour(hour);
    yield* this.#guardrails.dropHour(hour);
    const wholes: Wholes = new Map();
    for (const place of places) {
      let [at, id] = [hour, ''];
      for (let isMore = true; isMore; ) {
        const range = [at, id, hour + HOUR_MS];
        const rows: Answer =
          place === null
            ? yield { text: this.#sql.entriesOfNone, values: range }
            : yield { text: this.#sql.entries, values: [place, ...range] };
        wholesOf(rows as Source[], this.#options.keys, 1, wholes);
        yield* this.#guardrails.add(rows as Source[]);
        isMore = rows.length === ENTRIES_AT_ONCE;
        if (isMore) ({ created_at: at, id } = rows.at(-1) as Source);
      }
    }
    yield* this.#cells.add([...wholes.values()], upToHours(state));
  }

  /** Quarters are made of hours, and a day of quarters. */
  *#replaceLonger(day: number, state: State): Work<void> {
    for (let grain = HOURS + 1; grain <= DAYS; grain++) {
      const { name, ms } = GRAINS[grain]!;
      for (let begins = day; begins < day + DAY_MS && begins < state.rolledBefore[name]; begins += ms)
        yield* this.#cells.roll(grain, begins, state);
    }
  }

  *#countedFrom(moment: number, state: State): Work<void> {
    if (moment < state.countedFrom) yield* this.#set('counted_from', moment);
    if (moment < state.guardrailsFrom) yield* this.#set('guardrails_from', moment);
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

  *#state(): Work<State> {
    return stateIn((yield { text: this.#sql.readState }) as { name: string; value: number }[]);
  }

  *#set(name: string, value: number): Work<void> {
    yield { text: this.#sql.setState, rows: [[name, value]] };
  }
}

/** Longer buckets are made anew once all of their hours are. */
const upToHours = (state: State): State => ({
  ...state,
  rolledBefore: { ...state.rolledBefore, quarters: 0, days: 0 },
});
