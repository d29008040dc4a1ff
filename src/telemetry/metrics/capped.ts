import type { Cell } from './family.ts';

/** What stands for every value beyond the bound. */
export const OTHER = 'other';

/** The first values of a label that clients choose; those after them are counted together, and that is counted, too. */
export class CappedLabel {
  readonly #known = new Set<string>();
  readonly #most: number;
  readonly #beyond: Cell;

  constructor(most: number, beyond: Cell) {
    this.#most = most;
    this.#beyond = beyond;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size < this.#most) {
      this.#known.add(value);
      return value;
    }
    this.#beyond.value++;
    return OTHER;
  }
}
