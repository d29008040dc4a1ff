import type { Database } from 'bun:sqlite';
import { BoundedMap } from '../../../../core/bounded-map.ts';

/** A count that went no further than so many. */
interface Counted {
  readonly chunks: number;
  readonly most: number;
}

const MOST_KEPT = 20_000;
const COUNT = `select count(*) as chunks from (
  select rowid from chunk_lexemes where chunk_lexemes match ? limit ?
)`;

/**
 * In how many chunks words are: kept until another connection has changed anything there, so counts are never older than if they
 * were made again. To count a common word takes milliseconds, and it is the common ones that are in one query after the other.
 */
export class WordCounts {
  readonly #open: () => Database;
  readonly #kept = new BoundedMap<string, Counted>(MOST_KEPT);
  /** What SQLite calls the chunks as this connection last saw them. */
  #version: number | null = null;

  /** The connection never changes the chunks itself: it is not told of changes of its own. */
  constructor(open: () => Database) {
    this.#open = open;
  }

  /** For each query of the index, so many at most. */
  of(queries: readonly string[], most: number): number[] {
    this.#forgetOld();
    return queries.map((query) => Math.min(this.#counted(query, most).chunks, most));
  }

  #counted(query: string, most: number): Counted {
    const known = this.#kept.get(query);
    // What was counted to its end, or as far as is asked for now, is known.
    const counted = known && (known.chunks < known.most || known.most >= most) ? known : this.#count(query, most);
    // Also when it is known: the least recently used goes.
    this.#kept.set(query, counted);
    return counted;
  }

  #count(query: string, most: number): Counted {
    const { chunks } = this.#open().query(COUNT).get(query, most) as { chunks: number };
    return { chunks, most };
  }

  /** Asked before counting: what changes in between makes a count newer than what it is kept for, and it is forgotten. */
  #forgetOld() {
    const { data_version } = this.#open().query('pragma main.data_version').get() as { data_version: number };
    if (data_version === this.#version) return;
    this.#version = data_version;
    this.#kept.clear();
  }
}
