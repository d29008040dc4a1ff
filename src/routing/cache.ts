import { createHash } from 'node:crypto';
import { BoundedMap } from '../core/bounded-map.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';

/** An answer that is kept: what the client got, byte by byte. */
export interface CachedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** When it was made, milliseconds since the epoch. */
  readonly storedAt: number;
}

/** Where answers are kept: in memory, in the data dir or in Redis. What is lost is asked for again. */
export interface CacheStore {
  get(key: string): NowOrLater<CachedAnswer | null>;
  /** Never throws: an answer that cannot be kept is not kept. */
  set(key: string, answer: CachedAnswer, maxAgeMs: number): void;
  close(): void;
}

/** What makes two calls the same: everything that decides the answer, and the tenant. */
export interface CacheFacts {
  readonly workspaceId: string;
  readonly namespace: string | null;
  /** The virtual key, or provider, host and a hash of the caller's credential. */
  readonly target: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly metadata: Readonly<Record<string, string>> | null;
  /** What the config says of answers that are translated; null: the headers say it. */
  readonly strict: boolean | null;
  readonly body: Uint8Array | null;
}

export function cacheKey({ body, ...facts }: CacheFacts): string {
  const hash = createHash('sha256').update(JSON.stringify(facts)).update('\0');
  if (body) hash.update(body);
  return hash.digest('base64url');
}

export type CacheStatus = 'HIT' | 'MISS' | 'REFRESH' | 'DISABLED';

/** The duty to get an answer and to say how that went. */
export interface Lead {
  readonly hit: null;
  /** Keeps a complete answer. Calls that wait for it get it. */
  store(answer: CachedAnswer): void;
  /** There is nothing to keep: the next waiting call asks the provider itself. */
  giveUp(): void;
}

/** The turn of one call: an answer that is kept, or the lead. */
export type CacheTurn = { readonly hit: CachedAnswer } | Lead;

export interface AnswerCacheDeps {
  readonly store: CacheStore;
  readonly now: () => number;
  /** How long a call waits for another that asks for the same. */
  readonly patienceMs?: number;
}

/** Calls that ask for the same at the same time wait for the first of them. */
export function createAnswerCache({ store, now, patienceMs = PATIENCE_MS }: AnswerCacheDeps) {
  const underWay = new Map<string, Promise<CachedAnswer | null>>();

  const lead = (key: string, maxAgeMs: number): Lead => {
    const { promise, resolve } = Promise.withResolvers<CachedAnswer | null>();
    underWay.set(key, promise);
    let isOver = false;
    const end = (answer: CachedAnswer | null) => {
      if (isOver) return;
      isOver = true;
      if (underWay.get(key) === promise) underWay.delete(key);
      if (answer) store.set(key, answer, maxAgeMs);
      resolve(answer);
    };
    return { hit: null, store: (answer) => end(answer), giveUp: () => end(null) };
  };

  return {
    /** `refresh` passes by what is kept. `signal` ends the wait of a client that has left. */
    async turn(
      key: string,
      { maxAgeMs, refresh, signal }: { maxAgeMs: number; refresh: boolean; signal: AbortSignal },
    ): Promise<CacheTurn> {
      if (refresh) return lead(key, maxAgeMs);
      for (;;) {
        const leader = underWay.get(key);
        if (!leader) {
          const kept = await store.get(key);
          // An answer that was kept for longer than this call allows is too old for it.
          if (kept && now() - kept.storedAt < maxAgeMs) return { hit: kept };
          if (!underWay.has(key) || signal.aborted) return lead(key, maxAgeMs);
          continue;
        }
        const answer = await whenDone(leader, { signal, patienceMs });
        if (answer) return { hit: answer };
        if (answer === undefined) return lead(key, maxAgeMs);
      }
    },
    close: () => store.close(),
  };
}

export type AnswerCache = ReturnType<typeof createAnswerCache>;

/** A client that reads its answer slowly, or not at all, must not hold up other calls that ask for the same. */
const PATIENCE_MS = 30_000;

/** What came of the leader's call; undefined when it takes too long, or the waiting client has left. */
function whenDone(
  leader: Promise<CachedAnswer | null>,
  { signal, patienceMs }: { signal: AbortSignal; patienceMs: number },
): Promise<CachedAnswer | null | undefined> {
  const { promise, resolve } = Promise.withResolvers<CachedAnswer | null | undefined>();
  const giveUp = () => resolve(undefined);
  if (signal.aborted) giveUp();
  const timer = setTimeout(giveUp, patienceMs);
  signal.addEventListener('abort', giveUp);
  void leader.then(resolve);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  });
}

const MOST_BYTES = 64 << 20;

interface KeptAnswer {
  readonly answer: CachedAnswer;
  readonly until: number;
  readonly bytes: number;
}

/** Answers of this process, the least recently used ones dropped first. */
export function createMemoryCache({
  now,
  mostBytes = MOST_BYTES,
}: {
  now: () => number;
  mostBytes?: number;
}): CacheStore {
  const entries = new BoundedMap<string, KeptAnswer>(mostBytes, ({ bytes }) => bytes);
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (!entry) return null;
      if (entry.until <= now()) {
        entries.delete(key);
        return null;
      }
      entries.set(key, entry); // youngest again
      return entry.answer;
    },
    set: (key, answer, maxAgeMs) => {
      const bytes = answer.body.byteLength + headerBytes(answer) + 1_024;
      if (bytes > mostBytes / 4) return;
      entries.set(key, { answer, until: now() + maxAgeMs, bytes });
    },
    close: () => entries.clear(),
  };
}

function headerBytes({ headers }: CachedAnswer): number {
  let bytes = 0;
  for (const name in headers) bytes += name.length + headers[name]!.length;
  return bytes;
}

/** One answer as one run of bytes, for stores that keep bytes. */
export function packAnswer({ body, ...rest }: CachedAnswer): Uint8Array {
  const head = Buffer.from(JSON.stringify(rest));
  const packed = Buffer.alloc(4 + head.length + body.byteLength);
  packed.writeUInt32BE(head.length, 0);
  packed.set(head, 4);
  packed.set(body, 4 + head.length);
  return packed;
}

export function unpackAnswer(packed: Uint8Array): CachedAnswer | null {
  try {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    const length = bytes.readUInt32BE(0);
    const rest = JSON.parse(bytes.toString('utf8', 4, 4 + length)) as Omit<CachedAnswer, 'body'>;
    return { ...rest, body: bytes.subarray(4 + length) };
  } catch {
    return null;
  }
}
