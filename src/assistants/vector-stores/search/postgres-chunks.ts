import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore } from './chunk-store.ts';
import { type Scope, searchedFiles } from './scope.ts';
import { tsqueryOf, wordQuery } from './thread/postgres.ts';
import type { NearPlace, Place, SearchThread } from './thread/requests.ts';
import { rarest, type Term, termsOf } from './words.ts';

export interface PostgresChunksOptions {
  readonly store: Pick<Store, 'db' | 'engine'>;
  readonly thread: SearchThread;
  readonly now: () => number;
}

/** PostgreSQL ranks so many chunks in some ten milliseconds. */
const MOST_LOOKED_AT = 2_000;
/** When a single word is in more, those that come first will do: it tells none of them apart. */
const MOST_RANKED = 4_000;
/** An operator may add the extension while we run. */
const LOOK_AGAIN_MS = 60_000;

/** Chunks in PostgreSQL: words as `tsvector`, vectors by pgvector where the database has it, and scanned where not. */
export function createPostgresChunks({ store, thread, now }: PostgresChunksOptions): ChunkStore {
  const { db } = store;
  let looked = { at: Number.NEGATIVE_INFINITY, hasExtension: false };

  const hasExtension = async (): Promise<boolean> => {
    if (now() - looked.at < LOOK_AGAIN_MS) return looked.hasExtension;
    const { rows } = await sql`select 1 from pg_extension where extname = 'vector'`.execute(db);
    looked = { at: now(), hasExtension: rows.length > 0 };
    return looked.hasExtension;
  };

  /** Counted no further than matters. */
  const countOf = async (storeIds: readonly string[], words: readonly string[]): Promise<Term[]> => {
    const counts = words.map(
      (word) => sql`select ${word}::text as word, (select count(*) from (
        select 1 from chunks where words @@ ${tsqueryOf(storeIds, [word])}::tsquery limit ${MOST_LOOKED_AT}
      ) as found) as chunks`,
    );
    const { rows } = await sql<Term>`${sql.join(counts, sql` union all `)}`.execute(db);
    return rows;
  };

  const byExtension = async (scope: Scope, vector: Float32Array, most: number): Promise<readonly NearPlace[]> => {
    if (!(await hasExtension())) return [];
    const only = { vectors: 'pgvector', dimensions: vector.length } as const;
    const files = searchedFiles(store, scope, only).select('indexed.id');
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
    const { sql: text, parameters } = files.select(['indexed.id', 'indexed.chunks', 'indexed.dimensions']).compile();
    return thread.nearest({ files: { sql: text, parameters }, vector, most });
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
      const kept = rarest(await countOf(scope.storeIds, words), MOST_LOOKED_AT);
      if (kept.length === 0) return [];
      const match = tsqueryOf(
        scope.storeIds,
        kept.map(({ word }) => word),
      );
      const { rows } = await sql<Place>`
        with ${searched(searchedFiles(store, scope).select('indexed.id'))},
        found as materialized (select source, number from chunks where words @@ ${match}::tsquery),
        candidates as materialized (
          select source, number from found where source in (select id from searched) limit ${MOST_RANKED}
        )
        select source, number from candidates join chunks using (source, number)
        order by ${rankOf(kept)} desc, source, number limit ${most}`.execute(db);
      return rows;
    },
    byVector: async (scope, vector, most) => {
      const [found, scanned] = [await byExtension(scope, vector, most), await byScan(scope, vector, most)];
      if (scanned === null) return null;
      return [...found, ...scanned].sort((one, other) => other.similarity - one.similarity).slice(0, most);
    },
    read: (places) =>
      places.length === 0
        ? Promise.resolve([])
        : db
            .selectFrom('chunks')
            .select(['source', 'number', 'text'])
            .where((where) => where.or(places.map(({ source, number }) => where.and({ source, number }))))
            .execute(),
    close: () => thread.close(),
  };
}

/** Found first, and once: left to itself, PostgreSQL may look for the words in each file, or at a file for each chunk. */
const searched = (files: Expression<unknown>): RawBuilder<unknown> => sql`searched as materialized ${files}`;

/** PostgreSQL does not know that a rare word says more than a common one. */
const rankOf = (terms: readonly Term[]): RawBuilder<unknown> =>
  sql.join(
    terms.map(({ word, chunks }) => {
      const weight = Math.log(1 + (MOST_LOOKED_AT + 1) / (chunks + 1));
      return sql`${weight}::float8 * ts_rank(words, ${wordQuery(word)}::tsquery, 1)`;
    }),
    sql` + `,
  );
