import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore, FoundByWords } from './chunk-store.ts';
import { ENOUGH, foundTogether, joined } from './common-words.ts';
import { type Scope, searchedFiles } from './scope.ts';
import { tsqueryOf, wordQuery } from './thread/postgres.ts';
import type { Nearest, NearPlace, Place, SearchThread } from './thread/requests.ts';
import { type AskedWord, RANKING, scoreOf, type Term, termsOf, type Weighed, weighed } from './words.ts';

export interface PostgresChunksOptions {
  readonly store: Pick<Store, 'db' | 'engine'>;
  readonly thread: SearchThread;
  /** From so many chunks on, a search may miss some of the nearest. */
  readonly approximateFrom: number;
  readonly now: () => number;
}

/** PostgreSQL ranks so many chunks in some ten milliseconds. */
const MOST_LOOKED_AT = 2_000;
/** When a single word is in more, those that come first will do: it tells none of them apart. */
const MOST_RANKED = 4_000;
/** With the space behind them: of chunks whose words were not counted yet. */
const LETTERS_OF_WORD = 6;
/** An operator may add the extension while we run. */
const LOOK_AGAIN_MS = 60_000;

/** Chunks in PostgreSQL: words as `tsvector`, vectors by pgvector where the database has it, and scanned where not. */
export function createPostgresChunks({ store, thread, approximateFrom, now }: PostgresChunksOptions): ChunkStore {
  const { db } = store;
  let looked = { at: Number.NEGATIVE_INFINITY, hasExtension: false };

  const hasExtension = async (): Promise<boolean> => {
    if (now() - looked.at < LOOK_AGAIN_MS) return looked.hasExtension;
    const { rows } = await sql`select 1 from pg_extension where extname = 'vector'`.execute(db);
    looked = { at: now(), hasExtension: rows.length > 0 };
    return looked.hasExtension;
  };

  /** Counted no further than matters. */
  const countOf = async (storeIds: readonly string[], words: readonly AskedWord[]): Promise<Term[]> => {
    const queries = words.map(({ forms }) => tsqueryOf(storeIds, [forms]));
    const { rows } = await sql<{ chunks: number }>`
      select (select count(*) from (
        select 1 from chunks where words @@ query::tsquery limit ${MOST_LOOKED_AT}
      ) as found) as chunks
      from unnest(${queries}::text[]) with ordinality as asked (query, place) order by place`.execute(db);
    return words.map((asked, index) => ({ ...asked, chunks: Number(rows[index]!.chunks) }));
  };

  const chunksIn = async (storeIds: readonly string[]): Promise<number> => {
    const { all } = await db
      .selectFrom('indexed_files')
      .select((select) => select.fn.sum<number | null>('chunks').as('all'))
      .where('store_id', 'in', [...storeIds])
      .where('state', '=', 'current')
      .executeTakeFirstOrThrow();
    return Number(all ?? 0);
  };

  const isLarge = async (counted: { execute(): Promise<readonly { readonly chunks: number | null }[]> }) => {
    const [row] = await counted.execute();
    return Number(row?.chunks ?? 0) >= approximateFrom;
  };

  /** As a thread is told of them. */
  const asked = (files: ReturnType<typeof searchedFiles>): Pick<Nearest, 'files'> => {
    const { sql: text, parameters } = files.select(['indexed.id', 'indexed.chunks', 'indexed.dimensions']).compile();
    return { files: { sql: text, parameters } };
  };

  const byExtension = async (scope: Scope, vector: Float32Array, most: number): Promise<readonly NearPlace[]> => {
    if (!(await hasExtension())) return [];
    const only = { vectors: 'pgvector', dimensions: vector.length } as const;
    const all = searchedFiles(store, scope, only);
    if (await isLarge(all.select(({ fn }) => fn.sum<number | null>('indexed.chunks').as('chunks')))) {
      const found = await thread.nearest({ ...asked(all), isByExtension: true, vector, most, approximateFrom });
      if (found) return found;
    }
    const files = all.select('indexed.id');
    const distance = sql`(embedding::vector <=> ${`[${vector.join(',')}]`}::vector)`;
    const { rows } = await sql<NearPlace>`
      with ${searched(files)} select source, number, 1 - ${distance} as similarity from chunks
      where source in (select id from searched) and embedding is not null order by ${distance} limit ${most}`.execute(
      db,
    );
    return rows;
  };

  const byScan = async (scope: Scope, vector: Float32Array, most: number): Promise<readonly NearPlace[] | null> => {
    const only = { vectors: 'scanned', dimensions: vector.length } as const;
    const files = searchedFiles(store, scope, only);
    const isAny = await files.select('indexed.id').limit(1).executeTakeFirst();
    if (!isAny) return [];
    return thread.nearest({ ...asked(files), vector, most, approximateFrom });
  };

  /** Chunks that a query of words matches, best first. */
  const ranked = async (
    scope: Scope,
    match: string,
    { asked, scale, most }: { readonly asked: Weighed; readonly scale: Weighed; readonly most: number },
  ): Promise<FoundByWords[]> => {
    const { rows } = await sql<Place & { ranked: number }>`
      with ${searched(searchedFiles(store, scope).select('indexed.id'))},
      found as materialized (select source, number from chunks where words @@ ${match}::tsquery),
      candidates as materialized (
        select source, number from found where source in (select id from searched)
        order by source, number limit ${MOST_RANKED}
      ),
      held as materialized (
        select source, number, words, coalesce(chunks.length, (ends - begins) / ${LETTERS_OF_WORD}) as length
        from candidates join chunks using (source, number)
      )
      select source, number, ${rankOf(asked)} as ranked
      from held, (select avg(length)::float8 as usual from held) as lengths
      order by ranked desc, source, number limit ${most}`.execute(db);
    return rows.map(({ source, number, ranked: found }): FoundByWords => {
      return { source, number, score: scoreOf(found, scale) };
    });
  };

  return {
    newVectors: async () => ((await hasExtension()) ? 'pgvector' : 'scanned'),
    add: (group) => thread.add(group),
    remove: (source, most) => thread.remove(source, most),
    texts: async (source) => {
      const rows = await db
        .selectFrom('chunks')
        .select('text')
        .where('source', '=', source)
        .orderBy('number')
        .execute();
      return rows.map(({ text }) => text);
    },
    byWords: async (scope, query, most) => {
      const words = termsOf(query);
      if (words.length === 0) return [];
      const [counted, all] = await Promise.all([countOf(scope.storeIds, words), chunksIn(scope.storeIds)]);
      const asked = weighed(counted, all, MOST_LOOKED_AT);
      if (asked.terms.length === 0) return [];
      const forms = asked.terms.flatMap((term) => term.forms);
      if (asked.terms[0]!.chunks < MOST_LOOKED_AT)
        return ranked(scope, tsqueryOf(scope.storeIds, [forms]), { asked, scale: asked, most });
      const scale = weighed(counted, all, Number.POSITIVE_INFINITY);
      const together = await foundTogether(scale, (terms) => {
        const match = tsqueryOf(
          scope.storeIds,
          terms.map((term) => term.forms),
        );
        return ranked(scope, match, { asked: { ...scale, terms }, scale, most });
      });
      if (together.length >= ENOUGH) return together;
      return joined(together, await ranked(scope, tsqueryOf(scope.storeIds, [forms]), { asked, scale, most }));
    },
    expectVector: () => {},
    byVector: async (scope, vector, most) => {
      const [found, scanned] = await Promise.all([byExtension(scope, vector, most), byScan(scope, vector, most)]);
      if (scanned === null) return null;
      return [...found, ...scanned].sort((one, other) => other.similarity - one.similarity).slice(0, most);
    },
    read: (places) =>
      places.length === 0
        ? Promise.resolve([])
        : db
            .selectFrom('chunks')
            .select(['source', 'number', 'text', 'locator'])
            .where((where) => where.or(places.map(({ source, number }) => where.and({ source, number }))))
            .execute(),
    close: () => thread.close(),
  };
}

