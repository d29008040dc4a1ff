import { fail, GatewayError } from '../core/errors.ts';
import type { Destination, EgressPolicy } from './egress.ts';

/** How long each part of an exchange may take, in milliseconds; 0 means without limit. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the answer's headers, from the last piece of the request that the provider took. */
  readonly firstByteMs: number;
  /** Between two pieces of the answer's body; time in which nobody asks for the next piece does not count. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Aborting it ends the exchange at once, before and after the first byte. */
  readonly signal?: AbortSignal;
  readonly timeouts: Timeouts;
  /** False: never send twice, whatever the connection did, and use a connection of its own. */
  readonly resend?: boolean;
}

/** Status and headers, then the body piece by piece. `read` answers null at the end and throws `UpstreamFailure`. */
export interface Incoming {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  read(): Promise<Uint8Array | null>;
  /** The whole body, for answers known to be small. */
  bytes(): Promise<Uint8Array>;
  /** Ends the exchange and its connection; harmless when it has ended already. */
  cancel(): void;
}

export type Phase = 'connect' | 'first byte' | 'body' | 'total';

/** What went wrong on the way to a provider, and whether the request may have been carried out. */
export class UpstreamFailure extends Error {
  readonly host: string;
  readonly phase: Phase;
  readonly kind: 'unreachable' | 'timeout' | 'broken' | 'aborted';
  readonly sent: 'no' | 'maybe';
  readonly limitMs: number;

  constructor(facts: {
    host: string;
    phase: Phase;
    kind: UpstreamFailure['kind'];
    sent: 'no' | 'maybe';
    why: string;
    limitMs?: number;
  }) {
    super(facts.why);
    this.name = 'UpstreamFailure';
    this.host = facts.host;
    this.phase = facts.phase;
    this.kind = facts.kind;
    this.sent = facts.sent;
    this.limitMs = facts.limitMs ?? 0;
  }

  /** The answer a client gets when nothing else is tried. */
  toGatewayError(): GatewayError {
    if (this.kind === 'timeout') return new GatewayError('upstream_timeout', [this.host, this.phase, this.limitMs]);
    if (this.sent === 'no') return new GatewayError('upstream_unreachable', [this.host, this.message]);
    return new GatewayError('upstream_failed', [this.host, this.message]);
  }
}

/**
 * The one way out: sends a request through the egress policy and answers with a stream of bytes. Nothing is decompressed,
 * no redirect is followed, no body is held in memory. Behind this contract stands Bun's fetch and could stand another client.
 */
export interface Upstream {
  send(outgoing: Outgoing): Promise<Incoming>;
  /** Exchanges that have not ended. */
  readonly open: number;
}

/** A server that closes an idle connection just as we use it fails at once; one that worked on the request fails later. */
const STALE_CONNECTION_MS = 50;
/** A host that answered this recently is not asked whether it can be reached. */
const KNOWN_GOOD_MS = 30_000;
const TICK_MS = 50;

export function createUpstream({ egress }: { egress: EgressPolicy }): Upstream {
  const exchanges = new Set<Exchange>();
  const lastAnswer = new Map<string, number>();
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

  const open = (outgoing: Outgoing, destination: Destination): Exchange => {
    const known = performance.now() - (lastAnswer.get(destination.origin) ?? Number.NEGATIVE_INFINITY) < KNOWN_GOOD_MS;
    const exchange = new Exchange(outgoing, destination, known, ended);
    watch(exchange);
    return exchange;
  };
  const ended = (exchange: Exchange) => exchanges.delete(exchange);

  const remember = ({ origin }: Destination) => {
    if (lastAnswer.size > 1_000) lastAnswer.clear();
    lastAnswer.set(origin, performance.now());
  };

  return {
    get open() {
      return exchanges.size;
    },
    send: async (outgoing) => {
      const admitted = egress.admit(outgoing.url);
      const destination = admitted instanceof Promise ? await admitted : admitted;
      if (outgoing.signal?.aborted) throw aborted(hostOf(destination), 'first byte', 'no');
      if (destination.host) outgoing.headers.set('host', destination.host);
      const url = destination.origin + outgoing.url.slice(originLength(outgoing.url));
      const started = performance.now();
      for (let isFirst = true; ; isFirst = false) {
        const exchange = open(outgoing, destination);
        try {
          await exchange.send(url);
          remember(destination);
          return exchange;
        } catch (error) {
          if (!isFirst || !mayResend(error, outgoing, performance.now() - started)) throw error;
        }
      }
    },
  };
}

