import type { SocketHandler, TLSOptions } from 'bun';
import { InGroups } from '../../core/runtime/in-groups.ts';
import type { ProxyServer } from '../proxy.ts';
import { Malformed } from './failure.ts';
import type { ResponseHead } from './head.ts';
import { ResponseReader } from './response.ts';
import { ProxyFailure, Tunnel, type Wire } from './tunnel.ts';

/** How a connection came to its end before the answer did. */
export interface Break {
  readonly why: string;
  /** Not a byte of the request was taken. */
  readonly isUnsent: boolean;
  /** The connection had carried other requests and ended without a byte of this one's answer. */
  readonly looksStale: boolean;
}

/** Who uses a connection. At most one at a time, and it is told in this order what happens. */
export interface ConnectionUser {
  /** From here on requests can be written. */
  connected(connection: Connection): void;
  /** The connection was not made. Instead of everything else. */
  unreachable(why: string): void;
  /** The server took something of what could not be written at once. */
  taken(): void;
  /** Once the head is there, for each piece of the body; after the last one the connection is no longer the user's. */
  received(head: ResponseHead, piece: Uint8Array | null, isLast: boolean): void;
  /** Instead of the last piece. */
  broken(end: Break): void;
}

/** Where a connection leads, and who takes it when its user no longer needs it. */
export interface ConnectionOwner {
  readonly hostname: string;
  readonly port: number;
  /** Null: a plain connection. */
  readonly tls: TLSOptions | null;
  /** The proxy that is asked for the connection. Null: it is dialled straight. */
  readonly via: ProxyServer | null;
  /** Open and without a user; it may serve another one until so many milliseconds have passed. */
  idle(connection: Connection, keepMs: number): void;
  /** Its user has left while it is still being made. */
  unclaimed(connection: Connection): void;
  /** A connection that was idle or unclaimed has ended. */
  lost(connection: Connection): void;
}

interface Arrival {
  readonly connection: Connection;
  readonly bytes: Buffer;
}

export interface SentRequest {
  readonly method: string;
  readonly head: string;
  readonly body: Uint8Array | null;
  /** The rest of the body follows by `write`, until `finish`. */
  readonly hasMore: boolean;
  /** No other request uses this connection. */
  readonly isLast: boolean;
}

/** Every write is put together here, which holds a request of 60 KB with its head: one copy, no garbage, one call. */
const scratch = Buffer.allocUnsafeSlow(128 << 10);

/** A provider may think for minutes. Without these probes a router on the way forgets the idle connection unnoticed. */
const PROBE_AFTER_MS = 60_000;

/** A connection to a server: made, written to, read from, and used again if server and user agree that it may be. */
export class Connection {
  user: ConnectionUser | null;
  /** Until when it may wait for another user, on the clock of `performance.now()`. */
  idleUntil = 0;
  readonly #owner: ConnectionOwner;
  readonly #reader = new ResponseReader();
  #socket: Wire | null = null;
  /** The way through a proxy, from the moment it is begun. */
  #tunnel: Tunnel | null = null;
  #isClosed = false;
  #isPaused = false;
  /** What the server has not taken yet, in order. */
  #unsent: Uint8Array[] | null = null;
  #onDrained: (() => void) | null = null;
  #requests = 0;
  #isUnsent = true;
  #isSending = false;
  #isLast = false;

  constructor(owner: ConnectionOwner, user: ConnectionUser) {
    this.#owner = owner;
    this.user = user;
    void this.#dial();
  }

  get isOpen(): boolean {
    return this.#socket !== null && !this.#isClosed;
  }

  /** Begins a request. */
  send(request: SentRequest): void {
    this.#reader.expect(request.method);
    this.#requests++;
    this.#isUnsent = true;
    this.#isSending = request.hasMore;
    this.#isLast = request.isLast;
    this.write(request.head, request.body);
  }

