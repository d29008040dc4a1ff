import { CompiledQuery, sql } from 'kysely';
import type { Db } from '../../../../storage/store.ts';
import { encoded } from '../codes.ts';
import { strideOf } from '../quantised.ts';
import { indexedWords } from '../words.ts';
import {
  type BlockRow,
  BlockScan,
  blocksIn,
  blocksOf,
  codesOf,
  isApproximate,
  rowOf,
  type SearchedFile,
} from './blocks.ts';
import { type CodeRow, CodeScan, type Compared, codeRowOf, codesIn, nearestOf, type StoredRow } from './code-scan.ts';
import type { ChunkGroup, NearPlace, Place, SearchThread } from './requests.ts';

/** Of vectors kept in memory while they are in use, and the most that one search without pgvector looks at. */
export const MOST_SCANNED_BYTES = 256 << 20;

export interface PostgresChunksOptions {
  readonly mostScannedBytes?: number;
  readonly close?: () => void;
}

/** The chunks in PostgreSQL: what takes computing is done here, in a thread; what the database finds, it is asked directly. */
export function openPostgresChunks(
  db: Db,
  { mostScannedBytes = MOST_SCANNED_BYTES, close = () => {} }: PostgresChunksOptions = {},
): SearchThread {
  const scan = new BlockScan({
    load: async (sources) => blocksIn(await blockRowsOf(db, sources)),
    keptBytes: MOST_SCANNED_BYTES,
    mostBytes: mostScannedBytes,
  });
  const codeScan = new CodeScan({
    load: async (sources) => {
      const codes = codesIn(await codeRowsOf(db, sources));
      const missing = sources.filter((source) => !codes.has(source));
      if (missing.length > 0)
        for (const [source, blocks] of blocksIn(await blockRowsOf(db, missing))) codes.set(source, blocks.map(codesOf));
      return codes;
    },
    compare: async (asked) => nearestOf(await rowsAt(db, asked.candidates, asked.vector.length), asked),
    keptBytes: MOST_SCANNED_BYTES,
    mostBytes: mostScannedBytes,
  });
  const extensionScan = new CodeScan({
    load: async (sources) => codesIn(await codeRowsOf(db, sources)),
    compare: (asked) => comparedByExtension(db, asked),
    keptBytes: MOST_SCANNED_BYTES,
    mostBytes: mostScannedBytes,
  });
  return {
    add: (group) => db.transaction().execute((transaction) => addGroup(transaction, group)),
    remove: (source, most) => db.transaction().execute((transaction) => removeSome(transaction, source, most)),
    // What the database would answer is kept nowhere.
    expect: async () => {},
    nearest: async ({ files, isByExtension, vector, most, approximateFrom }) => {
      const query = CompiledQuery.raw(files.sql, [...files.parameters]) as CompiledQuery<SearchedFile>;
      const { rows } = await db.executeQuery(query);
      if (isByExtension) return extensionScan.nearest(rows, vector, most);
      const isLarge = isApproximate(rows, vector.length, { from: approximateFrom, keptBytes: mostScannedBytes });
      return (isLarge ? codeScan : scan).nearest(rows, vector, most);
    },
    count: () => Promise.reject(new Error('PostgreSQL is asked directly.')),
    all: () => Promise.reject(new Error('PostgreSQL is asked directly.')),
    close,
  };
}

