import { fullGC } from 'bun:jsc';

/** What requests leave behind may grow to so many bytes. To collect it takes as long as to make a hundred of them. */
const MOST_BYTES = 12 << 20;
/** What each leaves behind beside what was said: headers, entries of the log, rows. */
const BYTES_EACH = 2_000;

export interface LitterOptions {
  /** Whether a collection would make other callers wait. */
  readonly isInTheWay: () => boolean;
  readonly collect?: () => void;
}

/**
 * Has memory collected while a batch runs at full speed. An answer waits for others to be saved with it and so outlives
 * the collections that are quick; left alone, dead answers pile up until there are several times as many as anything
 * that lives. While others call models, batches are slow enough to do without.
 */
export class Litter {
  readonly #options: Required<LitterOptions>;
  #bytes = 0;

  constructor({ isInTheWay, collect = fullGC }: LitterOptions) {
    this.#options = { isInTheWay, collect };
  }

  /** One more request was read, made or written down, and so much was said in it. */
  add(bytes: number) {
    this.#bytes += BYTES_EACH + bytes;
    if (this.#bytes < MOST_BYTES) return;
    this.#bytes = 0;
    if (!this.#options.isInTheWay()) this.#options.collect();
  }
}
