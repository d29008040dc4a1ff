import { HOUR_MS } from './grains.ts';
import type { Upkeep } from './upkeep.ts';
import type { Work } from './work.ts';

const PRUNE_EVERY_MS = HOUR_MS;
/** Most calls that began in an hour are logged so long after it. */
const ROLL_AFTER_MS = 60_000;
/** What one look takes at most; there is more when it took as much. */
const WAITING_AT_ONCE = 1_000;

export interface TendingOptions {
  readonly upkeep: Upkeep;
  /** Null: another node is at it. */
  readonly run: <Result>(work: Work<Result>) => Promise<Result | null>;
  readonly now: () => number;
}

/** The upkeep of figures, a short piece at a time. */
export class Tending {
  readonly #options: TendingOptions;
  #pruneAt = 0;
  #rollAt = 0;
  #digestAt = 0;

  constructor(options: TendingOptions) {
    this.#options = options;
  }

  /** Says whether there is more to do at once. */
  async step(): Promise<boolean> {
    const { upkeep, run, now } = this.#options;
    const taken = await run(upkeep.compact());
    if (taken === null || taken === WAITING_AT_ONCE) return taken !== null;
    if (now() >= this.#rollAt) {
      const isMore = await run(upkeep.roll(now() - ROLL_AFTER_MS));
      if (isMore !== false) return isMore !== null;
      this.#rollAt = (Math.floor((now() - ROLL_AFTER_MS) / HOUR_MS) + 1) * HOUR_MS + ROLL_AFTER_MS;
    }
    if (now() >= this.#pruneAt) {
      this.#pruneAt = now() + PRUNE_EVERY_MS;
      await run(upkeep.prune());
    }
    const isCounting = await run(upkeep.countHour());
    if (isCounting !== false || now() < this.#digestAt) return isCounting ?? false;
    const isDigesting = await run(upkeep.digest());
    if (isDigesting === false) this.#digestAt = now() + PRUNE_EVERY_MS;
    return isDigesting ?? false;
  }
}
