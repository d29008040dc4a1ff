import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import { type Scope, searchedFiles } from './scope.ts';
import type { Place } from './thread/requests.ts';
import { rarest, scopeWord, type Term, termsOf } from './words.ts';

/** Rows of a statement that the thread is asked for. */
export type Ask = <Row>(query: ReturnType<typeof sql<Row>>) => Promise<Row[]>;

/** So many chunks are ranked in some milliseconds. */
const MOST_LOOKED_AT = 5_000;
/** The best of them are looked up in the hope that enough are in files that are searched. */
const LOOKED_UP = 1_000;
const ALL = -1;

const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
const anyOf = (words: readonly string[]): string => `(${words.map(quoted).join(' OR ')})`;

/** The chunks that the words of a query speak for, best first, by FTS5. */
export async function findByWords(
  ask: Ask,
  store: Pick<Store, 'db' | 'engine'>,
  { scope, query, most }: { readonly scope: Scope; readonly query: string; readonly most: number },
): Promise<Place[]> {
  const words = termsOf(query);
  if (words.length === 0) return [];
  const { terms, chunks } = await counted(ask, scope, words);
  // What a small store holds can be looked at whole, whatever the words; in a large one, the rare words lead.
  const isSmall = chunks <= MOST_LOOKED_AT;
  const kept = isSmall ? terms : rarest(terms, MOST_LOOKED_AT);
  if (kept.length === 0) return [];
  const anyWord = `words : ${anyOf(kept.map(({ word }) => word))}`;
  const match = isSmall ? `scope : ${anyOf(scope.storeIds.map(scopeWord))} AND ${anyWord}` : anyWord;
  const looked = (lookedUp: number) =>
    ask<Place>(sql`
      select chunks.source, chunks.number from (
        select rowid as id, rank from chunk_words
        where chunk_words match ${match} and rank match 'bm25(0.0, 1.0)' order by rank limit ${lookedUp}
      ) as best join chunks using (id)
      where chunks.source in ${searchedFiles(store, scope).select('indexed.id')}
      order by best.rank, best.id limit ${most}`);
  const found = await looked(isSmall ? ALL : LOOKED_UP);
  const isAll = isSmall || kept.reduce((sum, term) => sum + term.chunks, 0) <= LOOKED_UP;
  return found.length >= most || isAll ? found : looked(ALL);
}

/** In how many chunks of all stores the words are, and how many the searched stores have. */
async function counted(ask: Ask, { storeIds }: Scope, words: readonly string[]) {
  const rows = await ask<{ word: string | null; chunks: number }>(sql`
    select term as word, doc as chunks from chunk_terms where term in (${sql.join(words)})
    union all
    select null, coalesce(sum(chunks), 0) from indexed_files
    where store_id in (${sql.join(storeIds)}) and state = 'current'`);
  return {
    terms: rows.filter((row): row is Term => row.word !== null),
    chunks: rows.find(({ word }) => word === null)!.chunks,
  };
}
