import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { FoundByWords } from './chunk-store.ts';
import { type Scope, searchedFiles } from './scope.ts';
import { lexeme } from './thread/lexeme.ts';
import type { Place } from './thread/requests.ts';
import { type AskedWord, RANKING, scoreOf, type Term, termsOf, weighed } from './words.ts';

/** Rows of a statement that the thread is asked for. */
export type Ask = <Row>(query: ReturnType<typeof sql<Row>>) => Promise<Row[]>;

/** So many chunks are ranked in some milliseconds. */
const MOST_LOOKED_AT = 2_000;
/** When a single word is in more, the places that come first will do: it tells no chunk from another. */
const MOST_PLACES = 8_000;

/** The chunks that the words of a query speak for, best first: BM25 by what the searched stores hold, and nothing else. */
export async function findByWords(
  ask: Ask,
  store: Pick<Store, 'db' | 'engine'>,
  { scope, query, most }: { readonly scope: Scope; readonly query: string; readonly most: number },
): Promise<FoundByWords[]> {
  const words = termsOf(query);
  if (words.length === 0) return [];
  const { terms, chunks } = await counted(ask, scope, words);
  const asked = weighed(terms, chunks, MOST_LOOKED_AT);
  if (asked.terms.length === 0) return [];
  const rows = asked.terms.flatMap(({ forms, weight }, group) =>
    scope.storeIds.flatMap((storeId) => forms.map((form) => sql`(${group}, ${weight}, ${lexeme(storeId, form)})`)),
  );
  const { saturation, ofLength } = RANKING;
  const found = await ask<Place & { ranked: number }>(sql`
    with asked (term_group, weight, word) as (values ${sql.join(rows)}),
    places as (
      select term_group, weight, doc, count(*) as times
      from (
        select asked.term_group, asked.weight, asked.word, place.doc
        from asked cross join chunk_places as place on place.term = asked.word limit ${MOST_PLACES}
      )
      group by term_group, word, doc
    ),
    held as materialized (
      select chunks.id, chunks.source, chunks.number, chunks.words as length, weight, max(times) as times
      from places join chunks on chunks.id = places.doc
      where chunks.source in ${searchedFiles(store, scope).select('indexed.id')}
      group by term_group, chunks.id
    )
    select source, number, sum(weight * times * ${saturation + 1} / (times + ${saturation} *
      (${1 - ofLength} + ${ofLength} * length / (select avg(length) from held)))) as ranked
    from held group by id order by ranked desc, id limit ${most}`);
  return found.map(({ source, number, ranked }) => ({ source, number, score: scoreOf(ranked, asked) }));
}

/** In how many chunks of the searched stores the words are, and how many these have. */
async function counted(ask: Ask, { storeIds }: Scope, words: readonly AskedWord[]) {
  const forms = new Map<string, AskedWord>();
  for (const asked of words)
    for (const storeId of storeIds) for (const form of asked.forms) forms.set(lexeme(storeId, form), asked);
  const rows = await ask<{ word: string | null; chunks: number }>(sql`
    select term as word, doc as chunks from chunk_terms where term in (${sql.join([...forms.keys()])})
    union all
    select null, coalesce(sum(chunks), 0) from indexed_files
    where store_id in (${sql.join([...storeIds])}) and state = 'current'`);
  const counts = new Map<string, number>(rows.flatMap(({ word, chunks }) => (word === null ? [] : [[word, chunks]])));
  const terms = words.map((asked): Term => {
    // Where a word and its stem are both indexed, the stem is wherever the word is.
    const most = (storeId: string) => Math.max(...asked.forms.map((form) => counts.get(lexeme(storeId, form)) ?? 0));
    return { ...asked, chunks: storeIds.reduce((sum, storeId) => sum + most(storeId), 0) };
  });
  return { terms, chunks: rows.find(({ word }) => word === null)!.chunks };
}