  /** Writes bytes between two texts. False: not all of it was taken, and `drained` says when it is. */
  write(before: string, bytes: Uint8Array | null, after = ''): boolean {
    let text = before;
    if (text.length + after.length > scratch.length) {
      this.#put(Buffer.from(text, 'latin1'));
      text = '';
    }
    const room = scratch.length - text.length - after.length;
    const isWhole = bytes === null || bytes.byteLength <= room;
    let size = text === '' ? 0 : scratch.write(text, 0, 'latin1');
    if (bytes !== null) {
      scratch.set(isWhole ? bytes : bytes.subarray(0, room), size);
      size += isWhole ? bytes.byteLength : room;
    }
    if (isWhole && after !== '') size += scratch.write(after, size, 'latin1');
    this.#put(scratch, size);
    if (!isWhole) {
      this.#put(bytes.subarray(room));
      if (after !== '') this.#put(Buffer.from(after, 'latin1'));
    }
    return this.#unsent === null;
  }

  /** Resolves when everything was taken, or never will be. */
  drained(): Promise<void> {
    if (this.#unsent === null || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
    });
  }

  /** The whole request has been written. */
  finish(): void {
    this.#isSending = false;
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isClosed) this.#socket?.resume();
  }

  /** The user leaves in the middle. One that is still being made cannot be called off and waits for another user. */
  leave(): void {
    this.user = null;
    if (this.#socket !== null || this.#tunnel !== null) this.destroy();
    else if (!this.#isClosed) this.#owner.unclaimed(this);
  }

  /** Ends it at once, whatever is under way. Its user and its owner are not told. */
  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.user = null;
    this.#settle();
    this.#socket?.terminate();
    this.#tunnel?.cut();
  }

  async #dial() {
    const { hostname, port, tls, via } = this.#owner;
    if (via !== null) return this.#dialThrough(via);
    const options = { hostname, port, data: this, socket: Connection.#handlers };
    try {
      await Bun.connect<Connection>(tls ? { ...options, tls } : options);
    } catch (error) {
      this.#end(error);
    }
  }

  #dialThrough(via: ProxyServer) {
    const { hostname, port, tls } = this.#owner;
    this.#tunnel = new Tunnel(
      via,
      { hostname, port, tls },
      {
        opened: (wire) => {
          this.#opened(wire);
          if (tls !== null) this.#shook(true, null);
        },
        failed: (error, during) => this.#end(error, during),
        heard: (bytes) => this.#hear(bytes),
        drained: () => this.#flush(),
        closed: (error) => this.#ended(error),
      },
    );
  }

  #put(bytes: Uint8Array, size = bytes.byteLength) {
    if (this.#isClosed || size === 0) return;
    let written = 0;
    if (this.#unsent === null) {
      written = this.#write(bytes, size);
      if (written === size) return;
      this.#unsent = [];
    }
    // The scratch will be written over before the server takes the rest.
    this.#unsent.push(bytes === scratch ? new Uint8Array(bytes.subarray(written, size)) : bytes.subarray(written));
  }

  /** A server that takes no more may have answered before: what it said is read first, then the close is heard of. */
  #write(bytes: Uint8Array, size: number): number {
    const written = Math.max(0, this.#socket!.write(bytes, 0, size));
    if (written > 0) this.#isUnsent = false;
    return written;
  }

  #flush() {
    if (this.#unsent === null || this.#isClosed) return;
    for (let piece = this.#unsent[0]; piece; piece = this.#unsent[0]) {
      const written = this.#write(piece, piece.byteLength);
      if (written < piece.byteLength) {
        this.#unsent[0] = piece.subarray(written);
        break;
      }
      this.#unsent.shift();
    }
    if (this.#unsent.length === 0) this.#settle();
    this.user?.taken();
  }

  #settle() {
    this.#unsent = null;
    this.#onDrained?.();
    this.#onDrained = null;
  }

  #opened(socket: Wire) {
    if (this.#isClosed) return void socket.terminate();
    this.#socket = socket;
    // The clock of the open exchanges keeps the process alive, an idle connection does not.
    socket.unref();
    if (this.#owner.tls === null) this.#ready();
  }

  #shook(isTrusted: boolean, error: Error | null) {
    if (this.#isClosed) return;
    if (isTrusted && this.#socket?.authorized) return this.#ready();
    this.#end(error ?? new Error('not verified'), 'handshake');
  }

  #ready() {
    if (this.#isClosed) return;
    this.#socket?.setKeepAlive(true, PROBE_AFTER_MS);
    if (this.user) this.user.connected(this);
    else this.#owner.idle(this, FIRST_USE_MS);
  }

  #hear(bytes: Buffer) {
    // The server sent bytes without a request. They must not be taken for the answer to the next request.
    if (this.user === null) return this.#end(null);
    if (bytes.byteLength < LARGE) return Connection.#arrivals.add({ connection: this, bytes });
    Connection.#arrivals.flush();
    this.#arrived(bytes);
  }

  #arrived(bytes: Buffer) {
    if (this.#isClosed) return;
    const { user } = this;
    if (user === null || this.#requests === 0) return this.#end(null);
    const reader = this.#reader;
    let piece: Uint8Array | null;
    try {
      piece = reader.feed(bytes);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.destroy();
      user.broken({ why: `its answer is malformed: ${error.message}`, isUnsent: false, looksStale: false });
      return;
    }
    const { head, isComplete } = reader;
    if (head === null) return;
    if (isComplete) this.#release(head.keepMs);
    user.received(head, piece, isComplete);
  }

  /** The answer is complete. What the server still sends is not read any more. */
  #release(keepMs: number) {
    this.user = null;
    this.resume();
    const isClean = !this.#isSending && this.#unsent === null && !this.#reader.hasSurplus;
    if (keepMs > 0 && isClean && !this.#isLast) this.#owner.idle(this, keepMs);
    else this.destroy();
  }

  /** What came before the end is read first. */
  #ended(error: unknown) {
    Connection.#arrivals.flush();
    this.#end(error);
  }

  #end(error: unknown, during: 'handshake' | 'connection' = 'connection') {
    if (this.#isClosed) return;
    const { user } = this;
    const wasUsed = this.#requests > 0;
    const head = this.#reader.head;
    // A reset is no end that the server meant.
    const isProperEnd = wasUsed && error === null && head !== null && this.#reader.endsHere();
    this.destroy();
    if (user === null) this.#owner.lost(this);
    else if (!wasUsed) user.unreachable(whyUnreachable(error, during));
    else if (isProperEnd) user.received(head, null, true);
    else {
      const looksStale = this.#requests > 1 && this.#reader.isUntouched;
      user.broken({ why: `the connection ended (${codeOf(error)})`, isUnsent: this.#isUnsent, looksStale });
    }
  }

  static readonly #arrivals = new InGroups<Arrival>(({ connection, bytes }) => connection.#arrived(bytes));

  static readonly #handlers: SocketHandler<Connection> = {
    open: (socket) => socket.data.#opened(socket),
    handshake: (socket, isTrusted, error) => socket.data.#shook(isTrusted, error),
    data: (socket, bytes) => socket.data.#hear(bytes),
    drain: (socket) => socket.data.#flush(),
    close: (socket, error) => socket.data.#ended(error ?? null),
    error: (socket, error) => socket.data.#ended(error),
    connectError: (socket, error) => socket.data.#end(error),
  };
}

/** Bun goes on reading such pieces until it is told to pause, so that a body of them cannot wait for the end of the turn. */
const LARGE = 32 << 10;

/** A connection whose first user left before it was made. */
const FIRST_USE_MS = 4_000;

const codeOf = (error: unknown): string =>
  error === null || error === undefined
    ? 'closed by the other side'
    : String((error as { code?: unknown }).code ?? (error as Error).name ?? 'unknown');

/** What the system and the TLS library call their failures; a certificate's have names of another kind. */
const SYSTEM_CODE = /^(E[A-Z0-9]+|ERR_SSL_\w+)$/;

function whyUnreachable(error: unknown, during: 'handshake' | 'connection'): string {
  if (error instanceof ProxyFailure) return error.message;
  const code = codeOf(error);
  if (during === 'connection') return 'the connection was refused or could not be opened';
  return SYSTEM_CODE.test(code) ? `the TLS handshake failed (${code})` : `its certificate was not accepted (${code})`;
}
