import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import type { Store } from '../../storage/store.ts';
import type { Settlement } from '../counters/counters.ts';
import { type Posting, type PostingRecord, postingOf, postingsIn, recordOfAll } from '../counters/posting.ts';
import { type Folded, foldOf, pruneCounters, settlementsOf } from './fold.ts';
import { Journal, recordOf } from './journal.ts';

/**
 * The way of settled calls into `usage_ledger`. They gather for a moment, are appended to a file in the data dir, and go
 * to the store in groups, which adds them to `limit_counters` in the same transaction, once per id. While the store is
 * away they stay in the file, also across a restart.
 */
export interface Ledger {
  add(settlement: Settlement, options?: AddOptions): void;
  /** Puts what was added so far on disk, at once; answers whether it is there. */
  keep(): boolean;
  /** Runs a query that takes settlements along (JSON for `limits_apply`), so that it sees their effect. */
  alongside<Result>(query: (settlements: string) => Promise<Result>): Promise<Result>;
  /** Writes what is left on disk to the store. Throws when the store is away. */
  catchUp(): Promise<void>;
  /** Resolves when everything added so far is in the store, or on disk because the store is away. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface AddOptions {
  /** The hold of the call ended before its settlement; a settlement that still comes corrects this one. */
  readonly expired?: boolean;
  /** Called with what the row added to counters, when that is known; never on PostgreSQL, which tells nothing. */
  readonly folded?: (changes: Folded) => void;
}

export interface LedgerDeps {
  readonly store: Store;
  /** A folder of its own; on PostgreSQL several processes may share it. */
  readonly folder: string;
  readonly now: () => number;
  /** Told when something needs a person. */
  readonly report?: (problem: string) => void;
}

const GATHER_MS = 25;
const WRITE_EVERY_MS = { sqlite: 250, postgres: 0 };
/** Rows per transaction. SQLite works on the event loop, so calls get a turn after every few rows. */
const GROUP = { sqlite: 50, postgres: 500 };
/** Where so many wait, calls wait for each other rather than for this, and fewer transactions are less work for all. */
const MANY_WAITING = 500;
const LARGE_GROUP = { sqlite: 200, postgres: 500 };
/** Rows of calls without limits that a query takes along at most. */
const UNCOUNTED_ALONG = 20;
/** What waits in memory while the store is slow; beyond it, the file is read again later. */
const MOST_WAITING = 20_000;
/** A file of settled calls is emptied, or followed by another, at this size. */
const LARGEST_SEGMENT = 8 << 20;
const EMPTY_FROM = 256 << 10;
/** What neither the disk nor the store takes. Beyond it the oldest are given up. */
const MOST_HOMELESS = 100_000;
const PRUNE_EVERY_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;

export const createLedger = (deps: LedgerDeps): Ledger => new StoredLedger(deps);

