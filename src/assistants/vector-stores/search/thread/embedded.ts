import type { Database, Statement as SqliteStatement } from 'bun:sqlite';
import { openSqliteFile } from '../../../../storage/sqlite.ts';
import { encoded } from '../codes.ts';
import { NearestRows, quantisedQuery, type VectorBlock } from '../quantised.ts';
import { indexedWords } from '../words.ts';
import {
  type BlockRow,
  BlockScan,
  blockOf,
  blocksIn,
  blocksOf,
  codesOf,
  isApproximate,
  rowOf,
  type SearchedFile,
} from './blocks.ts';
import { type CodeRow, CodeScan, type Compared, codeRowOf, codesIn } from './code-scan.ts';
import { lexeme } from './lexeme.ts';
import type { ChunkGroup, ChunkPlace, Nearest, NearPlace, SearchThread, Statement } from './requests.ts';
import { StateAnswers } from './state-answers.ts';
import { WordCounts } from './word-counts.ts';

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
    locator text,
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
  // In a table of their own: beside the vectors, each would have to be passed to come to the next.
  `create table if not exists chunk_codes (
    source text not null,
    first integer not null,
    dimensions integer not null,
    centre blob not null,
    centre_scale real not null,
    factors blob not null,
    bits blob not null,
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
      if (!hasLocators(database)) database.run('alter table chunks add column locator text');
      if (isOld) indexAgain(database);
    })
    .immediate();
  return database;
}

/** Words of all stores together, as they were indexed once. */
const hasOldWords = (database: Database): boolean =>
  database.query("select 1 from sqlite_master where name = 'chunk_words'").get() !== null;

/** Chunks that were written before have none. */
export const hasLocators = (database: Database): boolean =>
  database.query("select 1 from pragma_table_info('chunks') where name = 'locator'").get() !== null;

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
    const { lexemes, length } = indexedWords(text);
    counted.run(length, id);
    insertLexemes(database, id, store_id, lexemes);
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
  let preparedBlockQuery: SqliteStatement | null = null;
  const writer = () => (writing ??= openWriter(place));
  const reader = () => (reading ??= openReader(place));
  const blockQuery = () => (preparedBlockQuery ??= reader().prepare(BLOCK));
  const all = <Row>({ sql, parameters }: Statement): Row[] =>
    reader()
      .query(sql)
      .all(...(parameters as [])) as Row[];
  const stateAnswers = new StateAnswers(reader);
  const wordCounts = new WordCounts(reader);
  /** As they are in one moment. Each by itself would take and give back SQLite's locks, which costs as much as a short read. */
  const together = <Read>(reads: () => Read): Read => reader().transaction(reads)();
  const blocksOfEach = (sources: readonly string[]) =>
    together(() => blocksIn(sources.flatMap((source) => all<BlockRow>({ sql: BLOCKS, parameters: [source] }))));
  const scan = new BlockScan({
    load: async (sources) => blocksOfEach(sources),
    keptBytes: KEPT_BYTES,
    mostBytes: Number.POSITIVE_INFINITY,
  });
  const codeScan = new CodeScan({
    load: async (sources) => {
      const codes = together(() =>
        codesIn(sources.flatMap((source) => all<CodeRow>({ sql: CODES, parameters: [source] }))),
      );
      const missing = sources.filter((source) => !codes.has(source));
      if (missing.length > 0)
        for (const [source, blocks] of blocksOfEach(missing)) codes.set(source, blocks.map(codesOf));
      return codes;
    },
    compare: async (asked) => {
      const query = blockQuery();
      const blockAt: BlockAt = (source, number) => blockIn(query.values(source, number));
      return together(() => nearestInBlocks(asked, blockAt));
    },
    keptBytes: KEPT_BYTES,
    mostBytes: Number.POSITIVE_INFINITY,
  });
  return {
    add: async (group) => writer().transaction(() => addGroup(writer(), group))(),
    remove: async (source, most) => writer().transaction(() => removeSome(writer(), source, most))(),
    expect: async (files) => void stateAnswers.all(files),
    nearest: async ({ files, vector, most, approximateFrom }: Nearest) => {
      const searched = stateAnswers.all<SearchedFile>(files);
      const isLarge = isApproximate(searched, vector.length, { from: approximateFrom, keptBytes: KEPT_BYTES });
      return (isLarge ? codeScan : scan).nearest(searched, vector, most);
    },
    count: async (queries, most) => wordCounts.of(queries, most),
    all: async (statement) => (statement.isOfState ? [...stateAnswers.all(statement)] : all(statement)),
    close: () => {
      writing?.close();
      reading?.close();
    },
  };
}

const BLOCKS = 'select * from chunk_vectors where source = ? order by first';
const BLOCK = `select first, dimensions, scales, rows from chunk_vectors
  where source = ? and first <= ? order by first desc limit 1`;
const CODES = 'select * from chunk_codes where source = ? order by first';

/** The block that a chunk's vector is in, if it is there. */
type BlockAt = (source: string, number: number) => VectorBlock | null;

/** Rows without the names of their columns: hundreds are read for one search. */
function blockIn([row]: unknown[][]): VectorBlock | null {
  if (!row) return null;
  const [first, dimensions, scales, rows] = row as [number, number, Uint8Array, Uint8Array];
  return blockOf({ first, dimensions, scales, rows });
}

/** With so many vectors compared for each chunk that is asked for, blocks of candidates that are left say little more. */
const MOST_COMPARED = 150;

/**
 * The nearest in the blocks of some chunks, the best of which come first. To read a block is what takes the time, so all of its
 * vectors are compared: those of a file are near to each other, and what codes have missed is mostly beside what they found.
 */
function nearestInBlocks({ candidates, vector, most }: Compared, blockAt: BlockAt): readonly NearPlace[] {
  const nearest = new NearestRows(quantisedQuery(vector), most);
  const read = new Map<string, VectorBlock[]>();
  let compared = 0;
  for (const { source, number } of candidates) {
    if (compared >= most * MOST_COMPARED) break;
    const known = read.get(source) ?? [];
    if (known.some(({ first, scales }) => number >= first && number < first + scales.length)) continue;
    const block = blockAt(source, number);
    if (!block) continue;
    nearest.look(source, block);
    read.set(source, [...known, block]);
    compared += block.scales.length;
  }
  return nearest.result;
}

function addGroup(database: Database, { source, storeId, first, dimensions, vectors, chunks }: ChunkGroup) {
  const insertChunk = database.query(
    `insert into chunks (source, number, text, begins, ends, locator, words) values (?, ?, ?, ?, ?, ?, ?)
    on conflict do nothing returning id`,
  );
  for (const [index, { text, begins, ends, locator }] of chunks.entries()) {
    const { lexemes, length } = indexedWords(text);
    const row = insertChunk.get(source, first + index, text, begins, ends, locator, length) as { id: number } | null;
    if (row) insertLexemes(database, row.id, storeId, lexemes);
  }
  if (vectors === 'none' || dimensions === null) return;
  const made = chunks.map(({ vector }) => vector);
  const insertBlock = database.query('insert into chunk_vectors values (?, ?, ?, ?, ?) on conflict do nothing');
  for (const block of blocksOf(made, dimensions, first)) {
    const { scales, rows } = rowOf(source, block);
    insertBlock.run(source, block.first, dimensions, scales, rows);
  }
  const { centre, centre_scale, factors, bits } = codeRowOf(source, encoded(made, dimensions, first));
  database
    .query('insert into chunk_codes values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing')
    .run(source, first, dimensions, centre, centre_scale, factors, bits);
}

function removeSome(database: Database, source: string, most: number): boolean {
  const rows = database.query('select id from chunks where source = ? limit ?').all(source, most) as { id: number }[];
  for (const { id } of rows) {
    database.query('delete from chunk_lexemes where rowid = ?').run(id);
    database.query('delete from chunks where id = ?').run(id);
  }
  if (rows.length === most) return true;
  database.query('delete from chunk_vectors where source = ?').run(source);
  database.query('delete from chunk_codes where source = ?').run(source);
  return false;
}
