import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { vector } from '@electric-sql/pglite-pgvector';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool, types } from 'pg';
import type { Attributes, ChunkIndex, FencedTransaction } from '../../src/assistants/vector-stores/chunk-index.ts';
import type { ChunkStore } from '../../src/assistants/vector-stores/search/chunk-store.ts';
import { createEmbeddedChunks } from '../../src/assistants/vector-stores/search/embedded-chunks.ts';
import {
  type EmbeddingModel,
  type Embeddings,
  EmbeddingsFailed,
  patient,
} from '../../src/assistants/vector-stores/search/embeddings.ts';
import { createChunkIndex } from '../../src/assistants/vector-stores/search/indexing.ts';
import { createPostgresChunks } from '../../src/assistants/vector-stores/search/postgres-chunks.ts';
import { normalised } from '../../src/assistants/vector-stores/search/quantised.ts';
import { createSearch, type Search, type SearchRequest } from '../../src/assistants/vector-stores/search/search.ts';
import { searchThread } from '../../src/assistants/vector-stores/search/thread/client.ts';
import { openPostgresChunks } from '../../src/assistants/vector-stores/search/thread/postgres.ts';
import { createHealth, type Health } from '../../src/core/health.ts';
import { newId, type WorkspaceId } from '../../src/core/ids.ts';
import { newObjectId } from '../../src/core/object-ids.ts';
import { wordsOf } from '../../src/core/words.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { migrations } from '../../src/storage/migrations.ts';
import type { Schema } from '../../src/storage/schema.ts';
import { type Db, openPostgres, openSqlite, type Store } from '../../src/storage/store.ts';
import { createDatabase } from '../postgres.ts';

const workerUrl = new URL('../../src/assistants/vector-stores/search/search-worker.ts', import.meta.url);

interface Opened {
  readonly store: Store;
  readonly chunks: ChunkStore;
  close(): Promise<void>;
}

const EXACT = 1_000_000;

function openPgvector(database: PGlite): Db {
  const getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === 20 || oid === 1700 ? Number : types.getTypeParser(oid, format as 'text');
  const pool = new Pool({ ...createPgConfig(database), max: 1, types: { getTypeParser } } as object);
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}

/** Made once for each process: to copy it takes a seventh of the work. */
let migratedPgvector: Promise<Blob> | undefined;
async function makeMigratedPgvector(): Promise<Blob> {
  const database = await PGlite.create({ extensions: { vector } });
  await database.exec('create extension vector');
  const db = openPgvector(database);
  await migrate(db, 'postgres', 'gateway_migrations', migrations);
  const copy = await database.dumpDataDir('none');
  await db.destroy();
  await database.close();
  return copy;
}

