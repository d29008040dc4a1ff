import type { WorkspaceId } from '../../core/ids.ts';
import type { EndingStep, Endings } from '../../storage/ending.ts';
import type { ChunkStore } from './search/chunk-store.ts';

export interface VectorStoreEndingDeps {
  readonly chunks: Pick<ChunkStore, 'remove'>;
}

const STORE_TABLES = ['vector_stores', 'vector_store_files', 'vector_store_batches'];
/** On PostgreSQL the chunks are tables, too; beside the embedded store they lie in a file of their own. */
const SEARCH_TABLES = ['indexed_stores', 'indexed_files', 'chunks', 'chunk_vectors', 'chunk_codes'];

/** Vector stores with everything that search has made of their files. */
export const vectorStoreEndings = (deps: VectorStoreEndingDeps): Endings => ({
  endsWithWorkspace: [
    {
      area: 'vector stores',
      tables: [...STORE_TABLES, ...SEARCH_TABLES],
      remove: (id, step) => removeStores(id, step, deps),
    },
  ],
  endsWithUser: [
    {
      area: 'vector stores',
      tables: [...STORE_TABLES, ...SEARCH_TABLES],
      kept: 'Vector stores are tools of their workspace; what was made of the files of a person goes with these files.',
    },
  ],
});

/** One store at a time: its chunks, what is known of them, its files, itself. */
async function removeStores(id: WorkspaceId, step: EndingStep, { chunks }: VectorStoreEndingDeps): Promise<number> {
  const { db, atMost, signal } = step;
  const some = db.selectFrom('vector_stores').select('id').where('workspace_id', '=', id);
  // Each has an index of its own.
  const row =
    (await some.where('deleted_at', 'is', null).executeTakeFirst()) ??
    (await some.where('deleted_at', 'is not', null).executeTakeFirst());
  if (!row) return 0;
  const source = await db.selectFrom('indexed_files').select('id').where('store_id', '=', row.id).executeTakeFirst();
  if (source) {
    while (await chunks.remove(source.id, atMost)) signal.throwIfAborted();
    // After its chunks, so that a node that goes on after a kill finds them.
    return step.transaction(async (transaction) => {
      await transaction.deleteFrom('indexed_files').where('id', '=', source.id).execute();
      return 1;
    });
  }
  return step.transaction(async (transaction) => {
    const files = transaction
      .selectFrom('vector_store_files')
      .select('file_id')
      .where('store_id', '=', row.id)
      .limit(atMost);
    const gone = await transaction
      .deleteFrom('vector_store_files')
      .where('store_id', '=', row.id)
      .where('file_id', 'in', files)
      .returning('file_id')
      .execute();
    if (gone.length > 0) return gone.length;
    const batches = await transaction
      .deleteFrom('vector_store_batches')
      .where('store_id', '=', row.id)
      .returning('id')
      .execute();
    await transaction.deleteFrom('indexed_stores').where('store_id', '=', row.id).execute();
    await transaction.deleteFrom('vector_stores').where('id', '=', row.id).execute();
    return batches.length + 1;
  });
}
