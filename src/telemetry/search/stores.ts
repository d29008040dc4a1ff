import type { Database } from 'bun:sqlite';
import type { Phrase } from './words.ts';
import { matchOf, tsqueryOf, tsvectorOf } from './words.ts';

/** One entry and its words. */
export interface Searched {
  readonly id: string;
  readonly words: readonly string[];
}

/** The index of the embedded log: FTS5, with a table that knows which entry each of its rows is. */
export class SqliteWords {
  readonly #raw: Database;

  constructor(raw: Database) {
    this.#raw = raw;
  }

  add(entries: readonly Searched[]) {
    const place = this.#raw.query<{ place: number }, [string]>(
      'insert into request_log_places (log_id) values (?) on conflict do nothing returning place',
    );
    const text = this.#raw.query('insert into request_log_words (rowid, words) values (?, ?)');
    for (const { id, words } of entries) {
      const added = place.get(id);
      if (added) text.run(added.place, words.join(' '));
    }
  }

  /** `ids`: a list as JSON. */
  remove(ids: string) {
    const listed = 'log_id in (select value from json_each(?))';
    this.#raw
      .query(`delete from request_log_words where rowid in (select place from request_log_places where ${listed})`)
      .run(ids);
    this.#raw.query(`delete from request_log_places where ${listed}`).run(ids);
  }
}

/** For PostgreSQL: the statement that adds entries, and its values. */
export const postgresAdd = (entries: readonly Searched[]): [text: string, values: string[][]] => [
  `insert into request_log_words (log_id, words)
   select log_id, words::tsvector from unnest($1::text[], $2::text[]) as said (log_id, words) on conflict do nothing`,
  [entries.map(({ id }) => id), entries.map(({ words }) => tsvectorOf(words))],
];

/** Which entries say a phrase: the text of a selection with one hole, and what goes into it. */
export const SAYING = {
  sqlite: {
    from: `select log_id from request_log_places
      where place in (select rowid from request_log_words where request_log_words match `,
    until: ')',
    phrase: matchOf,
  },
  postgres: {
    from: 'select log_id from request_log_words where words @@ ',
    until: '::tsquery',
    phrase: tsqueryOf,
  },
} as const satisfies Record<string, { from: string; until: string; phrase: (phrase: Phrase) => string }>;
