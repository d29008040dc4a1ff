import type { GrainName } from './cells.ts';
import type { Upkeep, Work } from './upkeep.ts';

/** What an operator decides about figures. */
export interface FigureOptions {
  /** Keys of metadata by which figures are kept. */
  readonly metadataKeys: readonly string[];
  readonly keepDays: Readonly<Record<GrainName, number>>;
}

export const USUAL_FIGURES: FigureOptions = {
  metadataKeys: ['_user'],
  keepDays: { minutes: 3, hours: 400, days: 3_650 },
};

export const DAY_MS = 24 * 60 * 60 * 1000;

export const keptMs = ({ minutes, hours, days }: FigureOptions['keepDays']): Record<GrainName, number> => ({
  minutes: minutes * DAY_MS,
  hours: hours * DAY_MS,
  days: days * DAY_MS,
});

const PRUNE_EVERY_MS = 60 * 60 * 1000;
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
  #hasBegun = false;
  #pruneAt = 0;
  #pruned: number | null = null;

  constructor(options: TendingOptions) {
    this.#options = options;
  }

  /** Says whether there is more to do at once. */
  async step(): Promise<boolean> {
    const { upkeep, run, now } = this.#options;
    if (!this.#hasBegun) this.#hasBegun = (await run(upkeep.begin())) !== null;
    const taken = await run(upkeep.compact());
    if (taken === null || taken === WAITING_AT_ONCE) return taken !== null;
    if (this.#pruned !== null || now() >= this.#pruneAt) {
      this.#pruneAt = now() + PRUNE_EVERY_MS;
      this.#pruned = await run(upkeep.prune(this.#pruned ?? 0));
      if (this.#pruned !== null) return true;
    }
    return (await run(upkeep.countHour())) ?? false;
  }
}