class StoredLedger implements Ledger {
  readonly #deps: LedgerDeps;
  readonly #fold: ReturnType<typeof foldOf>;
  readonly #group: number;
  readonly #journal: Journal;
  /** A row that had to be read back from disk has lost its listener: its counters are right from the next start on. */
  readonly #listeners = new WeakMap<Posting, (changes: Folded) => void>();
  /** Neither on disk nor in the store. */
  #fresh: Posting[] = [];
  /** On disk, and not in the store. Empty while we are behind: the files know. */
  #waiting: Posting[] = [];
  #isBehind = false;
  /** Queries that wait to take settlements along: each waits for the group under way at most. */
  #callers = 0;
  #isClosed = false;
  #writing: Promise<void> | null = null;
  #gathering: Timer | null = null;
  #nextWrite: Timer | null = null;
  #pauseMs = 250;
  #prunedAt = 0;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#fold = foldOf(deps.store, deps.now);
    this.#group = GROUP[deps.store.engine];
    const isShared = deps.store.engine === 'postgres';
    this.#journal = new Journal({ folder: deps.folder, processId: process.pid, isShared });
    // Read once at the start, so that a damaged file stops it and is not found out later.
    for (const name of this.#journal.finished()) this.#journal.read(name);
    if (this.#journal.finished().length > 0) this.#fallBehind();
  }

  add(settlement: Settlement, { expired = false, folded }: AddOptions = {}): void {
    const posting = postingOf(settlement, { expired });
    if (folded) this.#listeners.set(posting, folded);
    this.#fresh.push(posting);
    this.#gathering ??= after(GATHER_MS, () => this.keep());
  }

  keep(): boolean {
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#gathering = null;
    if (this.#fresh.length === 0) return true;
    const postings = this.#fresh;
    try {
      // One record of all: they are lost together with the power, or not at all.
      this.#journal.append(recordOf(recordOfAll(postings)));
    } catch (error) {
      this.#withoutDisk(error as Error);
      return false;
    }
    this.#fresh = [];
    if (this.#isBehind) {
      if (this.#journal.size > LARGEST_SEGMENT) this.#journal.finish();
      return true;
    }
    for (const posting of postings) this.#waiting.push(posting);
    if (this.#waiting.length > MOST_WAITING) this.#fallBehind();
    else if (this.#waiting.length >= MANY_WAITING) this.#writeNow();
    else this.#writeSoon(WRITE_EVERY_MS[this.#deps.store.engine]);
    return true;
  }

  async alongside<Result>(query: (settlements: string) => Promise<Result>): Promise<Result> {
    this.keep();
    // What is on its way must have arrived: a call that ended makes room for the next one.
    this.#callers++;
    while (this.#writing && !this.#isBehind) await this.#writing;
    this.#callers--;
    if (this.#isBehind) return query('[]');
    const group = this.#takeAlong();
    const running = query(settlementsOf(group));
    this.#writing = running.then(
      () => this.#written(),
      (error) => this.#notWritten(group, error),
    );
    void this.#writing.finally(() => {
      this.#writing = null;
      if (this.#waiting.length > 0) this.#writeSoon(0);
    });
    return running;
  }

  /** A call that asks for room waits for settlements that make room, and for few rows that no limit counts. */
  #takeAlong(): Posting[] {
    if (this.#waiting.length <= UNCOUNTED_ALONG) return this.#waiting.splice(0);
    const along: Posting[] = [];
    const left: Posting[] = [];
    let uncounted = 0;
    for (const posting of this.#waiting) {
      const isCounted = posting.charges.length > 0;
      const fits = along.length < this.#group && (isCounted || uncounted < UNCOUNTED_ALONG);
      if (fits && !isCounted) uncounted++;
      (fits ? along : left).push(posting);
    }
    this.#waiting = left;
    return along;
  }

  async catchUp(): Promise<void> {
    while (this.#writing) await this.#writing;
    this.keep();
    this.#isBehind = true;
    this.#waiting = [];
    const running = this.#writeFiles();
    this.#writing = running
      // The caller may not try again: what is left in the files goes to the store by itself.
      .catch(() => this.#writeSoon(this.#pauseMs))
      .finally(() => {
        this.#writing = null;
      });
    await running;
  }

  async flush(): Promise<void> {
    this.keep();
    while (!this.#isBehind && (this.#waiting.length > 0 || this.#writing)) await (this.#writing ?? this.#write());
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    if (this.#nextWrite) clearTimeout(this.#nextWrite);
    await this.#writing;
    if (this.#isBehind) this.#journal.finish();
    else this.#journal.discard();
  }

  #writeSoon(ms: number) {
    if (this.#isClosed || this.#nextWrite) return;
    this.#nextWrite = after(ms, () => {
      this.#nextWrite = null;
      if (!this.#writing) void this.#write();
    });
  }

  /** What waits long is taken by the collector for something that stays, and is then dear to get rid of. */
  #writeNow() {
    if (this.#nextWrite) clearTimeout(this.#nextWrite);
    this.#nextWrite = null;
    if (this.#writing) this.#writeSoon(0);
    else void this.#write();
  }

  /** Never throws. */
  #write(): Promise<void> {
    this.#writing = (this.#isBehind ? this.#tryFiles() : this.#writeWaiting()).finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeWaiting() {
    while (this.#waiting.length > 0 && !this.#isBehind) {
      const isMuch = this.#waiting.length >= MANY_WAITING;
      const group = this.#waiting.splice(0, isMuch ? LARGE_GROUP[this.#deps.store.engine] : this.#group);
      try {
        await this.#store(group);
      } catch (error) {
        return this.#notWritten(group, error);
      }
      this.#written();
      if (this.#waiting.length > 0) await othersTurn();
      if (this.#callers > 0) return;
    }
    await this.#prune();
  }

  async #tryFiles() {
    try {
      await this.#writeFiles();
      this.#pauseMs = 250;
    } catch (error) {
      this.#reportUnlessAway(error);
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      this.#writeSoon(this.#pauseMs);
    }
  }

  /** Until nothing is left on disk; what is settled meanwhile is added to the files. */
  async #writeFiles() {
    for (;;) {
      this.#journal.finish();
      const names = this.#journal.finished();
      if (names.length === 0) break;
      for (const name of names) {
        const postings = this.#journal.read(name).flatMap((record) => postingsIn(record as PostingRecord));
        for (let at = 0; at < postings.length; at += this.#group) {
          if (this.#isClosed) return;
          await this.#store(postings.slice(at, at + this.#group));
          await othersTurn();
        }
        this.#journal.remove(name);
      }
    }
    this.#isBehind = false;
  }

  /** One row that the store refuses for a reason of its own is set aside, so that it does not hold up the others. */
  async #store(group: readonly Posting[]) {
    try {
      this.#tellFolded(group, await this.#fold(group));
    } catch (error) {
      if (!isFaultOfRow(error)) throw error;
      if (group.length > 1) for (const posting of group) await this.#store([posting]);
      else this.#setAside(group[0]!, error as Error);
    }
  }

  #setAside(posting: Posting, { message }: Error) {
    const file = join(this.#deps.folder, 'refused.jsonl');
    this.#report(`the database refuses a row of the ledger, which is in ${file} now: ${message}`);
    appendFileSync(file, `${JSON.stringify(posting)}\n`, { mode: 0o600 });
  }

  #tellFolded(group: readonly Posting[], folded: readonly Folded[]) {
    group.forEach((posting, index) => {
      this.#listeners.get(posting)?.(folded[index] ?? []);
    });
  }

  #written() {
    this.#pauseMs = 250;
    if (!this.#isBehind && this.#waiting.length === 0 && this.#journal.size > EMPTY_FROM) this.#journal.clear();
  }

  #notWritten(group: readonly Posting[], error: unknown) {
    if (isFaultOfRow(error)) return void this.#waiting.unshift(...group);
    this.#reportUnlessAway(error);
    this.#fallBehind();
  }

  #fallBehind() {
    this.#isBehind = true;
    this.#waiting = [];
    this.#writeSoon(this.#pauseMs);
  }

  /** The disk is full, say. The store may still take them; until then they live in memory only. */
  #withoutDisk({ message }: Error) {
    this.#report(`settled calls cannot be kept on disk: ${message}`);
    if (this.#fresh.length > MOST_HOMELESS) {
      const lost = this.#fresh.splice(0, this.#fresh.length - MOST_HOMELESS);
      this.#report(`neither disk nor database takes settled calls; ${lost.length} rows of the ledger are lost`);
    }
    this.#gathering ??= after(1_000, () => this.keep());
    if (this.#isBehind || this.#writing) return;
    const homeless = this.#fresh.splice(0, this.#group);
    this.#writing = this.#store(homeless)
      .catch(() => void this.#fresh.unshift(...homeless))
      .finally(() => {
        this.#writing = null;
      });
  }

  async #prune() {
    const now = this.#deps.now();
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = now;
    await pruneCounters(this.#deps.store, now).catch(() => {});
    // Another process on this machine may have died with rows on disk.
    if (this.#journal.finished().length > 0) this.#fallBehind();
  }

  #reportUnlessAway(error: unknown) {
    const isAway = error instanceof GatewayError && error.code === 'store_unavailable';
    if (!isAway) this.#report(`the ledger could not be written, and is tried again: ${(error as Error).message}`);
  }

  #report(problem: string) {
    (this.#deps.report ?? toStderr)(`limits: ${problem}`);
  }
}

const othersTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A process that wants to end does not wait for it; it calls close. */
const after = (ms: number, work: () => void) => setTimeout(work, ms).unref();

const toStderr = (problem: string) => void process.stderr.write(`${problem}\n`);

/** Data that the table does not take; anything else is worth another try. */
const isFaultOfRow = (error: unknown): boolean =>
  /^(22|23|SQLITE_(CONSTRAINT|MISMATCH|TOOBIG))/.test(String((error as { code?: unknown })?.code ?? ''));
