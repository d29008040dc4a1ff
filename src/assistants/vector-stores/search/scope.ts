import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { Filter } from './filter.ts';
import { filterSql } from './filter-sql.ts';

/** What is searched: the files of these stores, or of them those that a filter lets through. */
export interface Scope {
  readonly storeIds: readonly string[];
  readonly filter: Filter | null;
}

/** Files that can be found. Those with vectors alone, and of one length, where that is what is looked for. */
export function searchedFiles(
  { db, engine }: Pick<Store, 'db' | 'engine'>,
  { storeIds, filter }: Scope,
  only: { readonly vectors: 'scanned' | 'pgvector'; readonly dimensions?: number } | null = null,
) {
  return db
    .selectFrom('indexed_files as indexed')
    .innerJoin('vector_store_files as file', (join) =>
      join.onRef('file.store_id', '=', 'indexed.store_id').onRef('file.file_id', '=', 'indexed.file_id'),
    )
    .where('indexed.store_id', 'in', [...storeIds])
    .where('indexed.state', '=', 'current')
    .where('file.status', '=', 'completed')
    .where('file.deleted_at', 'is', null)
    .$if(filter !== null, (query) =>
      query.where(sql<boolean>`${filterSql(filter!, engine, sql.ref('file.attributes'))}`),
    )
    .$if(only !== null, (query) => query.where('indexed.vectors', '=', only!.vectors))
    .$if(only?.dimensions !== undefined, (query) => query.where('indexed.dimensions', '=', only!.dimensions!));
}
