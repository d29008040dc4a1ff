import { COMBINED, CORE, CORE_DIMENSIONS, kindOf, textOfKind } from './cubes.ts';
import { type Dimension, OTHER } from './fact.ts';

const DAY_MS = 86_400_000;
/** New kinds of one cube and workspace in a day. */
const MOST_NEW = { crossed: 20_000, part: 10_000 };
/** What clients can make up as they like. */
const OPEN: readonly Dimension[] = ['model', 'endpoint', 'error_code'];

/**
 * Keeps a client that makes up names from making a cell of each: beyond so many new kinds of a workspace in a day, what
 * they are told apart by is called other. Sums stay exact, and the answer shows how much is in there.
 */
export class Guard {
  readonly #now: () => number;
  readonly #most: typeof MOST_NEW;
  #day = 0;
  readonly #made = new Map<string, number>();

  constructor(now: () => number, most = MOST_NEW) {
    this.#now = now;
    this.#most = most;
  }

  /** What a kind that is new is to be called. */
  admit(text: string): string {
    const day = Math.floor(this.#now() / DAY_MS);
    if (day !== this.#day) this.#made.clear();
    this.#day = day;
    const kind = kindOf(text);
    const place = `${kind.workspaceId} ${kind.cube}`;
    const made = this.#made.get(place) ?? 0;
    const isCrossed = kind.cube === CORE || kind.cube === COMBINED;
    if (made < (isCrossed ? this.#most.crossed : this.#most.part)) {
      this.#made.set(place, made + 1);
      return text;
    }
    const values =
      kind.cube === CORE ? kind.values.map((value, at) => (isOpen(at) && value !== null ? OTHER : value)) : [OTHER];
    return textOfKind({ ...kind, values });
  }
}

const isOpen = (at: number): boolean => OPEN.includes(CORE_DIMENSIONS[at]!);
