import type { Db } from '../storage/store.ts';
import type { Lease } from '../work/work.ts';
import type { Result } from './execute.ts';
import type { BatchTable } from './table.ts';
import { type CountedResult, keepResults } from './usage.ts';

const MOST_RESULTS = 100;
const MOST_CHARACTERS = 1 << 20;
/** The longest a result waits to be saved: what is not saved is asked for again after a crash. */
const LONGEST_WAIT_MS = 200;
/** So often the disk is waited for. What a power cut takes back is asked for again. */
const FLUSH_EVERY_MS = 2_000;

/** The same for all lanes: what they save at the same moment goes to the disk together. */
const currentFlush = () => Math.floor(Date.now() / FLUSH_EVERY_MS);

/** Saves results together: a transaction for each would cost more than the requests. */
export class ResultGroups {
  readonly #options: { readonly lease: Lease; readonly table: BatchTable; readonly batchId: string };
  #group: CountedResult[] = [];
  #characters = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saving: Promise<void> = Promise.resolve();
  #flushed = currentFlush();

  constructor(options: { readonly lease: Lease; readonly table: BatchTable; readonly batchId: string }) {
    this.#options = options;
  }

  /** Waits only while too much is not saved yet. Fails when saving did. */
  async add(number: number, { id, isError, response, error, usage }: Result): Promise<void> {
    const place = { batch_id: this.#options.batchId, number, id };
    this.#group.push({ row: { ...place, is_error: isError ? 1 : 0, response, error }, usage });
    this.#characters += (response?.length ?? 0) + (error?.length ?? 0);
    if (this.#group.length >= MOST_RESULTS || this.#characters >= MOST_CHARACTERS) return this.flush();
    // All lanes at the same moments: the store writes what comes together to disk once.
    this.#timer ??= setTimeout(
      () => void this.flush().catch(() => {}),
      LONGEST_WAIT_MS - (Date.now() % LONGEST_WAIT_MS),
    );
  }

  /** Everything that was added is saved, or was refused. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const results = this.#group;
    this.#group = [];
    this.#characters = 0;
    const { lease, table, batchId } = this.#options;
    this.#saving = this.#saving.then(async () => {
      if (results.length === 0) return;
      const isDue = this.#flushed !== currentFlush();
      this.#flushed = currentFlush();
      const keep = (db: Db) => keepResults(db, table, batchId, results);
      await lease.transaction(keep, { flush: isDue ? 'now' : 'later' });
    });
    // The next call of `flush` throws the failure.
    this.#saving.catch(() => {});
    return this.#saving;
  }
}
