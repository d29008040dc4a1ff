import type { Database } from 'bun:sqlite';
import { openSqliteFile } from '../../../../storage/sqlite.ts';
import { quantised } from '../quantised.ts';
import { indexedWords } from '../words.ts';
import { type BlockRow, BlockScan, blocksIn, rowOf, type SearchedFile } from './blocks.ts';
import { lexeme } from './lexeme.ts';
import type { ChunkGroup, ChunkPlace, Nearest, SearchThread, Statement } from './requests.ts';

/** Of vectors kept in memory while they are in use. */
const KEPT_BYTES = 256 << 20;

type SqlitePlace = Extract<ChunkPlace, { engine: 'sqlite' }>;

const SCHEMA = [
  `create table if not exists chunks (
    id integer primary key,
    source text not null,
    number integer not null,
    words integer not null default 0,
    begins integer not null,
    ends integer not null,
    text text not null,
    unique (source, number)
  )`,
  // Words are made before they come here, each with its store in front, so nothing is left for the tokenizer but to find
  // the spaces.
  `create virtual table if not exists chunk_lexemes using fts5 (
    words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co'"
  )`,
  `create virtual table if not exists chunk_terms using fts5vocab (chunk_lexemes, 'row')`,
  `create virtual table if not exists chunk_places using fts5vocab (chunk_lexemes, 'instance')`,
  `create table if not exists chunk_vectors (
    source text not null,
    first integer not null,
    dimensions integer not null,
    scales blob not null,
    rows blob not null,
    primary key (source, first)
  )`,
];

function openWriter({ file, stateFile }: SqlitePlace): Database {
  const database = openSqliteFile(file, { durability: 'full' });
  if (hasOldWords(database)) database.run('attach ? as state', [stateFile]);
  database
    .transaction(() => {
      const isOld = hasOldWords(database);
      if (isOld) for (const statement of WITHOUT_OLD_WORDS) database.run(statement);
      for (const statement of SCHEMA) database.run(statement);
      if (isOld) indexAgain(database);
    })
    .immediate();
  return database;
}

/** Words of all stores together, as they were indexed once. */
const hasOldWords = (database: Database): boolean =>
  database.query("select 1 from sqlite_master where name = 'chunk_words'").get() !== null;

const WITHOUT_OLD_WORDS = [
  'drop table if exists chunk_terms',
  'drop table chunk_words',
  'alter table chunks add column words integer not null default 0',
];

function indexAgain(database: Database): void {
  const rows = database.query(
    'select chunks.id, text, store_id from chunks join state.indexed_files as indexed on indexed.id = chunks.source',
  );
  const counted = database.query('update chunks set words = ? where id = ?');
  for (const { id, text, store_id } of rows.iterate() as Iterable<{ id: number; text: string; store_id: string }>) {
    const words = indexedWords(text);
    counted.run(new Set(words).size, id);
    insertLexemes(database, id, store_id, words);
  }
}

function insertLexemes(database: Database, id: number, storeId: string, words: readonly string[]): void {
  const text = words.map((word) => lexeme(storeId, word)).join(' ');
  database.query('insert into chunk_lexemes (rowid, words) values (?, ?)').run(id, text);
}

/** Reads the chunks, and beside them the state: which files there are, and what is said about them. */
function openReader(place: SqlitePlace): Database {
  const { file, stateFile } = place;
  openWriter(place).close();
  const database = openSqliteFile(file, { durability: 'normal', readonly: true });
  database.run('attach ? as state', [stateFile]);
  return database;
}

/** The chunks of the embedded store: in a file of their own, because SQLite has one writer per file. */
export function openEmbeddedChunks(place: SqlitePlace): SearchThread {
  let writing: Database | null = null;
  let reading: Database | null = null;
  const writer = () => (writing ??= openWriter(place));
  const reader = () => (reading ??= openReader(place));
  const all = <Row>({ sql, parameters }: Statement): Row[] =>
    reader()
      .query(sql)
      .all(...(parameters as [])) as Row[];
  const scan = new BlockScan({
    load: async (sources) =>
      blocksIn(sources.flatMap((source) => all<BlockRow>({ sql: BLOCKS, parameters: [source] }))),
    keptBytes: KEPT_BYTES,
    mostBytes: Number.POSITIVE_INFINITY,
  });
  return {
    add: async (group) => writer().transaction(() => addGroup(writer(), group))(),
    remove: async (source, most) => writer().transaction(() => removeSome(writer(), source, most))(),
    nearest: async ({ files, vector, most }: Nearest) => scan.nearest(all<SearchedFile>(files), vector, most),
    all: async (statement) => all(statement),
    close: () => {
      writing?.close();
      reading?.close();
    },
  };
}

const BLOCKS = 'select * from chunk_vectors where source = ? order by first';

function addGroup(database: Database, { source, storeId, first, dimensions, vectors, chunks }: ChunkGroup) {
  const insertChunk = database.query(
    `insert into chunks (source, number, text, begins, ends, words) values (?, ?, ?, ?, ?, ?)
    on conflict do nothing returning id`,
  );
  for (const [index, { text, begins, ends }] of chunks.entries()) {
    const words = indexedWords(text);
    const length = new Set(words).size;
    const row = insertChunk.get(source, first + index, text, begins, ends, length) as { id: number } | null;
    if (row) insertLexemes(database, row.id, storeId, words);
  }
  if (vectors === 'none' || dimensions === null) return;
  const block = quantised(
    chunks.map(({ vector }) => vector),
    dimensions,
    first,
  );
  const { scales, rows } = rowOf(source, block);
  database
    .query('insert into chunk_vectors values (?, ?, ?, ?, ?) on conflict do nothing')
    .run(source, first, dimensions, scales, rows);
}

function removeSome(database: Database, source: string, most: number): boolean {
  const rows = database.query('select id from chunks where source = ? limit ?').all(source, most) as { id: number }[];
  for (const { id } of rows) {
    database.query('delete from chunk_lexemes where rowid = ?').run(id);
    database.query('delete from chunks where id = ?').run(id);
  }
  if (rows.length === most) return true;
  database.query('delete from chunk_vectors where source = ?').run(source);
  return false;
}
