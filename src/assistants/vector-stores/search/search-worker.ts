import type { Db } from '../../../storage/store.ts';
import { openEmbeddedChunks } from './thread/embedded.ts';
import type { ChunkPlace, SearchThread, ThreadReply, ThreadRequest } from './thread/requests.ts';

declare const self: Worker;

let opened: Promise<SearchThread> | null = null;

/** Does what would hold up all requests if the event loop did it: finding words, and looking at vectors. */
self.onmessage = async ({ data: { id, place, operation, given } }: MessageEvent<ThreadRequest>) => {
  try {
    opened ??= open(place);
    const chunks = (await opened) as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>;
    self.postMessage({ id, result: await chunks[operation]!(...given) } satisfies ThreadReply);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    self.postMessage({ id, fault: message, code: String(code ?? '') } satisfies ThreadReply);
  }
};

/** Each brings its driver only when it is needed. */
async function open(place: ChunkPlace): Promise<SearchThread> {
  if (place.engine === 'sqlite') return openEmbeddedChunks(place);
  const [{ Kysely }, { postgresDialect }, { openPostgresChunks }] = await Promise.all([
    import('kysely'),
    import('../../../storage/postgres.ts'),
    import('./thread/postgres.ts'),
  ]);
  const db: Db = new Kysely({ dialect: postgresDialect(place.url, { connections: 2 }) });
  return openPostgresChunks(db);
}
