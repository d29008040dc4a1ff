import { GatewayError } from '../core/errors.ts';
import type { Health } from '../core/health.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Store } from '../storage/store.ts';
import { insertRecords, type NewRecord } from './record.ts';

const MOST_AT_ONCE = 200;
const MOST_WAITING = 20_000;
const MOST_CHARACTERS = 32 << 20;
const RETRY_MS = 1_000;
const LOSING = 'Records of refused calls are being lost: the store has been away for too long.';
const WAITING = 'Records of refused calls wait in memory until the store is back.';

interface Waiting {
  readonly record: NewRecord;
  readonly done: () => void;
}

const sizeOf = ({ request_body, request_headers, query_params, uri }: NewRecord): number =>
  request_body.length + request_headers.length + query_params.length + uri.length;

interface WriterOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Health;
  /** Called when records were stored. */
  readonly onStored: () => void;
  /** A record that the store does not take although it is there. */
  readonly report?: (record: NewRecord, error: unknown) => void;
}

const reportToOperator = ({ id }: NewRecord, error: unknown) =>
  void process.stderr.write(`the audit record of request ${id} cannot be stored: ${String(error)}\n`);

/**
 * Writes records that have no transaction of their own: those of refused calls above all. Records that arrive while one
 * insert runs go into the next, so a flood of refusals costs the store a few inserts per second. While the store is
 * away records wait in memory; their callers are answered without waiting.
 */
export class AuditWriter {
  readonly #store: Store;
  readonly #sealer: Sealer;
  readonly #health: Health;
  readonly #onStored: () => void;
  readonly #report: (record: NewRecord, error: unknown) => void;
  #waiting: Waiting[] = [];
  #characters = 0;
  #writing: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLosing = false;

  constructor({ store, sealer, health, onStored, report = reportToOperator }: WriterOptions) {
    this.#store = store;
    this.#onStored = onStored;
    this.#report = report;
    this.#sealer = sealer;
    this.#health = health;
  }

  /** Resolves when the record is committed, or when it is known that the store is away. */
  write(record: NewRecord): Promise<void> {
    return new Promise((done) => {
      if (this.#waiting.length >= MOST_WAITING || this.#characters >= MOST_CHARACTERS) {
        this.#isLosing = true;
        this.#health.degraded('audit', LOSING);
        return done();
      }
      this.#waiting.push({ record, done });
      this.#characters += sizeOf(record);
      this.#start();
    });
  }

  /** Resolves when everything that came before is written, or cannot be. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#start();
    await this.#writing;
  }

  #start() {
    if (this.#timer !== undefined) {
      // The store is away: callers are answered without waiting for it.
      for (const { done } of this.#waiting) done();
      return;
    }
    this.#writing ??= this.#run().finally(() => {
      this.#writing = null;
      // A record may have arrived after the last look at the queue.
      if (this.#waiting.length > 0 && this.#timer === undefined) this.#start();
    });
  }

  async #run() {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MOST_AT_ONCE);
      if (!(await this.#insert(batch))) return this.#waitForStore();
      this.#waiting.splice(0, batch.length);
      for (const { record } of batch) this.#characters -= sizeOf(record);
      this.#isLosing = false;
      this.#health.well('audit');
      for (const { done } of batch) done();
    }
  }

  /** Whether the store is there. What it does not take by itself is told to the operator. */
  async #insert(batch: readonly Waiting[]): Promise<boolean> {
    try {
      const records = batch.map(({ record }) => record);
      await insertRecords(this.#store.db, this.#sealer, records);
      this.#onStored();
      return true;
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'store_unavailable') return false;
      if (batch.length === 1) {
        this.#report(batch[0]!.record, error);
        return true;
      }
    }
    // Whatever it is that the store does not take, the others need not go with it.
    for (const one of batch) if (!(await this.#insert([one]))) return false;
    return true;
  }

  #waitForStore() {
    for (const { done } of this.#waiting) done();
    if (!this.#isLosing) this.#health.degraded('audit', WAITING);
    this.#timer = setTimeout(() => void this.flush(), RETRY_MS);
    this.#timer.unref?.();
  }
}
