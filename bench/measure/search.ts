import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { normalised } from '../../src/assistants/vector-stores/search/quantised.ts';
import { openEmbeddedChunks } from '../../src/assistants/vector-stores/search/thread/embedded.ts';
import { newObjectId } from '../../src/core/object-ids.ts';
import { openSqlite } from '../../src/storage/store.ts';
import { adminHeaders, create, createVirtualKey, type GatewayProcess, spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { percentile, short } from '../numbers.ts';
import { cpuMsOf } from '../proc.ts';
import { DIMENSIONS, direction } from '../upstream/embeddings.ts';

export interface SearchSample {
  /** Milliseconds of a search, as the client sees it. */
  readonly p50: number;
  readonly p99: number;
  /** Milliseconds of the gateway's CPU, all its threads together, per search. */
  readonly cpu: number;
  /** Milliseconds of another call, in quiet and during the searches. */
  readonly quietP50: number;
  readonly busyP50: number;
  readonly busyP99: number;
}

export const CHUNKS = 100_000;
export const PER_FILE = 100;
const WORDS_PER_CHUNK = 90;
const VOCABULARY = 50_000;
const GROUP = 50;
const SEARCHES = 150;
const ASK_EVERY_MS = 10;

/** Searching a large vector store on the embedded store, from the outside. */
export async function measureSearch(lab: Lab): Promise<SearchSample[]> {
  const dataFolder = join(lab.folder, 'search');
  mkdirSync(dataFolder, { recursive: true });
  const storeId = await emptyStore(lab, dataFolder);
  lab.say(`search: making ${CHUNKS} chunks`);
  await fill({ dataFolder, storeId, chunks: CHUNKS, vectorOf: (file, number) => direction(file * PER_FILE + number) });
  const gateway = await spawnGateway(lab, {
    dataFolder,
    environment: { GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'vectors', GATEWAY_EMBEDDINGS_MODEL: 'bench' },
  });
  await searches(gateway, storeId, { count: 20, round: 0, mode: 'hybrid' });
  const samples: SearchSample[] = [];
  for (let round = 0; round < lab.lengths.rounds; round++) {
    const quiet = await asking(gateway, () => Bun.sleep(1_000));
    let took: number[] = [];
    const before = cpuMsOf(gateway.running.pid);
    const busy = await asking(gateway, async () => {
      took = await searches(gateway, storeId, { count: SEARCHES, round: round + 1, mode: 'hybrid' });
    });
    const sample: SearchSample = {
      p50: percentile(took, 0.5),
      p99: percentile(took, 0.99),
      cpu: (cpuMsOf(gateway.running.pid) - before) / SEARCHES,
      quietP50: percentile(quiet, 0.5),
      busyP50: percentile(busy, 0.5),
      busyP99: percentile(busy, 0.99),
    };
    samples.push(sample);
    lab.say(
      `search round ${round + 1}/${lab.lengths.rounds}: ${short(sample.p50)} ms, p99 ${short(sample.p99)} ms, ` +
        `CPU ${short(sample.cpu)} ms; ` +
        `/health ${short(sample.busyP50)} ms, in quiet ${short(sample.quietP50)} ms`,
    );
  }
  await gateway.running.end();
  return samples;
}

/** The gateway makes its own tables, key and store; then it is ended, for one process at a time may write. */
export async function emptyStore(lab: Lab, dataFolder: string): Promise<string> {
  const gateway = await spawnGateway(lab, { dataFolder });
  await createVirtualKey(gateway.origin, 'vectors', `${lab.upstream.url}/v1`);
  const { id } = await create(gateway.origin, '/v1/vector_stores', { name: 'large' });
  await gateway.running.end();
  return String(id);
}

export interface Filling {
  readonly dataFolder: string;
  readonly storeId: string;
  readonly chunks: number;
  readonly vectorOf: (file: number, number: number) => ArrayLike<number>;
}

/** As it is after files of 100 chunks were taken in, without reading them and without asking for their vectors. */
export async function fill({ dataFolder, storeId, chunks: count, vectorOf }: Filling): Promise<void> {
  const store = openSqlite(join(dataFolder, 'state.db'));
  const { db } = store;
  const chunks = openEmbeddedChunks({
    engine: 'sqlite',
    file: join(dataFolder, 'search.db'),
    stateFile: join(dataFolder, 'state.db'),
  });
  const { workspace_id } = await db.selectFrom('vector_stores').select('workspace_id').executeTakeFirstOrThrow();
  await db.insertInto('indexed_stores').values({ store_id: storeId, model: 'bench', dimensions: null }).execute();
  for (let file = 0; file < count / PER_FILE; file++) {
    const fileId = newObjectId('file');
    const source = `source-${file}`;
    for (let first = 0; first < PER_FILE; first += GROUP) {
      const group = Array.from({ length: GROUP }, (_, index) => ({
        ...{ text: sentence(WORDS_PER_CHUNK, file * PER_FILE + first + index), begins: 0, ends: 1, locator: null },
        vector: normalised(vectorOf(file, first + index)),
      }));
      await chunks.add({ source, storeId, first, dimensions: DIMENSIONS, vectors: 'scanned', chunks: group });
    }
    await store.transaction(async (transaction) => {
      await transaction
        .insertInto('files')
        .values({
          ...{ id: fileId, workspace_id, filename: `${file}.txt`, purpose: 'assistants', bytes: 1, created_at: 0 },
          ...{ expires_at: null, deleted_at: null },
        })
        .execute();
      await transaction
        .insertInto('vector_store_files')
        .values({
          ...{ store_id: storeId, file_id: fileId, position: fileId, batch_id: null, status: 'completed' },
          ...{ last_error: null, usage_bytes: 0, attributes: '{}', chunk_tokens: 800, overlap_tokens: 400 },
          ...{ created_at: 0, deleted_at: null },
        })
        .execute();
      await transaction
        .insertInto('indexed_files')
        .values({
          ...{ id: source, store_id: storeId, file_id: fileId, state: 'current', chunks: PER_FILE },
          ...{ dimensions: DIMENSIONS, vectors: 'scanned', touched_at: Date.now() },
        })
        .execute();
    });
  }
  chunks.close();
  await store.close();
}

export async function searches(
  { origin }: GatewayProcess,
  storeId: string,
  { count, round, mode }: { readonly count: number; readonly round: number; readonly mode: 'hybrid' | 'full-text' },
): Promise<number[]> {
  const took: number[] = [];
  for (let number = 0; number < count; number++) {
    const query = sentence(5, 1_000_000 * (round + 1) + number);
    const began = performance.now();
    const response = await fetch(`${origin}/v1/vector_stores/${storeId}/search`, {
      method: 'POST',
      headers: adminHeaders,
      body: JSON.stringify({ query, max_num_results: 10 }),
    });
    const page = (await response.json()) as { data?: unknown[] };
    took.push(performance.now() - began);
    // By words alone, a rare word may be in fewer passages.
    const isFull = mode === 'hybrid' ? page.data?.length === 10 : (page.data?.length ?? 0) > 0;
    if (response.headers.get('x-gateway-search') !== mode || !isFull)
      throw new Error(`the search answered ${response.status} ${JSON.stringify(page).slice(0, 300)}`);
  }
  return took;
}

/** How long another call takes while something is done. */
async function asking({ origin }: GatewayProcess, work: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const began = performance.now();
    await (await fetch(`${origin}/health`)).arrayBuffer();
    took.push(performance.now() - began);
    await Bun.sleep(ASK_EVERY_MS);
  }
  await done;
  return took;
}

/** Words as frequent as in a language: the tenth most common is a tenth as common as the first. */
function sentence(count: number, seed: number): string {
  let state = seed + 1;
  const words = Array.from({ length: count }, () => {
    state = (Math.imul(state ^ (state >>> 16), 0x45d9f3b) + 0x27d4eb2f) >>> 0;
    const rank = Math.floor(VOCABULARY ** ((state >>> 4) / 2 ** 28));
    return `w${rank.toString(36)}`;
  });
  return words.join(' ');
}
