import { newId } from '../../../core/ids.ts';
import type { IndexedFileRow } from '../../../storage/schema.ts';
import type { Db, Store } from '../../../storage/store.ts';
import type { Chunk, ChunkIndex, FencedTransaction, IndexedFile } from '../chunk-index.ts';
import type { ChunkStore } from './chunk-store.ts';
import type { EmbeddingModel, EmbeddingRequest, Embeddings } from './embeddings.ts';
import { strideOf } from './quantised.ts';
import type { ChunkToAdd } from './thread/requests.ts';

export interface ChunkIndexDeps {
  readonly store: Store;
  readonly chunks: ChunkStore;
  readonly embeddings: Embeddings;
  readonly now: () => number;
}

/** Chunks that are written, and embedded, together. */
const GROUP = 64;
/** Fewer when they are long: providers take so much text at once. */
const MOST_CHARACTERS = 400_000;

/**
 * Takes files in. Each time, the chunks go under a name of their own that no search looks at, and become the file's
 * with one small change at the end: so whatever is left of an attempt that died is never mistaken for part of another.
 */
export function createChunkIndex({ store, chunks, embeddings, now }: ChunkIndexDeps): ChunkIndex {
  return {
    async put(file, given, { signal, transaction, proven }) {
      const model = await modelOf(file, transaction);
      const vectors = model ? await chunks.newVectors() : 'none';
      const row: IndexedFileRow = {
        id: newId<string>(),
        store_id: file.storeId,
        file_id: file.fileId,
        state: 'writing',
        chunks: 0,
        dimensions: null,
        vectors,
        touched_at: now(),
      };
      await transaction((db) => db.insertInto('indexed_files').values(row).execute());
      let bytes = 0;
      for await (const group of groupsOf(given)) {
        signal.throwIfAborted();
        const made = model ? await vectorsOf(file, model, group, { signal, proven }) : null;
        row.dimensions = sameDimensions(row.dimensions, made);
        const toAdd = group.map(({ text, start, end, locator }, index): ChunkToAdd => {
          const where = locator ? storable(JSON.stringify(locator)) : null;
          return { text: storable(text), begins: start, ends: end, locator: where, vector: made?.[index] ?? null };
        });
        await chunks.add({
          source: row.id,
          storeId: file.storeId,
          first: row.chunks,
          dimensions: row.dimensions,
          vectors,
          chunks: toAdd,
        });
        bytes += toAdd.reduce((sum, each) => sum + bytesOf(each), 0);
        row.chunks += group.length;
        await transaction((db) => touch(db, row));
      }
      signal.throwIfAborted();
      await transaction((db) => makeCurrent(db, row));
      return { usageBytes: bytes };
    },

    remove: async (db, storeId, fileId) => {
      await db
        .updateTable('indexed_files')
        .set({ state: 'removed', touched_at: now() })
        .where('store_id', '=', storeId)
        .where('file_id', '=', fileId)
        .where('state', '=', 'current')
        .execute();
    },

    removeStore: async (db, storeId) => {
      await db
        .updateTable('indexed_files')
        .set({ state: 'removed', touched_at: now() })
        .where('store_id', '=', storeId)
        .where('state', '=', 'current')
        .execute();
      await db.deleteFrom('indexed_stores').where('store_id', '=', storeId).execute();
    },

    content: async (storeId, fileId) => {
      const row = await store.db
        .selectFrom('indexed_files')
        .select('id')
        .where('store_id', '=', storeId)
        .where('file_id', '=', fileId)
        .where('state', '=', 'current')
        .executeTakeFirst();
      return row ? chunks.texts(row.id) : [];
    },
  };

  /** A store stays with the model of its first file: vectors of two models say nothing about each other. */
  async function modelOf({ storeId, workspaceId }: IndexedFile, transaction: FencedTransaction) {
    const wanted = await embeddings.modelFor(workspaceId);
    if (!wanted) return null;
    return transaction(async (db): Promise<EmbeddingModel> => {
      await db
        .insertInto('indexed_stores')
        .values({ store_id: storeId, model: wanted.name, dimensions: wanted.dimensions })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const { model, dimensions } = await db
        .selectFrom('indexed_stores')
        .select(['model', 'dimensions'])
        .where('store_id', '=', storeId)
        .executeTakeFirstOrThrow();
      return { name: model, dimensions };
    });
  }

  function vectorsOf(
    { workspaceId }: IndexedFile,
    model: EmbeddingModel,
    group: readonly Chunk[],
    asked: Pick<EmbeddingRequest, 'signal' | 'proven'>,
  ) {
    return embeddings.embed({ workspaceId, model, texts: group.map(({ text }) => text), ...asked });
  }

  async function touch(db: Db, { id, chunks: count, dimensions }: IndexedFileRow): Promise<void> {
    const change = { chunks: count, dimensions, touched_at: now() };
    await db.updateTable('indexed_files').set(change).where('id', '=', id).execute();
  }

  async function makeCurrent(db: Db, { id, store_id, file_id }: IndexedFileRow): Promise<void> {
    await db
      .updateTable('indexed_files')
      .set({ state: 'removed', touched_at: now() })
      .where('store_id', '=', store_id)
      .where('file_id', '=', file_id)
      .where('state', '=', 'current')
      .where('id', '!=', id)
      .execute();
    const { numUpdatedRows } = await db
      .updateTable('indexed_files')
      .set({ state: 'current', touched_at: now() })
      .where('id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new Error(`The chunks of ${file_id} were swept away while they were written.`);
  }
}

async function* groupsOf(chunks: AsyncIterable<Chunk> | readonly Chunk[]): AsyncGenerator<Chunk[]> {
  let group: Chunk[] = [];
  let characters = 0;
  for await (const chunk of chunks) {
    const isFull = group.length === GROUP || characters + chunk.text.length > MOST_CHARACTERS;
    if (isFull && group.length > 0) {
      yield group;
      group = [];
      characters = 0;
    }
    group.push(chunk);
    characters += chunk.text.length;
  }
  if (group.length > 0) yield group;
}

function sameDimensions(known: number | null, made: readonly (Float32Array | null)[] | null): number | null {
  const found = made?.find((vector) => vector !== null)?.length ?? null;
  if (known !== null && found !== null && known !== found)
    throw new Error(`The embedding model gave vectors of ${found} numbers after some of ${known}.`);
  return known ?? found;
}

/** PostgreSQL takes neither; on both stores the same text is kept. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const bytesOf = ({ text, vector }: ChunkToAdd): number =>
  Buffer.byteLength(text) + (vector ? strideOf(vector.length) : 0);
