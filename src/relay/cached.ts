import { flagOf, headerOf, sentHeaders } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import { type AnswerCache, type CachedAnswer, type CacheStatus, cacheKey, type Lead } from '../routing/cache.ts';
import { endsInFailure } from '../telemetry/stream-failure.ts';
import type { Exchange, OpenCall, Prepared } from './call.ts';

/** Calls whose answer depends on nothing but what is asked. Others make or change something at the provider. */
const CACHEABLE =
  /(?:^|\/)(?:chat\/completions|completions|embeddings|messages|responses|rerank|moderations|images\/generations)$|:(?:generateContent|streamGenerateContent|embedContent|batchEmbedContents)$/;
/** Headers that change what a provider answers. */
const DECIDING =
  /^(?:accept|accept-encoding|x-gateway-strict-open-ai-compliance|x-gateway-drop-params|(?:anthropic|openai)-.*)$/;
const LARGEST = 4 << 20;

export interface Cached {
  readonly status: CacheStatus;
  /** Null: no answer is kept, and this call says how asking for one went. */
  readonly hit: CachedAnswer | null;
  readonly turn: Lead | null;
}

const DISABLED: Cached = { status: 'DISABLED', hit: null, turn: null };

/** Looks for an answer that is kept, or takes the turn of getting one. */
export async function lookUp({ call, target, settings, prepared }: Exchange, cache: AnswerCache): Promise<Cached> {
  const { body } = prepared;
  if (!settings.cache || call.request.method !== 'POST' || body?.rest || !CACHEABLE.test(call.path)) return DISABLED;
  const refresh = flagOf(call.headers, 'x-gateway-cache-force-refresh') ?? false;
  const key = cacheKey({
    workspaceId: call.principal.workspaceId,
    namespace: headerOf(call.headers, 'x-gateway-cache-namespace'),
    target: target.identity,
    method: call.request.method,
    path: call.path + call.search,
    headers: Object.entries(call.headers).filter(
      ([name]) => DECIDING.test(name) || settings.forwardHeaders?.includes(name),
    ),
    metadata: call.log.metadata,
    strict: settings.strict,
    body: asked(call, prepared),
  });
  const { maxAgeMs } = settings.cache;
  const turn = await cache.turn(key, { maxAgeMs, refresh, signal: call.request.signal });
  return turn.hit
    ? { status: 'HIT', hit: turn.hit, turn: null }
    : { status: refresh ? 'REFRESH' : 'MISS', hit: null, turn };
}

/**
 * What decides the answer: the body as it is sent. Where it goes to another address or is translated, that address and the
 * client's own words, too: the model or the wish for a stream may stand in the address alone, and two clients may want
 * the same answer in different forms.
 */
function asked({ path: own, body: given }: OpenCall, { path, search, body, translation }: Prepared): Uint8Array | null {
  if (!body || !given || (path === own && !translation)) return body?.head ?? null;
  return Buffer.concat([Buffer.from(`${path}${search}\n`), body.head, given.head]);
}

/** An answer that is kept, seen like a provider's. */
export function replay({ status, headers, body }: CachedAnswer): Incoming {
  let rest: Uint8Array | null = body;
  const take = () => {
    const piece = rest;
    rest = null;
    // Its receiver may give the bytes away.
    return piece && piece.byteLength > 0 ? piece.slice() : null;
  };
  return {
    status,
    statusText: '',
    headers: new Headers(headers),
    read: async () => take(),
    bytes: async () => take() ?? new Uint8Array(),
    cancel: () => {
      rest = null;
    },
  };
}

/** Passes a good answer on and keeps it when it came to its end whole. Errors are never kept. */
export function keeping(incoming: Incoming, turn: Lead, now: () => number): Incoming {
  if (incoming.status !== 200) {
    turn.giveUp();
    return incoming;
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (piece: Uint8Array) => {
    size += piece.byteLength;
    if (size <= LARGEST) pieces.push(piece.slice());
    else turn.giveUp();
  };
  const end = () => {
    if (size > LARGEST) return;
    const { 'set-cookie': _cookie, ...headers } = sentHeaders(incoming.headers);
    const body = Buffer.concat(pieces);
    // A provider that fails in the middle says so inside its stream.
    if (endsInFailure(headers['content-type'] ?? '', body)) return turn.giveUp();
    turn.store({ status: incoming.status, headers, body, storedAt: now() });
  };
  const guarded = async <Value>(work: Promise<Value>): Promise<Value> => {
    try {
      return await work;
    } catch (error) {
      turn.giveUp();
      throw error;
    }
  };
  return {
    status: incoming.status,
    statusText: incoming.statusText,
    headers: incoming.headers,
    read: async () => {
      const piece = await guarded(incoming.read());
      if (piece) add(piece);
      else end();
      return piece;
    },
    bytes: async () => {
      const bytes = await guarded(incoming.bytes());
      add(bytes);
      end();
      return bytes;
    },
    cancel: () => {
      turn.giveUp();
      incoming.cancel();
    },
  };
}