function mayResend(error: unknown, outgoing: Outgoing, elapsedMs: number): boolean {
  if (!(error instanceof UpstreamFailure) || outgoing.resend === false || outgoing.body instanceof ReadableStream)
    return false;
  if (error.kind !== 'broken') return false;
  return elapsedMs < STALE_CONNECTION_MS;
}

/** Everything up to the path of an absolute URL. */
function originLength(url: string): number {
  const start = url.indexOf('://') + 3;
  for (let index = start; index < url.length; index++) {
    const character = url.charCodeAt(index);
    if (character === 47 || character === 63 || character === 35) return index;
  }
  return url.length;
}

/** What Bun's fetch takes beyond the standard. */
interface FetchOptions {
  method: string;
  headers: Headers;
  body: Outgoing['body'];
  signal: AbortSignal;
  redirect: 'manual';
  decompress: false;
  timeout: false;
  keepalive?: false;
  tls?: { serverName: string };
}

const NO_HEADERS = new Headers();
const EMPTY = { read: async () => ({}) };

const hostOf = (destination: Destination) =>
  destination.host ?? destination.origin.slice(destination.origin.indexOf('://') + 3);

const aborted = (host: string, phase: Phase, sent: 'no' | 'maybe') =>
  new UpstreamFailure({ host, phase, kind: 'aborted', sent, why: 'the caller ended the request' });

/** One request and its answer, with its deadlines. It is its own `Incoming`: one object less for every call. */
class Exchange implements Incoming {
  status = 0;
  statusText = '';
  headers = NO_HEADERS;
  readonly #outgoing: Outgoing;
  readonly #destination: Destination;
  readonly #ended: (exchange: Exchange) => void;
  readonly #abort = new AbortController();
  readonly #started = performance.now();
  #phase: Phase = 'first byte';
  #deadline = Number.POSITIVE_INFINITY;
  #probeAt = Number.POSITIVE_INFINITY;
  #failure: UpstreamFailure | null = null;
  #isOver = false;
  #onAbort: (() => void) | null = null;
  #response: Response | null = null;
  #reader: { read(): Promise<{ value?: Uint8Array }> } | null = null;

