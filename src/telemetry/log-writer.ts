import { GatewayError } from '../core/errors.ts';
import type { LogBatch, LogOwner, LogSink, RecountProgress } from './log-sink.ts';
import { sizeOf } from './packed-bodies.ts';
import type { Spool } from './spool.ts';

/** What became of records. A spooled record is reported again, as written, when it is replayed. */
export interface LogOutcome {
  readonly written: number;
  readonly spooled: number;
  readonly dropped: number;
  readonly bodiesDropped: number;
}

export interface LogWriterOptions {
  /** Connects and brings the schema up to date; throws while the store is away. */
  readonly open: () => Promise<LogSink>;
  readonly spool: Spool;
  /** Entries older than this are deleted; null keeps everything. */
  readonly retentionMs: number | null;
  readonly now: () => number;
  readonly report: (outcome: Partial<LogOutcome>) => void;
  readonly firstRetryMs?: number;
}

const PRUNE_EVERY_MS = 10 * 60 * 1000;
const PRUNE_CHUNK = 5_000;
/** Figures take in what was logged so soon, or when so much of it waits: who asks for them reads what waits as it is. */
const TEND_AFTER_MS = 60_000;
const TEND_ANYWAY_MS = 10 * 60 * 1000;
const TEND_AT_RECORDS = 10_000;
const LONGEST_RETRY_MS = 30_000;
/** What may wait in memory while one insert hangs; older batches go to the spool then. */
const MOST_WAITING_RECORDS = 50_000;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

interface Waiting {
  readonly batch: LogBatch;
  readonly bytes: number;
  /** Called once the batch is committed, on disk, or given up. */
  readonly done: () => void;
}

interface Replay {
  readonly file: string;
  readonly batches: LogBatch[];
}

