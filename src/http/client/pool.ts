import type { TLSOptions } from 'bun';
import { turnTime } from '../../core/clock.ts';
import { type ClientTls, tlsOptions } from '../client-tls.ts';
import type { Destination } from '../egress.ts';
import type { ProxyServer } from '../proxy.ts';
import { Connection, type ConnectionOwner, type ConnectionUser } from './connection.ts';

const IDLE_PER_ENDPOINT = 256;
const IDLE_IN_ALL = 1_024;
const ENDPOINTS = 1_000;
/**
 * A connection that is being made cannot be called off. When so many of them have lost their users, the next user takes
 * one of those over: a host that swallows packets holds on to a few sockets, not to one per call.
 */
const UNCLAIMED_PER_ENDPOINT = 64;
/** In the form of the TLS extension: the length, then the name. Nothing else is spoken here. */
const ALPN = Buffer.from('\x08http/1.1', 'latin1');
const SWEEP_MS = 1_000;

/** Connections to many servers, kept for as long as both sides like, the one that was used last first. */
export class Pool {
  readonly #endpoints = new Map<string, Endpoint>();
  #last: { readonly destination: Destination; readonly endpoint: Endpoint } | null = null;
  #idle = 0;
  #sweeping: ReturnType<typeof setInterval> | null = null;

  /** Gives the user a connection, at once when there is an idle one and it may be used. */
  connect(user: ConnectionUser, destination: Destination, { isFresh }: { isFresh: boolean }): Connection {
    const endpoint = this.#endpointOf(destination);
    const kept = isFresh ? null : endpoint.take();
    if (!kept) return endpoint.dial(user);
    kept.user = user;
    user.connected(kept);
    return kept;
  }

  /** Counts one idle connection more, unless there are enough. */
  admit(): boolean {
    if (this.#idle >= IDLE_IN_ALL) return false;
    this.#idle++;
    this.#sweeping ??= this.#startSweeping();
    return true;
  }

  release(): void {
    this.#idle--;
  }

  #startSweeping() {
    const timer = setInterval(() => {
      const now = performance.now();
      for (const endpoint of this.#endpoints.values()) endpoint.sweep(now);
      if (this.#idle > 0) return;
      clearInterval(timer);
      this.#sweeping = null;
    }, SWEEP_MS);
    timer.unref();
    return timer;
  }

  #endpointOf(destination: Destination): Endpoint {
    // Most calls go where the last one went, and the egress policy says so with the same object.
    if (this.#last?.destination !== destination) this.#last = { destination, endpoint: this.#find(destination) };
    return this.#last.endpoint;
  }

  #find({ origin, serverName = '', via, tls }: Destination): Endpoint {
    // The name belongs to the key: a connection vouches only for the name whose certificate was checked on it. So does the
    // way: two names may share an address, and only one of them be excepted from the proxy. So does the client certificate:
    // the server takes what comes on a connection for the word of who showed it.
    const key = `${origin} ${serverName} ${via?.host ?? ''} ${tls?.id ?? ''}`;
    let endpoint = this.#endpoints.get(key);
    if (!endpoint) {
      endpoint = new Endpoint(this, { origin, serverName, via: via ?? null, tls: tls ?? null });
      if (this.#endpoints.size >= ENDPOINTS)
        for (const [old, each] of this.#endpoints) if (each.isEmpty) this.#endpoints.delete(old);
      this.#endpoints.set(key, endpoint);
    }
    return endpoint;
  }
}

interface EndpointOptions {
  readonly origin: string;
  readonly serverName: string;
  readonly via: ProxyServer | null;
  readonly tls: ClientTls | null;
}

/** One server: the address that is dialled and the name that its certificate carries. */
class Endpoint implements ConnectionOwner {
  readonly hostname: string;
  readonly port: number;
  readonly tls: TLSOptions | null;
  readonly via: ProxyServer | null;
  readonly #pool: Pool;
  readonly #idle: Connection[] = [];
  readonly #unclaimed = new Set<Connection>();

  constructor(pool: Pool, { origin, serverName, via, tls: own }: EndpointOptions) {
    const { protocol, hostname, port } = new URL(origin);
    const isSecure = protocol === 'https:';
    this.#pool = pool;
    this.via = via;
    this.hostname = hostname.replace(/^\[|\]$/g, '');
    this.port = Number(port) || (isSecure ? 443 : 80);
    // Without a name, the host that is dialled is the name. Said aloud, because an environment variable could undo it.
    const tls = { ALPNProtocols: ALPN, rejectUnauthorized: true, ...(own && tlsOptions(own)) };
    this.tls = isSecure ? (serverName ? { ...tls, serverName } : tls) : null;
  }

  get isEmpty(): boolean {
    return this.#idle.length === 0 && this.#unclaimed.size === 0;
  }

  take(): Connection | null {
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      this.#pool.release();
      if (kept.isOpen && kept.idleUntil > turnTime()) return kept;
      kept.destroy();
    }
    return null;
  }

  dial(user: ConnectionUser): Connection {
    if (this.#unclaimed.size < UNCLAIMED_PER_ENDPOINT) return new Connection(this, user);
    const [oldest] = this.#unclaimed;
    this.#unclaimed.delete(oldest!);
    oldest!.user = user;
    return oldest!;
  }

  /** The user of a connection that is being made has left. */
  unclaimed(connection: Connection): void {
    this.#unclaimed.add(connection);
  }

  idle(connection: Connection, keepMs: number): void {
    this.#unclaimed.delete(connection);
    if (this.#idle.length >= IDLE_PER_ENDPOINT || !this.#pool.admit()) {
      connection.destroy();
      return;
    }
    connection.idleUntil = turnTime() + keepMs;
    this.#idle.push(connection);
  }

  lost(connection: Connection): void {
    this.#unclaimed.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place < 0) return;
    this.#idle.splice(place, 1);
    this.#pool.release();
  }

  sweep(now: number): void {
    for (let place = this.#idle.length - 1; place >= 0; place--) {
      const connection = this.#idle[place]!;
      if (connection.idleUntil > now) continue;
      this.#idle.splice(place, 1);
      this.#pool.release();
      connection.destroy();
    }
  }
}