/** Found first, and once: left to itself, PostgreSQL may look for the words in each file, or at a file for each chunk. */
const searched = (files: Expression<unknown>): RawBuilder<unknown> => sql`searched as materialized ${files}`;

/**
 * PostgreSQL ranks a word by the sum of 1, 1/4, 1/9, ... for each time that it occurs, as part of what that would be without end:
 * from which it is seen how often that was.
 */
const WITHOUT_END = Math.PI ** 2 / 6;
const timesOf = (form: string): RawBuilder<unknown> =>
  sql`round(1 / (${WITHOUT_END}::float8 * greatest(1e-6,
    1 - ts_rank('{1,1,1,1}'::float4[], words, ${wordQuery([form])}::tsquery)::float8)) - 0.5)`;

/** How often a word occurs, in the form that does most. A form that does not gives zero. */
const mostTimes = (forms: readonly string[]): RawBuilder<unknown> => sql`greatest(${sql.join(forms.map(timesOf))})`;

/** BM25, by what the searched stores hold. */
const rankOf = ({ terms }: Weighed): RawBuilder<unknown> => {
  const { saturation, ofLength } = RANKING;
  const length = sql`(${saturation}::float8 * (${1 - ofLength}::float8 + ${ofLength}::float8 * length / usual))`;
  return sql.join(
    terms.map(({ forms, weight }) => {
      const times = mostTimes(forms);
      return sql`(${weight * (saturation + 1)}::float8 * ${times} / (${times} + ${length}))`;
    }),
    sql` + `,
  );
};
