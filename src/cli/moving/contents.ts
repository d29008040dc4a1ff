import type { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { hasLocators } from '../../assistants/vector-stores/search/thread/embedded.ts';
import { openPostgresChunks } from '../../assistants/vector-stores/search/thread/postgres.ts';
import type { BlobId, Blobs } from '../../files/blobs.ts';
import type { Db } from '../../storage/store.ts';
import type { Progress } from '../progress.ts';
import { type Mark, type Target, writeMark } from './target.ts';

/** Copies what files hold; one that is there whole stays. */
export async function copyBlobs(from: Blobs, to: Blobs, progress: Progress): Promise<void> {
  for await (const { id, size } of from.list()) {
    if ((await to.size(id)) !== size) {
      const content = await from.get(id);
      if (content) await to.put(id, content);
    }
    progress.add(1);
  }
}

export async function verifyBlobs(from: Blobs, to: Blobs, progress: Progress): Promise<void> {
  for await (const { id } of from.list()) {
    const [one, other] = [await digestOf(from, id), await digestOf(to, id)];
    if (one !== other) throw new Error(`The content of ${id} is not the same in the new place.`);
    progress.add(1);
  }
}

async function digestOf(blobs: Blobs, id: BlobId): Promise<string | null> {
  const content = await blobs.get(id);
  if (!content) return null;
  const hash = createHash('sha256');
  for await (const piece of content as unknown as AsyncIterable<Uint8Array>) hash.update(piece);
  return hash.digest('hex');
}

export async function countBlobs(blobs: Blobs): Promise<number> {
  let count = 0;
  for await (const _ of blobs.list()) count++;
  return count;
}

interface Chunk {
  readonly source: string;
  readonly number: bigint;
  readonly text: string;
  readonly begins: bigint;
  readonly ends: bigint;
  readonly locator: string | null;
}

const CHUNKS = 'chunks';
const MOST_CHUNKS = 200;

export const countChunks = (search: Database): number =>
  Number(search.query<{ count: bigint }, []>('select count(*) as count from chunks').get()!.count);

/** Copies the texts of vector stores; their words are indexed as the other store does it. Those that are there stay. */
export async function copyChunks(
  { search, state }: { search: Database; state: Database },
  { db, target, mark, progress }: { db: Db; target: Target; mark: Mark; progress: Progress },
): Promise<void> {
  const chunks = openPostgresChunks(db);
  const storeOf = state.query<{ store_id: string }, [string]>('select store_id from indexed_files where id = ?');
  const next = search.query<Chunk, [string, number]>(
    `select source, number, text, begins, ends, ${hasLocators(search) ? 'locator' : 'null as locator'} from chunks where (source, number) > (?, ?)
     order by source, number limit ${MOST_CHUNKS}`,
  );
  let { rows, after, isDone } = mark.tables[CHUNKS] ?? { rows: 0, after: null, isDone: false };
  progress.add(rows);
  while (!isDone) {
    const [source, number] = (after ?? ['', -1]) as [string, number];
    const page = next.all(source, number);
    for (const group of Map.groupBy(page, (chunk) => chunk.source).values()) {
      const [first] = group;
      const storeId = storeOf.get(first!.source)?.store_id;
      // What is left of a file that is gone.
      if (storeId === undefined) continue;
      await chunks.add({
        ...{ source: first!.source, storeId, first: Number(first!.number), dimensions: null, vectors: 'none' },
        chunks: group.map(({ text, begins, ends, locator }) => ({
          text,
          begins: Number(begins),
          ends: Number(ends),
          locator,
          vector: null,
        })),
      });
    }
    const last = page.at(-1);
    isDone = page.length < MOST_CHUNKS;
    rows += page.length;
    after = last ? [last.source, Number(last.number)] : after;
    mark.tables[CHUNKS] = { rows, after, isDone };
    await target.transaction(() => writeMark(target, mark));
    progress.add(page.length);
  }
}

export async function verifyChunks(
  { search, state }: { search: Database; state: Database },
  target: Target,
): Promise<void> {
  const sources = search.query<{ source: string; count: bigint }, []>(
    'select source, count(*) as count from chunks group by source',
  );
  const isKnown = state.query<{ store_id: string }, [string]>('select store_id from indexed_files where id = ?');
  for (const { source, count } of sources.all()) {
    if (!isKnown.get(source)) continue;
    const [found] = await target.ask<{ count: string }>('select count(*) as count from chunks where source = $1', [
      source,
    ]);
    if (Number(found!.count) !== Number(count)) throw new Error(`Chunks of ${source} are missing in the new database.`);
  }
}
