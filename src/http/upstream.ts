import { fail } from '../core/errors.ts';
import type { HeaderMap } from '../core/header-map.ts';
import { aborted, Exchange, hostOf } from './client/exchange.ts';
import { Pool } from './client/pool.ts';
import type { ClientTls } from './client-tls.ts';
import { type Destination, type EgressPolicy, withTls } from './egress.ts';
import { type SentHeaders, sentHeaders } from './headers.ts';

export { type Phase, UpstreamFailure } from './client/failure.ts';

/** How long each part of an exchange may take, in milliseconds; 0 means without limit. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the answer's headers, from the last piece of the request that the provider took. */
  readonly firstByteMs: number;
  /** Between two pieces of the answer's body; time in which the reader does not ask for a piece does not count. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderMap;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Aborting it ends the exchange at once, before and after the first byte. */
  readonly signal?: AbortSignal;
  /**
   * Aborting a call that is younger than a tick (50 ms) ends it at that tick. Most calls are over by then, and have spared
   * the listening, which costs as much as reading the answer's head.
   */
  readonly isHeededLate?: boolean;
  readonly timeouts: Timeouts;
  /** Who the gateway is to the server, and who may vouch for the server. Connections are not shared with others. */
  readonly tls?: ClientTls | undefined;
  /** False: never send twice, whatever the connection did, and use a connection of its own. */
  readonly resend?: boolean;
}

/** Status and headers, then the body piece by piece. `read` answers null at the end and throws `UpstreamFailure`. */
export interface Incoming {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  /** The same as plain data, where they came so: reading these spares making `Headers` of them. */
  readonly fields?: SentHeaders;
  /** How long it took to make a connection, in milliseconds; null: there was one. */
  readonly connectMs?: number | null;
  read(): Promise<Uint8Array | null>;
  /** The whole body, for answers known to be small. */
  bytes(): Promise<Uint8Array>;
  /** Ends the exchange and its connection; harmless when it has ended already. */
  cancel(): void;
}

/** The headers of an answer as plain data, by the shortest way. */
export const receivedHeaders = (incoming: Incoming): SentHeaders => incoming.fields ?? sentHeaders(incoming.headers);

/**
 * The one way out: sends a request through the egress policy and answers with a stream of bytes. Nothing is decompressed,
 * no redirect is followed, no body is held in memory. Behind this contract stands the client in `client/` (HTTP/1.1 only)
 * and could stand another one.
 */
export interface Upstream {
  send(outgoing: Outgoing): Promise<Incoming>;
  /** Exchanges that have not ended. */
  readonly open: number;
}

/** A server that closes an idle connection just as we use it fails at once; one that worked on the request fails later. */
const STALE_CONNECTION_MS = 50;
const TICK_MS = 50;

export function createUpstream({ egress }: { egress: EgressPolicy }): Upstream {
  const pool = new Pool();
  const exchanges = new Set<Exchange>();
  let ticking: ReturnType<typeof setInterval> | null = null;

  // One coarse clock for every open exchange: a timer per chunk would cost more than relaying the chunk.
  const watch = (exchange: Exchange) => {
    exchanges.add(exchange);
    ticking ??= setInterval(() => {
      const now = performance.now();
      for (const each of exchanges) each.tick(now);
      if (exchanges.size === 0 && ticking) {
        clearInterval(ticking);
        ticking = null;
      }
    }, TICK_MS);
  };
  const ended = (exchange: Exchange) => exchanges.delete(exchange);

  const begin = (outgoing: Outgoing, destination: Destination, isFresh: boolean): Promise<Exchange> => {
    if (outgoing.signal?.aborted) return Promise.reject(aborted(hostOf(destination), 'connect', 'no'));
    const exchange = new Exchange(outgoing, destination, ended);
    watch(exchange);
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) => {
        if (isFresh || !mayResend(exchange, outgoing)) reject(error);
        else begin(outgoing, destination, true).then(resolve, reject);
      };
      exchange.send(pool, { isFresh }, resolve, failed);
    });
  };

  return {
    get open() {
      return exchanges.size;
    },
    send: async (outgoing) => {
      const destination = await egress.admit(outgoing.url);
      const { tls } = outgoing;
      return begin(outgoing, tls ? withTls(destination, tls) : destination, outgoing.resend === false);
    },
  };
}

const mayResend = ({ looksStale, elapsedMs }: Exchange, { body }: Outgoing): boolean =>
  looksStale && !(body instanceof ReadableStream) && elapsedMs < STALE_CONNECTION_MS;

/** For calls the gateway makes on its own behalf (tokens, key sets): one small JSON answer, bounded in size and time. */
export async function fetchSmall(
  upstream: Upstream,
  url: string,
  init: {
    method?: string;
    headers?: RequestInit['headers'];
    body?: RequestInit['body'];
    timeoutMs?: number;
    maxBytes?: number;
    tls?: ClientTls;
  } = {},
): Promise<Response> {
  const { method = 'GET', body, timeoutMs = 10_000, maxBytes = 1 << 20 } = init;
  const headers = new Headers(init.headers);
  headers.set('accept-encoding', 'identity');
  const incoming = await upstream.send({
    method,
    url,
    headers,
    body: body === undefined || body === null ? null : await new Response(body).bytes(),
    tls: init.tls,
    timeouts: { connectMs: timeoutMs, firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
  });
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > maxBytes) {
      incoming.cancel();
      fail('upstream_failed', new URL(url).host, `its answer is larger than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  return new Response(Buffer.concat(pieces), {
    status: incoming.status,
    headers: {
      'content-type': incoming.headers.get('content-type') ?? '',
      'cache-control': incoming.headers.get('cache-control') ?? '',
    },
  });
}
