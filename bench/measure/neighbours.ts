import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedChunks } from '../../src/assistants/vector-stores/search/thread/embedded.ts';
import type { NearPlace } from '../../src/assistants/vector-stores/search/thread/requests.ts';
import { recallOf, type Topics, topicsOf } from '../../test/search/topics.ts';
import { spawnGateway } from '../gateway.ts';
import type { Lab } from '../lab.ts';
import { percentile, short } from '../numbers.ts';
import { residentKb } from '../proc.ts';
import { DIMENSIONS } from '../upstream/embeddings.ts';
import { emptyStore, fill, PER_FILE, searches } from './search.ts';

export interface NeighboursSample {
  readonly chunks: number;
  /** How many of the 100, and of the 10, nearest are found. */
  readonly recall: number;
  readonly recallOfTen: number;
  /** Milliseconds in which the nearest are found, and in which every vector is looked at. */
  readonly nearest: number;
  readonly scan: number;
  /** Milliseconds until the nearest are found for the first time after a start. */
  readonly first: number;
  /** Milliseconds of a search by words and meaning, as the client sees it, and by words alone. */
  readonly p50: number;
  readonly p99: number;
  readonly wordsP50: number;
  /** Milliseconds in which a chunk is taken in. */
  readonly added: number;
  /** MiB: what searches add to the process, and what the chunks take on disk. */
  readonly memory: number;
  readonly disk: number;
}

const QUESTIONS = 20;
const SEARCHES = 100;
const MOST = 100;
const EXACT = 1_000_000_000;

/** Finding the nearest of many vectors on the embedded store: how fast, and how many of them. */
export async function measureNeighbours(lab: Lab): Promise<NeighboursSample[]> {
  const samples: NeighboursSample[] = [];
  for (const chunks of lab.lengths.neighbourChunks) samples.push(await measured(lab, chunks));
  return samples;
}

async function measured(lab: Lab, chunks: number): Promise<NeighboursSample> {
  const dataFolder = join(lab.folder, `neighbours-${chunks}`);
  mkdirSync(dataFolder, { recursive: true });
  const storeId = await emptyStore(lab, dataFolder);
  lab.say(`neighbours: making ${chunks} chunks`);
  const topics = topicsOf(DIMENSIONS);
  const began = performance.now();
  await fill({ dataFolder, storeId, chunks, vectorOf: topics.chunk });
  const added = (performance.now() - began) / chunks;
  const found = await foundIn(dataFolder, topics, chunks);
  const words = await spawnGateway(lab, { dataFolder });
  const idle = residentKb(words.running.pid);
  await searches(words, storeId, { count: 10, round: 0, mode: 'full-text' });
  const wordsP50 = percentile(await searches(words, storeId, { count: SEARCHES, round: 1, mode: 'full-text' }), 0.5);
  await words.running.end();
  const hybrid = await spawnGateway(lab, {
    dataFolder,
    environment: {
      ...{ GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'vectors', GATEWAY_EMBEDDINGS_MODEL: 'bench' },
      GATEWAY_SEARCH_APPROXIMATE_FROM: '1',
    },
  });
  await searches(hybrid, storeId, { count: 10, round: 0, mode: 'hybrid' });
  const took = await searches(hybrid, storeId, { count: SEARCHES, round: 1, mode: 'hybrid' });
  const memory = (residentKb(hybrid.running.pid) - idle) / 1_024;
  await hybrid.running.end();
  const disk = statSync(join(dataFolder, 'search.db')).size / 2 ** 20;
  const sample = {
    ...{ chunks, ...found, p50: percentile(took, 0.5), p99: percentile(took, 0.99) },
    ...{ wordsP50, added, memory, disk },
  };
  lab.say(
    `neighbours of ${chunks}: recall ${sample.recall.toFixed(3)}, ${short(sample.nearest)} ms, all of them ${short(sample.scan)} ms; ` +
      `a search ${short(sample.p50)} ms, by words ${short(wordsP50)} ms; ${short(memory)} MiB`,
  );
  return sample;
}

/** In this process, where both ways can be asked the same. */
async function foundIn(dataFolder: string, topics: Topics, chunks: number) {
  const stateFile = join(dataFolder, 'state.db');
  const thread = openEmbeddedChunks({ engine: 'sqlite', file: join(dataFolder, 'search.db'), stateFile });
  const files = { sql: 'select id, chunks, dimensions from state.indexed_files', parameters: [] };
  const ask = async (vector: Float32Array, approximateFrom: number) => {
    const began = performance.now();
    const places = (await thread.nearest({ files, vector, most: MOST, approximateFrom }))!;
    return { places: places.map(keyOf), took: performance.now() - began };
  };
  const questions = Array.from({ length: QUESTIONS }, (_, number) =>
    topics.question(Math.floor((number * chunks) / PER_FILE / QUESTIONS), number),
  );
  const { took: first } = await ask(questions[0]!, 1);
  const near: Awaited<ReturnType<typeof ask>>[] = [];
  for (const question of questions) near.push(await ask(question, 1));
  await ask(questions[0]!, EXACT);
  const all: Awaited<ReturnType<typeof ask>>[] = [];
  for (const question of questions) all.push(await ask(question, EXACT));
  thread.close();
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    first,
    recall: mean(all.map(({ places }, index) => recallOf(places, near[index]!.places))),
    recallOfTen: mean(all.map(({ places }, index) => recallOf(places.slice(0, 10), near[index]!.places))),
    nearest: percentile(
      near.map(({ took }) => took),
      0.5,
    ),
    scan: percentile(
      all.map(({ took }) => took),
      0.5,
    ),
  };
}

const keyOf = ({ source, number }: NearPlace): string => `${source} ${number}`;