async function addGroup(db: Db, { source, storeId, first, dimensions, vectors, chunks }: ChunkGroup): Promise<void> {
  const rows = chunks.map(({ text, begins, ends, locator, vector }, index) => {
    const hasVector = vectors === 'pgvector' && vector !== null;
    const { lexemes, length } = indexedWords(text);
    return {
      source,
      number: first + index,
      text,
      begins,
      ends,
      locator,
      length,
      words: sql<string>`${tsvectorOf(storeId, lexemes)}::tsvector`,
      embedding: hasVector ? sql<string>`${`{${vector.join(',')}}`}::real[]` : null,
    };
  });
  await db
    .insertInto('chunks')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  if (vectors === 'none' || dimensions === null) return;
  const made = chunks.map(({ vector }) => vector);
  if (vectors === 'scanned')
    await db
      .insertInto('chunk_vectors')
      .values(blocksOf(made, dimensions, first).map((block) => rowOf(source, block)))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await db
    .insertInto('chunk_codes')
    .values(codeRowOf(source, encoded(made, dimensions, first)))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const blockRowsOf = (db: Db, sources: readonly string[]): Promise<BlockRow[]> =>
  db
    .selectFrom('chunk_vectors')
    .selectAll()
    .where('source', 'in', [...sources])
    .orderBy('source')
    .orderBy('first')
    .execute();

const codeRowsOf = (db: Db, sources: readonly string[]): Promise<CodeRow[]> =>
  db
    .selectFrom('chunk_codes')
    .selectAll()
    .where('source', 'in', [...sources])
    .orderBy('source')
    .orderBy('first')
    .execute();

/** The vectors of some chunks, cut out of their blocks by the database. */
async function rowsAt(db: Db, places: readonly Place[], dimensions: number): Promise<StoredRow[]> {
  if (places.length === 0) return [];
  const stride = strideOf(dimensions);
  const [sources, numbers] = [places.map(({ source }) => source), places.map(({ number }) => number)];
  const { rows } = await sql<{ source: string; number: number; scale: Uint8Array; row: Uint8Array }>`
    select wanted.source, wanted.number,
      substring(block.scales from (wanted.number - block.first) * 4 + 1 for 4) as scale,
      substring(block.rows from (wanted.number - block.first) * ${stride}::integer + 1 for ${stride}::integer) as row
    from unnest(${sources}::text[], ${numbers}::integer[]) as wanted (source, number)
    cross join lateral (
      select first, scales, rows from chunk_vectors
      where source = wanted.source and first <= wanted.number and dimensions = ${dimensions}
      order by first desc limit 1
    ) as block`.execute(db);
  return rows
    .filter(({ row }) => row.byteLength === stride)
    .map(({ source, number, scale, row }) => ({
      ...{ source, number },
      scale: new DataView(scale.buffer, scale.byteOffset).getFloat32(0, true),
      row: new Int8Array(row.buffer, row.byteOffset, row.byteLength),
    }));
}

/** The nearest of some chunks, and of all those of sources without codes: files that were taken in before there were any. */
async function comparedByExtension(
  db: Db,
  { candidates, uncoded, vector, most }: Compared,
): Promise<readonly NearPlace[]> {
  const [sources, numbers] = [candidates.map(({ source }) => source), candidates.map(({ number }) => number)];
  const distance = sql`(embedding::vector <=> ${`[${vector.join(',')}]`}::vector)`;
  const { rows } = await sql<NearPlace>`
    select source, number, 1 - ${distance} as similarity from (
      select source, number, embedding
      from unnest(${sources}::text[], ${numbers}::integer[]) as wanted (source, number) join chunks using (source, number)
      union all
      select source, number, embedding from chunks where source = any(${[...uncoded]}::text[])
    ) as looked_at
    where embedding is not null order by ${distance} limit ${most}`.execute(db);
  return rows;
}

async function removeSome(db: Db, source: string, most: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('chunks')
    .where('source', '=', source)
    .where('number', 'in', (select) =>
      select.selectFrom('chunks').select('number').where('source', '=', source).limit(most),
    )
    .executeTakeFirst();
  if (Number(numDeletedRows) === most) return true;
  await db.deleteFrom('chunk_vectors').where('source', '=', source).execute();
  await db.deleteFrom('chunk_codes').where('source', '=', source).execute();
  return false;
}

/** What PostgreSQL keeps of a word's places. */
const MOST_PLACES = 255;
const LAST_PLACE = 16_383;

const quoted = (word: string): string => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Written out, because PostgreSQL's own parser takes addresses, paths and hyphened words for single words. */
function tsvectorOf(storeId: string, words: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const [index, word] of words.entries()) {
    const known = places.get(word);
    const place = Math.min(index + 1, LAST_PLACE);
    if (!known) places.set(word, [place]);
    else if (known.length < MOST_PLACES && known.at(-1) !== place) known.push(place);
  }
  const entries = [...places].map(([word, at]) => `${quoted(word)}:${at.join(',')}`);
  return [quoted(storeId), ...entries].join(' ');
}

/** Chunks of one of these stores that hold each of these words, in one of its forms. */
export const tsqueryOf = (storeIds: readonly string[], words: readonly (readonly string[])[]): string =>
  [storeIds, ...words].map((forms) => `(${forms.map(quoted).join(' | ')})`).join(' & ');

export const wordQuery = (words: readonly string[]): string => words.map(quoted).join(' | ');
