import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, type TLSSocket } from 'node:tls';
import type { TLSOptions } from 'bun';
import type { ProxyServer } from '../proxy.ts';

/** What a connection needs of its socket, be it Bun's own or one inside a tunnel. */
export interface Wire {
  /** How many of the bytes were taken. */
  write(bytes: Uint8Array, offset?: number, length?: number): number;
  pause(): unknown;
  resume(): unknown;
  /** Ends it when what was written has gone out. */
  end(): unknown;
  terminate(): unknown;
  setKeepAlive(isOn: boolean, afterMs: number): unknown;
  unref(): unknown;
  /** Whether the certificate of the other side was checked and found right. */
  readonly authorized: boolean;
}

/** The proxy cannot be reached, or does not connect us. The text names it, without its credentials. */
export class ProxyFailure extends Error {}

/** Who uses a tunnel. First `opened` or `failed`, then the rest. */
export interface TunnelUser {
  /** Everything is done: where the server speaks TLS, its certificate has been checked. */
  opened(wire: Wire): void;
  failed(error: unknown, during: 'handshake' | 'connection'): void;
  heard(bytes: Buffer): void;
  drained(): void;
  closed(error: Error | null): void;
}

interface Target {
  readonly hostname: string;
  readonly port: number;
  /** Null: a plain connection inside the tunnel. */
  readonly tls: Pick<TLSOptions, 'serverName' | 'cert' | 'key' | 'ca'> | null;
}

/** What the gateway shows the server, and who may vouch for that. */
const ownIn = ({ cert, key, ca }: NonNullable<Target['tls']>) =>
  ({ ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) }) as Pick<ConnectionOptions, 'cert' | 'key' | 'ca'>;

const LARGEST_HEAD = 16 << 10;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
// Said aloud, because an environment variable could undo it.
const VERIFIED = { rejectUnauthorized: true } as const;

/**
 * A connection to a server through a proxy: CONNECT (RFC 9110, 9.3.6), then whatever the server speaks, TLS included. By
 * way of Node's sockets, because a TLS connection inside another one, to a proxy with a certificate, is more than Bun's
 * own can do.
 */
export class Tunnel {
  readonly #user: TunnelUser;
  readonly #sockets: Socket[] = [];
  #isCut = false;