  constructor(outgoing: Outgoing, destination: Destination, isKnownGood: boolean, ended: (exchange: Exchange) => void) {
    this.#outgoing = outgoing;
    this.#destination = destination;
    this.#ended = ended;
    const { connectMs, firstByteMs } = outgoing.timeouts;
    if (firstByteMs > 0) this.#deadline = this.#started + firstByteMs;
    if (connectMs > 0 && !isKnownGood) this.#probeAt = this.#started + connectMs / 2;
    const { signal } = outgoing;
    if (signal) {
      this.#onAbort = () => this.#stop(aborted(this.#host, this.#phase, 'maybe'));
      signal.addEventListener('abort', this.#onAbort);
    }
  }

  get #host() {
    return hostOf(this.#destination);
  }

  /** Resolves when the answer's headers are there. */
  async send(url: string): Promise<void> {
    const { method, headers, body, resend } = this.#outgoing;
    const { serverName } = this.#destination;
    const options: FetchOptions = {
      method,
      headers,
      body: body instanceof ReadableStream ? this.#watched(body) : body,
      signal: this.#abort.signal,
      redirect: 'manual',
      decompress: false,
      timeout: false,
    };
    if (resend === false) options.keepalive = false;
    if (serverName) options.tls = { serverName };
    let response: Response;
    try {
      response = await fetch(url, options as RequestInit);
    } catch (error) {
      const failure = this.#failure ?? classify(error, this.#host);
      this.#end();
      throw failure;
    }
    if (this.#failure) {
      this.#end();
      throw this.#failure;
    }
    this.#phase = 'body';
    this.#probeAt = Number.POSITIVE_INFINITY;
    this.#deadline = Number.POSITIVE_INFINITY;
    this.#response = response;
    this.status = response.status;
    this.statusText = response.statusText;
    this.headers = response.headers;
  }

  async read(): Promise<Uint8Array | null> {
    try {
      if (this.#failure) throw this.#failure;
      this.#reader ??= this.#response?.body?.getReader() ?? EMPTY;
      this.#allow('body', this.#outgoing.timeouts.idleMs);
      const { value } = await this.#reader.read();
      this.#allow('body', 0);
      if (value) return value;
      this.#end();
      return null;
    } catch (error) {
      throw this.#brokenOff(error);
    }
  }

  async bytes(): Promise<Uint8Array> {
    try {
      this.#allow('body', this.#outgoing.timeouts.idleMs);
      const bytes = await this.#response!.bytes();
      this.#end();
      return bytes;
    } catch (error) {
      throw this.#brokenOff(error);
    }
  }

  cancel(): void {
    this.#stop(aborted(this.#host, this.#phase, 'maybe'));
  }

  #brokenOff(error: unknown): UpstreamFailure {
    const failure = this.#failure ?? broken(this.#host, 'body', error);
    this.#end();
    return failure;
  }

  /** An upload may take longer than any answer: the limit runs only while the provider has the next move. */
  #watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          this.#allow('first byte', 0);
          try {
            const { value } = await reader.read();
            this.#allow('first byte', this.#outgoing.timeouts.firstByteMs);
            if (value) controller.enqueue(value);
            else controller.close();
          } catch (error) {
            controller.error(error);
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  tick(now: number) {
    const { totalMs, idleMs, firstByteMs } = this.#outgoing.timeouts;
    if (totalMs > 0 && now - this.#started > totalMs) this.#stop(this.#timeout('total', totalMs));
    else if (now > this.#deadline)
      this.#stop(this.#timeout(this.#phase, this.#phase === 'body' ? idleMs : firstByteMs));
    else if (now > this.#probeAt) this.#probe();
  }

  /**
   * fetch does not say when it has connected. A host that has not answered for half the connect limit is dialled beside
   * it: if that fails too within the other half, the connection was never made and nothing was sent.
   */
  #probe() {
    this.#probeAt = Number.POSITIVE_INFINITY;
    const { connectMs } = this.#outgoing.timeouts;
    const { hostname, port, protocol } = new URL(this.#destination.origin);
    const fails = (kind: 'unreachable' | 'timeout', why: string) => {
      if (this.#phase !== 'first byte') return;
      const facts = { host: this.#host, phase: 'connect', sent: 'no', limitMs: connectMs } as const;
      this.#stop(new UpstreamFailure({ ...facts, kind, why }));
    };
    const unreachable = (why: string) => fails('unreachable', why);
    let isSettled = false;
    const settle = (work: () => void) => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      work();
    };
    const timer = setTimeout(
      () => settle(() => fails('timeout', `no connection within ${connectMs} ms`)),
      connectMs / 2,
    );
    Bun.connect({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      socket: {
        open: (socket) => {
          socket.terminate();
          settle(() => {});
        },
        data: () => {},
        connectError: (_socket, error) => settle(() => unreachable(error.message)),
      },
    }).catch((error: Error) => settle(() => unreachable(error.message)));
  }

  #timeout(phase: Phase, limitMs: number) {
    return new UpstreamFailure({
      host: this.#host,
      phase,
      kind: 'timeout',
      sent: 'maybe',
      why: `${phase} timed out`,
      limitMs,
    });
  }

  /** Gives the current phase so much time from now; 0: all the time there is. */
  #allow(phase: Phase, limitMs: number) {
    // A provider may answer while it is still being sent to.
    if (phase !== this.#phase) return;
    this.#deadline = limitMs > 0 ? performance.now() + limitMs : Number.POSITIVE_INFINITY;
  }

  #stop(failure: UpstreamFailure) {
    if (this.#isOver) return;
    this.#failure ??= failure;
    this.#end();
    this.#abort.abort();
  }

  #end() {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#onAbort) this.#outgoing.signal?.removeEventListener('abort', this.#onAbort);
    this.#ended(this);
  }
}

const NEVER_SENT =
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EADDRNOTAVAIL|DNS)/;
const TLS_REFUSED = /CERT|TLS|SSL|SIGNATURE|UNABLE_TO|SELF_SIGNED/i;

function classify(error: unknown, host: string): UpstreamFailure | GatewayError {
  // What the request's own body failed with comes out of fetch as it is.
  if (error instanceof GatewayError) return error;
  const code = String((error as { code?: unknown })?.code ?? '');
  if (NEVER_SENT.test(code)) {
    return new UpstreamFailure({
      host,
      phase: 'connect',
      kind: 'unreachable',
      sent: 'no',
      why: 'the connection was refused or could not be opened',
    });
  }
  if (TLS_REFUSED.test(code)) {
    return new UpstreamFailure({
      host,
      phase: 'connect',
      kind: 'unreachable',
      sent: 'no',
      why: `its certificate was not accepted (${code})`,
    });
  }
  return broken(host, 'first byte', error);
}

function broken(host: string, phase: Phase, error: unknown): UpstreamFailure {
  const code = String((error as { code?: unknown })?.code ?? (error as Error)?.name ?? 'unknown');
  return new UpstreamFailure({ host, phase, kind: 'broken', sent: 'maybe', why: `the connection ended (${code})` });
}

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
    headers: { 'content-type': incoming.headers.get('content-type') ?? '' },
  });
}
