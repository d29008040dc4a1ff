import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { FoundByWords } from './chunk-store.ts';
import { ENOUGH, foundTogether, joined } from './common-words.ts';
import { type Scope, searchedFiles } from './scope.ts';
import { lexeme } from './thread/lexeme.ts';
import type { Place, SearchThread, Statement } from './thread/requests.ts';
import { type AskedWord, RANKING, scoreOf, type Term, termsOf, type Weighed, weighed } from './words.ts';

/** Rows of a statement that the thread is asked for. */
export type Ask = <Row>(query: ReturnType<typeof sql<Row>>, options?: Pick<Statement, 'isOfState'>) => Promise<Row[]>;

/** The thread that has the words. */
export interface Words {
  readonly ask: Ask;
  readonly count: SearchThread['count'];
}

/** So many chunks are ranked in some milliseconds, and words are counted no further. */
const MOST_LOOKED_AT = 2_000;
/** When a single word is in more, the places that come first will do: it tells no chunk from another. */
const MOST_PLACES = 8_000;
/** How far words are counted when all of them are common, to know the rarest. */
const MOST_COUNTED = 50_000;

/** The chunks that the words of a query speak for, best first: BM25 by what the searched stores hold, and nothing else. */
export async function findByWords(
  { ask, count }: Words,
  store: Pick<Store, 'db' | 'engine'>,
  { scope, query, most }: { readonly scope: Scope; readonly query: string; readonly most: number },
): Promise<FoundByWords[]> {
  const words = termsOf(query);
  if (words.length === 0) return [];
  const { terms, chunks } = await counted({ ask, count }, scope, words);
  const asked = weighed(terms, chunks, MOST_LOOKED_AT);
  if (asked.terms.length === 0) return [];
  const areCommon = asked.terms[0]!.chunks > MOST_LOOKED_AT;
  const scale = areCommon ? weighed(terms, chunks, Number.POSITIVE_INFINITY) : asked;
  const together = areCommon ? await findCommon(ask, store, { scope, asked: scale, most }) : [];
  if (together.length >= ENOUGH) return together;
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
      where ${isSearched(store, scope)}
      group by term_group, chunks.id
    )
    select source, number, sum(weight * times * ${saturation + 1} / (times + ${saturation} *
      (${1 - ofLength} + ${ofLength} * length / (select avg(length) from held)))) as ranked
    from held group by id order by ranked desc, id limit ${most}`);
  return joined(
    together,
    found.map(({ source, number, ranked }) => ({ source, number, score: scoreOf(ranked, scale) })),
  );
}

/** Asked of each chunk that holds a word: a store may have more files than there are such chunks. */
const isSearched = (store: Pick<Store, 'db' | 'engine'>, scope: Scope) =>
  sql`exists ${searchedFiles(store, scope).select('indexed.id').whereRef('indexed.id', '=', sql.ref('chunks.source'))}`;

interface CommonWords {
  readonly scope: Scope;
  readonly asked: Weighed;
  readonly most: number;
}

/** The chunks that hold several common words, the shorter ones first: how often a word is in a chunk does not count. */
const findCommon = (
  ask: Ask,
  store: Pick<Store, 'db' | 'engine'>,
  { scope, asked, most }: CommonWords,
): Promise<FoundByWords[]> =>
  foundTogether(asked, async (together) => {
    const { saturation, ofLength } = RANKING;
    const query = together.map((term) => `(${matchOf(scope.storeIds, term)})`).join(' AND ');
    const weight = together.reduce((sum, term) => sum + term.weight, 0);
    const found = await ask<Place & { ranked: number }>(sql`
      with places as materialized (
        select rowid as doc from chunk_lexemes where chunk_lexemes match ${query} limit ${MOST_LOOKED_AT}
      ),
      held as materialized (
        select chunks.id, chunks.source, chunks.number, chunks.words as length
        from places join chunks on chunks.id = places.doc where ${isSearched(store, scope)}
      )
      select source, number, ${weight * (saturation + 1)} / (1 + ${saturation} *
        (${1 - ofLength} + ${ofLength} * length / (select avg(length) from held))) as ranked
      from held order by ranked desc, id limit ${most}`);
    return found.map(({ source, number, ranked }) => ({ source, number, score: scoreOf(ranked, asked) }));
  });

/** Chunks of these stores that hold a word in one of its forms, as the index is asked for them. */
const matchOf = (storeIds: readonly string[], { forms }: AskedWord): string =>
  storeIds.flatMap((storeId) => forms.map((form) => `"${lexeme(storeId, form).replaceAll('"', '""')}"`)).join(' OR ');

/** In how many chunks of the searched stores the words are, counted no further than matters, and how many these have. */
async function counted({ ask, count }: Words, { storeIds }: Scope, words: readonly AskedWord[]) {
  const queries = words.map((asked) => matchOf(storeIds, asked));
  const countedTo = async (most: number): Promise<Term[]> => {
    const counts = await count(queries, most + 1);
    return words.map((asked, place) => ({ ...asked, chunks: counts[place]! }));
  };
  const all = ask<{ chunks: number }>(
    sql`
      select coalesce(sum(chunks), 0) as chunks from indexed_files
      where store_id in (${sql.join([...storeIds])}) and state = 'current'`,
    { isOfState: true },
  );
  const [[stored], terms] = await Promise.all([all, countedTo(MOST_LOOKED_AT)]);
  const found = terms.filter(({ chunks }) => chunks > 0);
  const areCommon = found.length > 0 && found.every(({ chunks }) => chunks > MOST_LOOKED_AT);
  return { terms: areCommon ? await countedTo(MOST_COUNTED) : terms, chunks: stored!.chunks };
}