  constructor(proxy: ProxyServer, target: Target, user: TunnelUser) {
    this.#user = user;
    this.#sockets.push(
      askProxy(proxy, target, {
        made: (socket) => this.#made(socket, target),
        failed: (error) => this.#fail(error, 'connection'),
      }),
    );
  }

  /** Ends it at once, whatever is under way. Its user is not told. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A tunnel does not keep the process alive, the sockets inside each other included. */
  unref(): void {
    for (const socket of this.#sockets) socket.unref();
  }

  #made(socket: Socket, { hostname, tls }: Target) {
    if (this.#isCut) return void socket.destroy();
    if (tls === null) return this.#open(socket);
    const secure = connectSecurely({
      ...{ ...VERIFIED, socket, host: hostname, ALPNProtocols: ['http/1.1'] },
      ...servedAs(tls.serverName ?? hostname),
      ...ownIn(tls),
    });
    this.#sockets.unshift(secure);
    const fail = (error: Error) => this.#fail(error, 'handshake');
    const ended = () => this.#fail(null, 'connection');
    secure.once('error', fail);
    secure.once('close', ended);
    secure.once('secureConnect', () => {
      secure.off('error', fail);
      secure.off('close', ended);
      if (this.#isCut) return;
      if (secure.authorized) this.#open(secure);
      else fail(secure.authorizationError ?? new Error('not verified'));
    });
  }

  #open(socket: Socket) {
    let failure: Error | null = null;
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      if (this.#isCut) return;
      this.cut();
      this.#user.closed(failure);
    });
    this.#user.opened(new TunnelWire(socket, this));
    if (this.#isCut) return;
    socket.on('drain', () => !this.#isCut && this.#user.drained());
    socket.on('data', (bytes: Buffer) => !this.#isCut && this.#user.heard(bytes));
  }

  #fail(error: unknown, during: 'handshake' | 'connection') {
    if (this.#isCut) return;
    this.cut();
    this.#user.failed(error, during);
  }
}

class TunnelWire implements Wire {
  readonly #socket: Socket;
  readonly #tunnel: Tunnel;

  constructor(socket: Socket, tunnel: Tunnel) {
    this.#socket = socket;
    this.#tunnel = tunnel;
    socket.setNoDelay(true);
  }

  get authorized(): boolean {
    return (this.#socket as Partial<TLSSocket>).authorized === true;
  }

  write(bytes: Uint8Array, offset = 0, length = bytes.byteLength - offset): number {
    if (this.#socket.destroyed || this.#socket.writableNeedDrain) return 0;
    // Node's sockets keep what they are given until it has gone out, and the giver may write over it.
    this.#socket.write(Buffer.from(bytes.subarray(offset, offset + length)));
    return length;
  }

  pause() {
    this.#socket.pause();
  }

  resume() {
    this.#socket.resume();
  }

  end() {
    this.#socket.destroySoon();
  }

  terminate() {
    this.#tunnel.cut();
  }

  setKeepAlive(isOn: boolean, afterMs: number) {
    this.#socket.setKeepAlive(isOn, afterMs);
  }

  unref() {
    this.#tunnel.unref();
  }
}

/** The plain socket of a tunnel, for what speaks no HTTP. Throws `ProxyFailure`. */
export function openTunnel(
  proxy: ProxyServer,
  server: { readonly hostname: string; readonly port: number },
  withinMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const tooLate = () => {
      socket.destroy();
      reject(new ProxyFailure(`the proxy ${proxy.host} did not answer within ${withinMs} ms`));
    };
    const timer = setTimeout(tooLate, withinMs);
    const settled =
      <Value>(settle: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        settle(value);
      };
    const socket = askProxy(proxy, server, { made: settled(resolve), failed: settled(reject) });
  });
}

/** Dials the proxy and asks it for a connection. The socket that is answered leads to the proxy until it is `made`. */
function askProxy(
  proxy: ProxyServer,
  { hostname, port }: { readonly hostname: string; readonly port: number },
  { made, failed }: { made(socket: Socket): void; failed(error: ProxyFailure): void },
): Socket {
  const { isSecure, host } = proxy;
  const server = { host: proxy.hostname, port: proxy.port };
  const socket: Socket = isSecure
    ? connectSecurely({ ...server, ...VERIFIED, ...servedAs(proxy.hostname) })
    : connect(server);
  let head = Buffer.alloc(0);
  const listeners: Record<string, (fact: never) => void> = {};
  const stopListening = () => {
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener as () => void);
    // A socket that fails while no part of the gateway listens for it would end the process.
    socket.on('error', () => {});
  };
  const fail = (why: string) => {
    stopListening();
    socket.destroy();
    failed(new ProxyFailure(why));
  };
  const ask = () => {
    const authority = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
    const credentials = proxy.authorization ? `proxy-authorization: ${proxy.authorization.reveal()}\r\n` : '';
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`);
  };
  const listen = (bytes: Buffer) => {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf(END_OF_HEAD);
    if (end < 0) {
      if (head.byteLength > LARGEST_HEAD) fail(`the proxy ${host} answered with too much`);
      return;
    }
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?=[ \r]|$)/.exec(head.toString('latin1', 0, end))?.[1] ?? 0);
    if (status < 200 || status > 299) return fail(refusal(proxy, status));
    stopListening();
    const rest = head.subarray(end + END_OF_HEAD.byteLength);
    // Servers of mail speak first.
    if (rest.byteLength > 0) socket.unshift(rest);
    made(socket);
  };
  listeners[isSecure ? 'secureConnect' : 'connect'] = ask;
  listeners.data = listen;
  listeners.error = (error: { code?: string }) => fail(whyNot(proxy, error.code));
  listeners.close = () => fail(`the proxy ${host} ended the connection before it answered`);
  for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener as () => void);
  return socket;
}

/** The name that the certificate must carry; an address has none, and is checked as the host. */
const servedAs = (name: string): Pick<ConnectionOptions, 'servername'> => (isIP(name) ? {} : { servername: name });

function refusal({ host, authorization }: ProxyServer, status: number): string {
  if (status === 407)
    return authorization
      ? `the proxy ${host} does not take the user and password of GATEWAY_EGRESS_PROXY (407)`
      : `the proxy ${host} wants a user and a password, and GATEWAY_EGRESS_PROXY has none (407)`;
  if (status === 403) return `the proxy ${host} does not let this gateway connect there (403)`;
  return status === 0
    ? `the proxy ${host} does not speak HTTP/1.1`
    : `the proxy ${host} has not made the connection (${status})`;
}

const whyNot = ({ host }: ProxyServer, code = 'unknown'): string =>
  /^(E[A-Z]+|ERR_SSL_\w+)$/.test(code) || code === 'unknown'
    ? `the proxy ${host} cannot be reached (${code})`
    : `the certificate of the proxy ${host} was not accepted (${code})`;
