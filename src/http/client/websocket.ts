import type { SocketHandler, TLSOptions } from 'bun';
import type { PlainHeaders } from '../../core/header-map.ts';
import { type ClientTls, tlsOptions } from '../client-tls.ts';
import type { Destination } from '../egress.ts';
import { hostOf } from './exchange.ts';
import { Malformed, UpstreamFailure } from './failure.ts';
import { clientFrame, FrameReader, OPCODE } from './frames.ts';
import { requestHead, requestTarget } from './request.ts';
import { ProxyFailure, Tunnel, type TunnelUser, type Wire } from './tunnel.ts';

/** What happens on a WebSocket to a server. Nothing is told after `closed`. */
export interface WebSocketUser {
  /** A text; binary frames come as bytes. */
  received(message: string | Uint8Array): void;
  /** What waited to be sent has been taken. */
  drained(): void;
  /** It is over, by whichever side: 1006 where the connection just ended. */
  closed(code: number, reason: string): void;
}

/** The server has answered something else than the change to a WebSocket. */
export class SocketRefused extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;

  constructor(status: number, headers: Readonly<Record<string, string>>, body: string) {
    super(`the server answered ${status}`);
    this.name = 'SocketRefused';
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

export interface SocketRequest {
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly protocols: readonly string[];
  /** For the connection and the handshake together. */
  readonly timeoutMs: number;
  /** Who the gateway is to the server, and who may vouch for the server. */
  readonly tls?: ClientTls | undefined;
}

const LARGEST_MESSAGE = 32 << 20;
const LARGEST_HEAD = 64 << 10;
const LARGEST_REFUSAL = 64 << 10;
const SWITCHED = 101;
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const NO_STATUS = 1005;
const ABNORMAL = 1006;
const PROTOCOL_ERROR = 1002;
/** How long the other side has to answer a goodbye. */
const GOODBYE_MS = 2_000;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  body: Buffer;
}

const NO_USER: WebSocketUser = { received: () => {}, drained: () => {}, closed: () => {} };