/** Every way in which chunks are stored and found. */
export const stores: Readonly<Record<string, (approximateFrom?: number) => Promise<Opened>>> = {
  'the embedded store': async (approximateFrom = EXACT) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-search-'));
    const stateFile = join(folder, 'state.db');
    const store = openSqlite(stateFile);
    await store.migrate();
    const place = { engine: 'sqlite', file: join(folder, 'search.db'), stateFile } as const;
    const thread = () => searchThread({ place, workerUrl });
    const threads = { reader: thread(), scanner: thread(), writer: thread() };
    const chunks = createEmbeddedChunks({ store, ...threads, approximateFrom });
    return {
      store,
      chunks,
      close: async () => {
        chunks.close();
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  PostgreSQL: async (approximateFrom = EXACT) => {
    const url = await createDatabase();
    const store = await openPostgres(url);
    await store.migrate();
    const thread = searchThread({ place: { engine: 'postgres', url }, workerUrl });
    const chunks = createPostgresChunks({ store, thread, approximateFrom, now: Date.now });
    return {
      store,
      chunks,
      close: async () => {
        chunks.close();
        await store.close();
      },
    };
  },
  'PostgreSQL with pgvector': async (approximateFrom = EXACT) => {
    migratedPgvector ??= makeMigratedPgvector();
    const database = await PGlite.create({ extensions: { vector }, loadDataDir: await migratedPgvector });
    const db = openPgvector(database);
    const store: Store = {
      db,
      engine: 'postgres',
      ping: async () => {},
      transaction: (work) => db.transaction().execute(work),
      migrate: async () => [],
      close: () => db.destroy(),
    };
    const chunks = createPostgresChunks({
      store,
      thread: openPostgresChunks(db),
      approximateFrom,
      now: Date.now,
    });
    return {
      store,
      chunks,
      close: async () => {
        await db.destroy();
        await database.close();
      },
    };
  },
};

const MEANINGS: readonly (readonly string[])[] = [
  ['car', 'automobile', 'vehicle'],
  ['doctor', 'physician'],
  ['bread', 'loaf', 'bakery'],
  ['money', 'cash', 'currency'],
];

/** Texts mean what words in them mean; words that mean the same give the same vector. */
export function vectorFor(text: string, dimensions: number): Float32Array | null {
  const vector = new Float32Array(dimensions);
  for (const word of wordsOf(text)) {
    const meaning = MEANINGS.findIndex((words) => words.includes(word));
    const seed = meaning >= 0 ? `meaning ${meaning}` : word;
    vector[Number(Bun.hash(seed) % BigInt(dimensions))]! += 1;
  }
  return normalised(vector);
}

export interface TestEmbeddings extends Embeddings {
  model: EmbeddingModel | null;
  /** Each call takes one away and fails with it. */
  readonly failures: number[];
  /** Which texts it was asked for, call by call, and by which model. */
  readonly asked: { readonly model: string; readonly texts: readonly string[] }[];
}

export function testEmbeddings(model: EmbeddingModel | null): TestEmbeddings {
  const embeddings: TestEmbeddings = {
    model,
    failures: [],
    asked: [],
    modelFor: async () => embeddings.model,
    embed: async ({ model: asked, texts }) => {
      const status = embeddings.failures.shift();
      if (status !== undefined) throw new EmbeddingsFailed(status, 'it is down');
      embeddings.asked.push({ model: asked.name, texts });
      return texts.map((text) => vectorFor(text, asked.dimensions ?? 64));
    },
  };
  return embeddings;
}

export interface SearchLab extends Opened {
  readonly index: ChunkIndex;
  readonly search: Search;
  readonly embeddings: TestEmbeddings;
  readonly health: Health;
  readonly workspaceId: WorkspaceId;
  readonly fenced: FencedTransaction;
  newStore(): Promise<string>;
  /** A file of a store with these chunks, completed. */
  newFile(storeId: string, chunks: readonly string[], attributes?: Attributes): Promise<string>;
  find(
    query: string,
    request: Partial<SearchRequest> & { storeIds: string[] },
  ): Promise<{ mode: string; texts: string[] }>;
}

export async function openLab(
  open: () => Promise<Opened>,
  model: EmbeddingModel | null = { name: 'test-embedding', dimensions: 64 },
): Promise<SearchLab> {
  const opened = await open();
  const { store, chunks } = opened;
  const embeddings = testEmbeddings(model);
  const health = createHealth({ now: Date.now });
  const index = createChunkIndex({ store, chunks, embeddings: patient(embeddings, [1, 1]), now: Date.now });
  const search = createSearch({ store, chunks, embeddings, rerank: null, health });
  const workspaceId = newId<WorkspaceId>();
  const fenced: FencedTransaction = (step) => store.transaction(step);
  const signal = new AbortController().signal;
  return {
    ...opened,
    index,
    search,
    embeddings,
    health,
    workspaceId,
    fenced,
    newStore: () => insertStore(store.db, workspaceId),
    newFile: async (storeId, texts, attributes = {}) => {
      const fileId = await insertFile(store.db, { storeId, workspaceId, attributes });
      const file = { storeId, fileId, workspaceId };
      await index.put(file, chunksOf(texts), { signal, transaction: fenced });
      return fileId;
    },
    find: async (query, request) => {
      const usual = { workspaceId, queries: [query], most: 10, scoreThreshold: 0, filter: null, signal };
      const { mode, results } = await search({ ...usual, ...request });
      return { mode, texts: results.map(({ text }) => text) };
    },
  };
}

export const chunksOf = (texts: readonly string[]) =>
  texts.map((text, index) => ({ text, start: index * 100, end: index * 100 + text.length }));

async function insertStore(db: Db, workspaceId: WorkspaceId): Promise<string> {
  const id = newObjectId('vectorStore');
  await db
    .insertInto('vector_stores')
    .values({
      id,
      workspace_id: workspaceId,
      body: '{"name":"","description":null,"metadata":{}}',
      expires_days: null,
      last_active_at: 0,
      expires_at: null,
      expired_at: null,
      created_at: 0,
      deleted_at: null,
    })
    .execute();
  return id;
}

async function insertFile(
  db: Db,
  { storeId, workspaceId, attributes }: { storeId: string; workspaceId: WorkspaceId; attributes: Attributes },
): Promise<string> {
  const fileId = newObjectId('file');
  await db
    .insertInto('files')
    .values({
      id: fileId,
      workspace_id: workspaceId,
      filename: `${fileId}.txt`,
      purpose: 'assistants',
      bytes: 1,
      created_at: 0,
      expires_at: null,
      deleted_at: null,
    })
    .execute();
  await db
    .insertInto('vector_store_files')
    .values({
      store_id: storeId,
      file_id: fileId,
      position: fileId,
      batch_id: null,
      status: 'completed',
      last_error: null,
      usage_bytes: 0,
      attributes: JSON.stringify(attributes),
      chunk_tokens: 800,
      overlap_tokens: 400,
      created_at: 0,
      deleted_at: null,
    })
    .execute();
  return fileId;
}
