import type { Database } from 'bun:sqlite';
import type { Statement } from './requests.ts';

/** In all answers together. */
const MOST_ROWS = 100_000;

/**
 * Answers to questions about the state alone, such as which files a store has: kept until another connection has changed anything
 * there, so they are never older than if they were asked for again. A large store has many files, and few searches come just
 * after a change.
 */
export class StateAnswers {
  readonly #open: () => Database;
  /** In the order in which they were last used. */
  readonly #kept = new Map<string, readonly unknown[]>();
  #rows = 0;
  /** What SQLite calls the state as this connection last saw it. */
  #version: number | null = null;

  /** The connection never changes the state itself: it is not told of changes of its own. */
  constructor(open: () => Database) {
    this.#open = open;
  }

  all<Row>({ sql, parameters }: Statement): readonly Row[] {
    this.#forgetOld();
    const key = JSON.stringify([sql, parameters]);
    const known = this.#kept.get(key);
    const rows =
      known ??
      this.#open()
        .query(sql)
        .all(...(parameters as []));
    if (known) this.#kept.delete(key);
    else this.#rows += rows.length;
    this.#kept.set(key, rows);
    this.#makeRoom();
    return rows as readonly Row[];
  }

  /** Asked before the question: what changes in between makes the answer newer than what it is kept for, and it is forgotten. */
  #forgetOld() {
    const { data_version } = this.#open().query('pragma state.data_version').get() as { data_version: number };
    if (data_version === this.#version) return;
    this.#version = data_version;
    this.#kept.clear();
    this.#rows = 0;
  }

  #makeRoom() {
    for (const [oldest, rows] of this.#kept) {
      if (this.#rows <= MOST_ROWS) return;
      this.#kept.delete(oldest);
      this.#rows -= rows.length;
    }
  }
}
