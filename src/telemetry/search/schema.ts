import { sql } from 'kysely';
import { type Migration, text } from '../../storage/migrate.ts';

/** The words of entries whose bodies are searched. */
export const createWords: Migration['up'] = async (db, engine) => {
  if (engine === 'postgres') {
    await sql`create table request_log_words (
      log_id ${text(engine)} primary key, words tsvector not null)`.execute(db);
    await sql`create index request_log_words_by_word on request_log_words using gin (words)`.execute(db);
    return;
  }
  await sql`create table request_log_places (place integer primary key, log_id text not null unique)`.execute(db);
  await sql`create virtual table request_log_words using fts5 (
    words, tokenize = 'unicode61 remove_diacritics 0', columnsize = 0)`.execute(db);
  // What is deleted leaves the index at once, and not when its parts are merged one day.
  await sql`insert into request_log_words (request_log_words, rank) values ('secure-delete', 1)`.execute(db);
};
