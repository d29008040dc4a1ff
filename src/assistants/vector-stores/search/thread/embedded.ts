import type { Database } from 'bun:sqlite';
import { openSqliteFile } from '../../../../storage/sqlite.ts';
import { quantised } from '../quantised.ts';
import { scopeWord, wordsOf } from '../words.ts';
import { type BlockRow, BlockScan, blocksIn, rowOf, type SearchedFile } from './blocks.ts';
import type { ChunkGroup, ChunkPlace, Nearest, SearchThread, Statement } from './requests.ts';

/** Of vectors kept in memory while they are in use. */
const KEPT_BYTES = 256 << 20;

const SCHEMA = [
  `create table if not exists chunks (
    id integer primary key,
    source text not null,
    number integer not null,
    text text not null,
    begins integer not null,
    ends integer not null,
    unique (source, number)
  )`,
  // Words are made before they come here, so nothing is left for the tokenizer but to find the spaces.
  `create virtual table if not exists chunk_words using fts5 (
    scope, words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co'"
  )`,
  `create virtual table if not exists chunk_terms using fts5vocab (chunk_words, 'row')`,
  `create table if not exists chunk_vectors (
    source text not null,
    first integer not null,
    dimensions integer not null,
    scales blob not null,
    rows blob not null,
    primary key (source, first)
  )`,
];

function openWriter(file: string): Database {
  const database = openSqliteFile(file, { durability: 'full' });
  database.transaction(() => {
    for (const statement of SCHEMA) database.run(statement);
  })();
  return database;
}

/** Reads the chunks, and beside them the state: which files there are, and what is said about them. */
function openReader({ file, stateFile }: Extract<ChunkPlace, { engine: 'sqlite' }>): Database {
  openWriter(file).close();
  const database = openSqliteFile(file, { durability: 'normal', readonly: true });
  database.run('attach ? as state', [stateFile]);
  return database;
}

/** The chunks of the embedded store: in a file of their own, because SQLite has one writer per file. */
export function openEmbeddedChunks(place: Extract<ChunkPlace, { engine: 'sqlite' }>): SearchThread {
  let writing: Database | null = null;
  let reading: Database | null = null;
  const writer = () => (writing ??= openWriter(place.file));
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
    'insert into chunks (source, number, text, begins, ends) values (?, ?, ?, ?, ?) on conflict do nothing returning id',
  );
  const insertWords = database.query('insert into chunk_words (rowid, scope, words) values (?, ?, ?)');
  for (const [index, { text, begins, ends }] of chunks.entries()) {
    const row = insertChunk.get(source, first + index, text, begins, ends) as { id: number } | null;
    if (row) insertWords.run(row.id, scopeWord(storeId), wordsOf(text).join(' '));
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
    database.query('delete from chunk_words where rowid = ?').run(id);
    database.query('delete from chunks where id = ?').run(id);
  }
  if (rows.length === most) return true;
  database.query('delete from chunk_vectors where source = ?').run(source);
  return false;
}
