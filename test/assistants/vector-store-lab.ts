import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DocumentReader } from '../../src/assistants/documents/reader.ts';
import type { ChunkIndex } from '../../src/assistants/vector-stores/chunk-index.ts';
import type { Search } from '../../src/assistants/vector-stores/search/search.ts';
import { createVectorStores } from '../../src/assistants/vector-stores/vector-stores.ts';
import { newId, type WorkspaceId } from '../../src/core/ids.ts';
import { createFiles } from '../../src/files/files.ts';
import { folderBlobs } from '../../src/files/folder-blobs.ts';
import { NOTHING_PROVEN } from '../../src/guardrails/proof.ts';
import type { Engine } from '../../src/storage/migrate.ts';
import { openPostgres, openSqlite, type Store } from '../../src/storage/store.ts';
import { createWorkers, type Workers } from '../../src/work/workers.ts';
import { createDatabase } from '../postgres.ts';

/** An index whose chunks are rows of a list, written one transaction each, like those of a slow one. */
export function listIndex() {
  const chunks = new Map<string, string[]>();
  const key = (storeId: string, fileId: string) => `${storeId} ${fileId}`;
  const index: ChunkIndex = {
    put: async ({ storeId, fileId }, given, { transaction }) => {
      const texts: string[] = [];
      for await (const { text } of given) {
        await transaction(async () => texts.push(text));
      }
      await transaction(async () => chunks.set(key(storeId, fileId), texts));
      return { usageBytes: texts.join('').length };
    },
    remove: async (_db, storeId, fileId) => void chunks.delete(key(storeId, fileId)),
    removeStore: async () => {},
    content: async (storeId, fileId) => chunks.get(key(storeId, fileId)) ?? [],
  };
  return { index, chunks };
}

/** A reader for which every word is a chunk; `before` may wait, or throw what a document does. */
export const wordReader = (
  before: (filename: string, word: string) => Promise<void> = async () => {},
): DocumentReader => ({
  async *chunks({ filename, open }, signal) {
    let start = 0;
    for (const text of (await new Response(await open()).text()).split(' ')) {
      await before(filename, text);
      signal.throwIfAborted();
      yield { text, start, end: start + text.length };
      start += text.length + 1;
    }
  },
  close: () => {},
});

const timing = { pollMs: 20, sweepMs: 50, heartbeatMs: 50, abortAfterMs: 20_000, leaseMs: 30_000 };

/** Vector stores on a store of their own, without the rest of a gateway; nodes are started on it one by one. */
export async function openVectorStoreLab(engine: Engine) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-vector-stores-'));
  const store: Store = engine === 'postgres' ? await openPostgres(await createDatabase()) : openSqlite(':memory:');
  await store.migrate();
  let skewMs = 0;
  const now = () => Date.now() + skewMs;
  const blobs = folderBlobs(join(folder, 'blobs'));
  const files = createFiles({ store, blobs, now });
  const { index, chunks } = listIndex();
  const search: Search = async () => ({ mode: 'full-text', ranker: 'own', results: [] });
  const workspaceId = newId<WorkspaceId>();
  const nodes: Workers[] = [];
  const errors: string[] = [];

  const startNode = async (reader = wordReader(), { concurrency = 3 } = {}) => {
    const vectorStores = createVectorStores({
      ...{ store, files, index, reader, pictures: null, search, rewrite: null, now },
      embeds: async () => false,
      workers: () => workers,
      proofs: { seal: () => null, open: () => NOTHING_PROVEN },
    });
    const workers: Workers = createWorkers({
      store,
      node: `node${nodes.length}`,
      kinds: vectorStores.kinds.map((kind) => ({ ...kind, concurrency, backoff: { firstMs: 10, mostMs: 10 } })),
      timing,
      onError: (what, error) => errors.push(`${what}: ${error}`),
    });
    nodes.push(workers);
    await workers.start();
    return { ...vectorStores, workers };
  };

  return {
    store,
    files,
    chunks,
    errors,
    workspaceId,
    startNode,
    pass: (ms: number) => {
      skewMs += ms;
    },
    newFile: async (content: string, filename = 'a.txt'): Promise<string> => {
      const segment = await files.keep(
        (async function* () {
          yield Buffer.from(content);
        })(),
      );
      const file = { workspaceId, filename, purpose: 'assistants' as const, segments: [segment] };
      return (await files.create(file)).id;
    },
    close: async () => {
      await Promise.all(nodes.map((node) => node.stop(0)));
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type VectorStoreLab = Awaited<ReturnType<typeof openVectorStoreLab>>;
export type LabNode = Awaited<ReturnType<VectorStoreLab['startNode']>>;
