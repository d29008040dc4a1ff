import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreFile } from '../../assistants/vector-stores/file.ts';
import type { StoreObject } from '../../assistants/vector-stores/store.ts';
import type { SyncObject, SyncProgress } from '../../assistants/vector-stores/sync.ts';
import type { List } from '../../core/list.ts';
import type { Remote } from '../remote.ts';
import type { Attributes } from './attributes.ts';
import type { FetchedFile } from './source.ts';

/** The gateway refused; the code says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly code: string | null;
  /** When it says it may be asked again; null: it does not say. */
  readonly afterMs: number | null;

  constructor(response: Response, answered: { message?: string; code?: string } | undefined, url: string) {
    super(answered?.message ?? `${url} answered ${response.status}.`);
    this.status = response.status;
    this.code = answered?.code ?? null;
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    this.afterMs = Number.isNaN(seconds) ? null : seconds * 1_000;
  }
}

/** A gateway that is started again, or a proxy before it, is waited for so long. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
const LONGEST_PAUSE_MS = 60_000;
/** A gateway that does not answer within this has died, most likely. */
const CALL_MS = 120_000;
/** For a file of half a gigabyte over a slow line. */
const UPLOAD_MS = 3_600_000;
const MAY_PASS = new Set([408, 429, 500, 502, 503, 504]);
const PAGE = 100;

/** What a sync asks of a gateway. Each call may be made twice with the effect of once, so each is tried again. */
export function gatewayAt(remote: Remote, { signal }: { signal: AbortSignal }) {
  const once = async <Answer>(path: string, init: RequestInit, limitMs: number): Promise<Answer> => {
    const response = await remote.send(path, {
      ...init,
      signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
    });
    const answer = (await response.json().catch(() => null)) as Answer & {
      error?: { message?: string; code?: string };
    };
    if (response.ok && answer) return answer;
    throw new Refused(response, answer?.error, remote.url);
  };

  const patiently = async <Answer>(path: string, init: () => RequestInit, limitMs = CALL_MS): Promise<Answer> => {
    for (let attempt = 0; ; attempt++)
      try {
        return await once<Answer>(path, init(), limitMs);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const pause = PAUSES_MS[attempt];
        const mayPass = !(error instanceof Refused) || MAY_PASS.has(error.status);
        if (pause === undefined || !mayPass) throw error;
        const afterMs = error instanceof Refused ? error.afterMs : null;
        await sleep(Math.min(Math.max(afterMs ?? 0, pause), LONGEST_PAUSE_MS), undefined, { signal });
      }
  };

  const json = <Answer>(method: string, path: string, body?: object) =>
    patiently<Answer>(path, () => ({
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }));

  async function* pages<Item extends { readonly id: string }>(path: string): AsyncGenerator<Item> {
    const separator = path.includes('?') ? '&' : '?';
    for (let after = ''; ; ) {
      const from = after && `&after=${encodeURIComponent(after)}`;
      const page = await json<List<Item>>('GET', `${path}${separator}limit=${PAGE}&order=asc${from}`);
      yield* page.data;
      const last = page.data.at(-1);
      if (!page.has_more || !last) return;
      after = last.id;
    }
  }

  const storePath = (id: string) => `/v1/vector_stores/${encodeURIComponent(id)}`;
  const syncPath = (storeId: string, syncId: string) => `${storePath(storeId)}/sync/${encodeURIComponent(syncId)}`;

  return {
    store: (id: string) => json<StoreObject>('GET', storePath(id)),
    stores: () => pages<StoreObject>('/v1/vector_stores'),
    makeStore: (name: string) => json<StoreObject>('POST', '/v1/vector_stores', { name }),
    files: (storeId: string) => pages<StoreFile>(`${storePath(storeId)}/files`),
    underWay: (storeId: string) => pages<StoreFile>(`${storePath(storeId)}/files?filter=in_progress`),
    file: (storeId: string, fileId: string) => json<StoreFile>('GET', `${storePath(storeId)}/files/${fileId}`),
    changeAttributes: (storeId: string, fileId: string, attributes: Attributes) =>
      json<StoreFile>('POST', `${storePath(storeId)}/files/${fileId}`, { attributes }),
    sync: (storeId: string) => json<SyncObject>('GET', `${storePath(storeId)}/sync`),
    begin: (storeId: string, body: { source: string; holder: string; takes_over?: string }) =>
      json<SyncObject>('POST', `${storePath(storeId)}/sync`, body),
    tell: (storeId: string, syncId: string, body: { progress: SyncProgress; status?: 'completed' | 'failed' }) =>
      json<SyncObject>('POST', syncPath(storeId, syncId), body),
    put: (storeId: string, syncId: string, path: string, file: FetchedFile, attributes: Attributes) =>
      patiently<StoreFile>(
        `${syncPath(storeId, syncId)}/files`,
        () => formOf({ path, digest: file.digest, attributes: JSON.stringify(attributes) }, file.at),
        UPLOAD_MS,
      ),
    remove: async (storeId: string, syncId: string, fileId: string): Promise<void> => {
      try {
        await json('DELETE', `${syncPath(storeId, syncId)}/files/${fileId}`);
      } catch (error) {
        // Already gone, by the answer that was lost.
        if (!(error instanceof Refused && error.status === 404)) throw error;
      }
    },
  };
}

export type SyncGateway = ReturnType<typeof gatewayAt>;

/** A form whose file is read as it is sent: many large ones may be on their way at once. */
function formOf(fields: Readonly<Record<string, string>>, at: string): RequestInit {
  const boundary = `gateway-sync-${crypto.randomUUID()}`;
  const head = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const begin = `${head.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="file"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  async function* body() {
    yield Buffer.from(begin);
    for await (const piece of Bun.file(at).stream() as unknown as AsyncIterable<Uint8Array>) yield piece;
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  return {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: streamed(body()),
  };
}

const streamed = (pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