/** A WebSocket to a server (RFC 6455), from the client's side. It begins paused, so that nothing is told before someone listens. */
export class ClientWebSocket {
  /** Which of the offered subprotocols the server has chosen. */
  protocol: string | null = null;
  readonly #destination: Destination;
  readonly #request: SocketRequest;
  readonly #key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64');
  readonly #opening = Promise.withResolvers<ClientWebSocket>();
  #head: Buffer | null = Buffer.alloc(0);
  #refusal: Refusal | null = null;
  #reader: FrameReader | null = null;
  #socket: Wire | null = null;
  #tunnel: Tunnel | null = null;
  #user = NO_USER;
  #unsent: Uint8Array[] = [];
  #waiting = 0;
  #isPaused = true;
  #isClosed = false;
  #isLeaving = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(destination: Destination, request: SocketRequest) {
    this.#destination = destination;
    this.#request = request;
  }

  /** Resolves when the server has agreed. Throws `SocketRefused` or `UpstreamFailure`. */
  async open(): Promise<ClientWebSocket> {
    const { timeoutMs } = this.#request;
    if (timeoutMs > 0)
      this.#timer = setTimeout(() => this.#fail('timeout', 'it did not answer in time', timeoutMs), timeoutMs);
    const { protocol, hostname, port } = new URL(this.#destination.origin);
    const isSecure = protocol === 'https:';
    const { serverName, via, tls: own } = this.#destination;
    const verified: TLSOptions = {
      ...{ ALPNProtocols: 'http/1.1', rejectUnauthorized: true },
      ...(own && tlsOptions(own)),
    };
    const tls = isSecure ? (serverName ? { ...verified, serverName } : verified) : null;
    const server = { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (isSecure ? 443 : 80) };
    if (via) {
      this.#tunnel = new Tunnel(via, { ...server, tls }, this.#tunnelUser(isSecure));
      return this.#opening.promise;
    }
    const options = { ...server, data: this, socket: ClientWebSocket.#handlers };
    Bun.connect<ClientWebSocket>(tls ? { ...options, tls } : options).catch(() =>
      this.#fail('unreachable', 'the connection was refused or could not be opened'),
    );
    return this.#opening.promise;
  }

  /** Bytes that the server has not taken yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** From here on the user is told what comes. */
  begin(user: WebSocketUser): void {
    this.#user = user;
    this.resume();
  }

  send(message: string | Uint8Array): void {
    if (this.#isClosed || this.#isLeaving) return;
    this.#put(clientFrame(typeof message === 'string' ? OPCODE.text : OPCODE.binary, message));
  }

  ping(): void {
    if (!this.#isClosed && !this.#isLeaving) this.#put(clientFrame(OPCODE.ping));
  }

  /** Says goodbye, and ends when the server has answered it, or has not for a while. */
  close(code: number, reason: string): void {
    if (this.#isClosed || this.#isLeaving) return;
    this.#isLeaving = true;
    this.#put(clientFrame(OPCODE.close, closing(code, reason)));
    this.resume();
    this.#timer = setTimeout(() => this.#end(ABNORMAL, ''), GOODBYE_MS);
  }

  cut(): void {
    this.#end(ABNORMAL, '');
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#deliver();
    if (!this.#isPaused && !this.#isClosed) this.#socket?.resume();
  }

  #tunnelUser(isSecure: boolean): TunnelUser {
    return {
      opened: (wire) => {
        this.#opened(wire);
        if (isSecure) this.#shook(true);
      },
      failed: (error, during) => {
        const certificate = during === 'handshake' ? 'its certificate was not accepted' : 'the connection was refused';
        this.#fail('unreachable', error instanceof ProxyFailure ? error.message : certificate);
      },
      heard: (bytes) => this.#hear(bytes),
      drained: () => this.#flush(),
      closed: () => this.#lost(),
    };
  }

  #opened(socket: Wire): void {
    if (this.#isClosed) return void socket.terminate();
    this.#socket = socket;
    if (this.#destination.origin.startsWith('http:')) this.#ask();
  }

  #shook(isTrusted: boolean): void {
    if (this.#isClosed) return;
    if (isTrusted && this.#socket?.authorized) this.#ask();
    else this.#fail('unreachable', 'its certificate was not accepted');
  }

  #ask(): void {
    const { url, headers, protocols } = this.#request;
    const head = requestHead({
      method: 'GET',
      target: requestTarget(url),
      host: hostOf(this.#destination),
      headers,
      framing: null,
      isLast: false,
    });
    const lines = [
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${this.#key}`,
      ...(protocols.length > 0 ? [`sec-websocket-protocol: ${protocols.join(', ')}`] : []),
    ];
    this.#put(Buffer.from(`${head.replace(/\r\n\r\n$/, '\r\n')}${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  }

  #hear(bytes: Buffer): void {
    if (this.#isClosed) return;
    if (this.#reader) {
      this.#reader.add(bytes);
      this.#deliver();
      return;
    }
    if (this.#refusal) return void this.#readRefusal(this.#refusal, bytes);
    this.#head = Buffer.concat([this.#head!, bytes]);
    const end = this.#head.indexOf(END_OF_HEAD);
    if (end < 0) {
      if (this.#head.byteLength > LARGEST_HEAD) this.#fail('broken', 'the head of its answer is too large');
      return;
    }
    const [statusLine = '', ...lines] = this.#head.toString('latin1', 0, end).split('\r\n');
    const rest = this.#head.subarray(end + END_OF_HEAD.byteLength);
    this.#head = null;
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN);
    if (!Number.isFinite(status)) return void this.#fail('broken', 'its answer is not HTTP/1.1');
    const headers = fieldsIn(lines);
    if (status === SWITCHED) this.#agree(headers, rest);
    else {
      this.#refusal = { status, headers, body: Buffer.alloc(0) };
      this.#readRefusal(this.#refusal, rest);
    }
  }

  #agree(headers: Record<string, string>, rest: Buffer): void {
    const expected = new Bun.CryptoHasher('sha1').update(this.#key + GUID).digest('base64');
    if (headers['sec-websocket-accept'] !== expected)
      return void this.#fail('broken', 'its handshake does not fit ours');
    const protocol = headers['sec-websocket-protocol'] ?? null;
    if (headers['sec-websocket-extensions'] || (protocol !== null && !this.#request.protocols.includes(protocol)))
      return void this.#fail('broken', 'it agreed to something that was not offered');
    this.protocol = protocol;
    this.#clearTimer();
    this.#reader = new FrameReader(LARGEST_MESSAGE);
    this.#socket?.pause();
    if (rest.byteLength > 0) this.#reader.add(rest);
    this.#opening.resolve(this);
  }

  #readRefusal(refusal: Refusal, bytes: Buffer): void {
    refusal.body = Buffer.concat([refusal.body, bytes]);
    const length = Number(refusal.headers['content-length'] ?? Number.NaN);
    const isChunkedEnd = refusal.body.includes('\r\n0\r\n\r\n');
    if (refusal.body.byteLength < Math.min(length || LARGEST_REFUSAL, LARGEST_REFUSAL) && length !== 0 && !isChunkedEnd)
      return;
    this.#refuse();
  }

  #refuse(): void {
    const { status, headers, body } = this.#refusal!;
    const text = headers['transfer-encoding'] === 'chunked' ? unchunked(body) : body.toString('utf8');
    this.#shut();
    this.#opening.reject(new SocketRefused(status, headers, text.slice(0, LARGEST_REFUSAL)));
  }

  #deliver(): void {
    while (!this.#isPaused && !this.#isClosed && this.#reader) {
      let message: ReturnType<FrameReader['next']>;
      try {
        message = this.#reader.next();
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        this.#put(clientFrame(OPCODE.close, closing(PROTOCOL_ERROR, '')));
        return void this.#end(PROTOCOL_ERROR, error.message);
      }
      if (message === null) return;
      const { opcode, payload } = message;
      if (opcode === OPCODE.text) this.#user.received(payload.toString('utf8'));
      else if (opcode === OPCODE.binary) this.#user.received(payload);
      else if (opcode === OPCODE.ping) this.#put(clientFrame(OPCODE.pong, payload));
      else if (opcode === OPCODE.close) return void this.#parted(payload);
    }
  }

  #parted(payload: Buffer): void {
    const code = payload.byteLength >= 2 ? payload.readUInt16BE(0) : NO_STATUS;
    if (!this.#isLeaving) this.#put(clientFrame(OPCODE.close, payload));
    this.#end(code, payload.toString('utf8', 2));
  }

  #put(bytes: Uint8Array): void {
    if (this.#isClosed || !this.#socket) return;
    const written = this.#unsent.length === 0 ? Math.max(0, this.#socket.write(bytes)) : 0;
    if (written === bytes.byteLength) return;
    this.#unsent.push(bytes.subarray(written));
    this.#waiting += bytes.byteLength - written;
  }

  #flush(): void {
    for (let piece = this.#unsent[0]; piece && this.#socket; piece = this.#unsent[0]) {
      const written = Math.max(0, this.#socket.write(piece));
      this.#waiting -= written;
      if (written < piece.byteLength) {
        this.#unsent[0] = piece.subarray(written);
        return;
      }
      this.#unsent.shift();
    }
    if (this.#reader && !this.#isClosed) this.#user.drained();
  }

  #lost(): void {
    if (this.#isClosed) return;
    if (this.#refusal) return void this.#refuse();
    if (!this.#reader) return void this.#fail('broken', 'the connection ended');
    // What came before the end is told first.
    this.#isPaused = false;
    this.#deliver();
    this.#end(ABNORMAL, '');
  }

  #fail(kind: UpstreamFailure['kind'], why: string, limitMs = 0): void {
    if (this.#isClosed) return;
    this.#shut();
    const host = hostOf(this.#destination);
    this.#opening.reject(new UpstreamFailure({ host, phase: 'connect', kind, sent: 'no', why, limitMs }));
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#shut();
    this.#user.closed(code, reason);
    this.#user = NO_USER;
  }

  #shut(): void {
    this.#isClosed = true;
    this.#clearTimer();
    this.#unsent = [];
    this.#waiting = 0;
    if (this.#socket) this.#socket.end();
    else this.#tunnel?.cut();
  }

  #clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  static readonly #handlers: SocketHandler<ClientWebSocket> = {
    open: (socket) => socket.data.#opened(socket),
    handshake: (socket, isTrusted) => socket.data.#shook(isTrusted),
    data: (socket, bytes) => socket.data.#hear(bytes),
    drain: (socket) => socket.data.#flush(),
    close: (socket) => socket.data.#lost(),
    error: (socket) => socket.data.#lost(),
    connectError: (socket) => socket.data.#fail('unreachable', 'the connection was refused or could not be opened'),
  };
}

function fieldsIn(lines: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return fields;
}

/** The body of an answer in chunks. What is broken is read as far as it goes. */
function unchunked(body: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.byteLength; ) {
    const end = body.indexOf('\r\n', at);
    const size = end < 0 ? Number.NaN : Number.parseInt(body.toString('latin1', at, end), 16);
    if (!(size > 0)) break;
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** No code that only means that none was said may be sent; a reason has 123 bytes at most. */
function closing(code: number, reason: string): Buffer {
  if (code === NO_STATUS || code === ABNORMAL || code < 1000) return Buffer.alloc(0);
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return Buffer.concat([bytes, Buffer.from(reason).subarray(0, 123)]);
}