/**
 * Puts batches into the store, one transaction each, in the order they came. When the store is away they go to the
 * spool instead; what is there is replayed, oldest first, as soon as the store answers again.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #waiting: Waiting[] = [];
  #waitingRecords = 0;
  #waitingBytes = 0;
  #store: LogSink | null = null;
  #running: Promise<void> | null = null;
  #isSaving = false;
  #isClosed = false;
  /** Looking for the store, or replaying what was spooled. */
  #isRecovering = true;
  #replay: Replay | null = null;
  #pruneAt: number;
  #tendAt: number;
  #untended = 0;
  #tending: Promise<void> | null = null;
  #retryMs: number;
  #retryAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #whenIdle: (() => void)[] = [];

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#retryMs = options.firstRetryMs ?? 1_000;
    this.#pruneAt = options.now();
    // What comes at once is stored first.
    this.#tendAt = options.now() + TEND_AFTER_MS;
    this.#wake();
  }

  accept(batch: LogBatch, done: () => void): void {
    const bytes = batch.bodies.reduce((total, body) => total + (body ? sizeOf(body) : 0), 0);
    this.#waiting.push({ batch, bytes, done });
    this.#waitingRecords += batch.bodies.length;
    this.#waitingBytes += bytes;
    while (this.#waitingRecords > MOST_WAITING_RECORDS || this.#waitingBytes > MOST_WAITING_BYTES)
      this.#putAside(this.#take());
    this.#wake();
  }

  /** Nothing waits to be committed or spooled. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && !this.#isSaving;
  }

  /** Resolves when everything accepted so far is committed or spooled. */
  flush(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Removes entries of one owner, also those that were on their way. Throws while the store is away or has yet to catch up. */
  async erase(whose: LogOwner, atMost: number): Promise<number> {
    await this.flush();
    if (!this.#store || this.#isRecovering) throw new GatewayError('store_unavailable', []);
    return this.#store.erase(whose, atMost);
  }

  /** Has figures counted anew, when told to; says how far that is. Throws while the store is away. */
  async recount(isToBegin: boolean): Promise<RecountProgress> {
    if (!this.#store) throw new GatewayError('store_unavailable', []);
    const progress = await this.#store.recount(isToBegin);
    if (isToBegin) {
      this.#tendAt = this.#options.now();
      this.#wake();
    }
    return progress;
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#tending;
    this.#options.spool.seal();
    await this.#disconnect();
  }

  #wake() {
    if (this.#isClosed) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      this.#scheduleNext();
    });
  }

  async #run() {
    clearTimeout(this.#timer);
    while (!this.#isClosed) {
      if (!this.#store && this.#options.now() >= this.#retryAt) this.#isRecovering = true;
      if (this.#isRecovering) await this.#recover();
      if (!this.#isRecovering) this.#tend();
      if (this.#waiting.length > 0) await this.#save(this.#take());
      else if (!this.#isRecovering && !(await this.#prune())) break;
    }
  }

  #scheduleNext() {
    if (this.#isClosed) return;
    // A batch may have come between the last look and here.
    if (this.#waiting.length > 0) return this.#wake();
    const next = this.#store ? Math.min(this.#pruneAt, this.#tendAt) : this.#retryAt;
    this.#timer = setTimeout(() => this.#wake(), clamp(next - this.#options.now()));
    this.#timer.unref?.();
  }

  #take(): Waiting {
    const next = this.#waiting.shift()!;
    this.#waitingRecords -= next.batch.bodies.length;
    this.#waitingBytes -= next.bytes;
    return next;
  }

  async #save(next: Waiting) {
    this.#isSaving = true;
    if (this.#store) {
      try {
        await this.#insert(this.#store, next.batch);
        next.done();
        this.#saved();
        return;
      } catch {
        await this.#disconnect();
      }
    }
    this.#putAside(next);
    this.#saved();
  }

  #saved() {
    this.#isSaving = false;
    if (this.#waiting.length > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** One record that the store cannot hold must not keep the others out, now or after any number of replays. */
  async #insert(store: LogSink, batch: LogBatch) {
    try {
      await store.insert(batch);
      this.#untended += batch.bodies.length;
      this.#tendAt = Math.min(this.#tendAt, this.#options.now() + TEND_AFTER_MS);
      this.#options.report({ written: batch.bodies.length });
    } catch (error) {
      if (!isUnstorable(error)) throw error;
      if (batch.bodies.length === 1) {
        this.#options.report({ dropped: 1 });
        return;
      }
      const half = Math.ceil(batch.bodies.length / 2);
      await this.#insert(store, { rows: batch.rows.slice(0, half), bodies: batch.bodies.slice(0, half) });
      await this.#insert(store, { rows: batch.rows.slice(half), bodies: batch.bodies.slice(half) });
    }
  }

  #putAside({ batch, done }: Waiting) {
    try {
      const shed = this.#options.spool.append(batch);
      this.#options.report({ spooled: batch.bodies.length, dropped: shed.records, bodiesDropped: shed.bodies });
    } catch {
      // Neither the store nor the disk takes it, and memory must not grow.
      this.#options.report({ dropped: batch.bodies.length });
    }
    done();
  }

  /** One step: connect, or replay one batch. */
  async #recover() {
    try {
      this.#store ??= await this.#options.open();
      if (!this.#replay) {
        this.#options.spool.seal();
        const file = this.#options.spool.files()[0];
        if (!file) return this.#recovered();
        this.#replay = { file, batches: this.#options.spool.read(file) };
      }
      const next = this.#replay.batches.shift();
      if (next) return await this.#insert(this.#store, next);
      this.#options.spool.remove(this.#replay.file);
      this.#replay = null;
    } catch {
      await this.#disconnect();
    }
  }

  #recovered() {
    this.#isRecovering = false;
    this.#retryMs = this.#options.firstRetryMs ?? 1_000;
  }

  async #disconnect() {
    const store = this.#store;
    this.#store = null;
    this.#replay = null;
    this.#isRecovering = false;
    this.#retryAt = this.#options.now() + this.#retryMs;
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
    await store?.close().catch(() => {});
  }

  /** A step of the upkeep of figures, beside the writing: entries that wait for it would be lost in a kill. */
  #tend(): void {
    const { now } = this.#options;
    const store = this.#store;
    if (!store || this.#tending || (now() < this.#tendAt && this.#untended < TEND_AT_RECORDS)) return;
    this.#untended = 0;
    this.#tendAt = now() + TEND_ANYWAY_MS;
    const step = async () => {
      // What is to be counted is not lost when this fails; the next insert finds out whether the store is away.
      const isMore = await store.tend().catch(() => false);
      if (isMore) this.#tendAt = now();
    };
    this.#tending = step().finally(() => {
      this.#tending = null;
      this.#wake();
    });
  }

  /** Says whether there is more to do at once. */
  async #prune(): Promise<boolean> {
    const { retentionMs, now } = this.#options;
    if (!this.#store || now() < this.#pruneAt) return false;
    if (retentionMs === null) {
      this.#pruneAt = Number.MAX_SAFE_INTEGER;
      return false;
    }
    try {
      const deleted = await this.#store.prune(now() - retentionMs, PRUNE_CHUNK);
      if (deleted === PRUNE_CHUNK) return true;
    } catch {
      // The next insert finds out whether the store is away.
    }
    this.#pruneAt = now() + PRUNE_EVERY_MS;
    return false;
  }
}

/** Timers take no longer delays than some weeks; a moment's pause keeps a clock that jumps from spinning. */
const clamp = (delayMs: number) => Math.min(Math.max(10, delayMs), 60_000);

/** PostgreSQL: data exceptions, broken constraints, values too large for an index. SQLite: the same by its names. */
function isUnstorable(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return /^(?:2[23]|54)\w{3}$/.test(code) || /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(code);
}
