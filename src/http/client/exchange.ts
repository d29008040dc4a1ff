import { turnTime } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Destination } from '../egress.ts';
import { headersOf, type SentHeaders } from '../headers.ts';
import type { Incoming, Outgoing } from '../upstream.ts';
import type { Break, Connection, ConnectionUser } from './connection.ts';
import { type Phase, UpstreamFailure } from './failure.ts';
import type { ResponseHead } from './head.ts';
import type { Pool } from './pool.ts';
import { requestHead, requestTarget } from './request.ts';

/** When so much of the answer waits unread, the connection is paused. */
const READ_AHEAD = 64 << 10;
const NO_FIELDS: SentHeaders = {};

export const hostOf = (destination: Destination): string =>
  destination.host ?? destination.origin.slice(destination.origin.indexOf('://') + 3);

export const aborted = (host: string, phase: Phase, sent: 'no' | 'maybe'): UpstreamFailure =>
  new UpstreamFailure({ host, phase, kind: 'aborted', sent, why: 'the caller ended the request' });

interface Waiting<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** One request and its answer, with its deadlines. It is its own `Incoming`: one object less for every call. */
export class Exchange implements Incoming, ConnectionUser {
  status = 0;
  statusText = '';
  fields = NO_FIELDS;
  connectMs: number | null = null;
  /** It failed on a connection that the server had probably given up already: it was not carried out. */
  looksStale = false;
  readonly #outgoing: Outgoing;
  readonly #destination: Destination;
  readonly #ended: (exchange: Exchange) => void;
  readonly #started = turnTime();
  #connection: Connection | null = null;
  #phase: Phase = 'connect';
  #deadline = Number.POSITIVE_INFINITY;
  #failure: unknown = null;
  #isOver = false;
  /** The last piece has arrived; it may not have been read. */
  #isWhole = false;
  #answer: Waiting<Exchange> | null = null;
  #reading: Waiting<Uint8Array | null> | null = null;
  #pieces: Uint8Array[] = [];
  #aheadBytes = 0;
  #upload: { cancel(): Promise<void> } | null = null;
  #headers: Headers | null = null;
  #isListening = false;

  constructor(outgoing: Outgoing, destination: Destination, ended: (exchange: Exchange) => void) {
    this.#outgoing = outgoing;
    this.#destination = destination;
    this.#ended = ended;
    if (!outgoing.isHeededLate) this.#listen();
  }

  get headers(): Headers {
    this.#headers ??= headersOf(this.fields);
    return this.#headers;
  }

  /** Answers with itself when the headers are there. By calling back: one more promise would be one for every call. */
  send(
    pool: Pool,
    { isFresh }: { isFresh: boolean },
    resolve: (exchange: Exchange) => void,
    reject: (error: unknown) => void,
  ): void {
    this.#answer = { resolve, reject };
    const { connectMs, firstByteMs } = this.#outgoing.timeouts;
    this.#allow(connectMs || firstByteMs);
    const connection = pool.connect(this, this.#destination, { isFresh });
    if (!this.#isOver) this.#connection = connection;
  }

  connected(connection: Connection): void {
    // Set while it is being made; a connection that was there is used at once.
    if (this.#connection !== null) this.connectMs = this.elapsedMs;
    this.#connection = connection;
    this.#phase = 'first byte';
    const { method, url, headers, body, timeouts, resend } = this.#outgoing;
    this.#allow(timeouts.firstByteMs);
    const isStream = body instanceof ReadableStream;
    const declared = isStream ? headers.get('content-length') : null;
    const length = isStream ? (declared === null ? null : Number(declared)) : (body?.byteLength ?? null);
    const isLast = resend === false;
    const framing = isStream && length === null ? 'chunked' : length;
    const host = hostOf(this.#destination);
    try {
      const head = requestHead({ method, target: requestTarget(url), host, headers, framing, isLast });
      connection.send({ method, head, body: isStream ? null : body, hasMore: isStream, isLast });
    } catch (error) {
      this.#fail(error);
    }
    if (isStream && !this.#isOver) void this.#send(connection, body, length);
  }

  unreachable(why: string): void {
    this.#fail(this.#failureOf({ kind: 'unreachable', why }));
  }

  taken(): void {
    if (this.#phase === 'first byte') this.#allow(this.#outgoing.timeouts.firstByteMs);
  }

  received(head: ResponseHead, piece: Uint8Array | null, isLast: boolean): void {
    if (isLast) {
      this.#isWhole = true;
      this.#connection = null;
      this.#stopUpload();
    }
    if (piece !== null) this.#accept(piece);
    else if (isLast && this.#reading !== null) this.#settle(null);
    if (this.#phase !== 'body') this.#begin(head);
  }

  broken({ why, isUnsent, looksStale }: Break): void {
    this.looksStale = looksStale || isUnsent;
    const sent = isUnsent ? 'no' : 'maybe';
    this.#fail(this.#failureOf({ kind: 'broken', why, sent }), { keepsPieces: true });
  }

  read(): Promise<Uint8Array | null> {
    if (this.#pieces.length > 0) return Promise.resolve(this.#take());
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isWhole) {
      this.#end();
      return Promise.resolve(null);
    }
    this.#allow(this.#outgoing.timeouts.idleMs);
    return new Promise((resolve, reject) => {
      this.#reading = { resolve, reject };
    });
  }

  async bytes(): Promise<Uint8Array> {
    const [piece] = this.#pieces;
    if (!this.#isWhole || !piece || this.#pieces.length > 1) return this.#collect();
    this.#pieces = [];
    this.#end();
    return piece;
  }

  async #collect(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let piece = await this.read(); piece; piece = await this.read()) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  cancel(): void {
    this.#fail(aborted(hostOf(this.#destination), this.#phase, this.#sent));
  }

  /** The caller's signal. */
  handleEvent(): void {
    this.cancel();
  }

  /** Since it began. */
  get elapsedMs(): number {
    return performance.now() - this.#started;
  }

  tick(now: number): void {
    if (!this.#isListening) this.#listen();
    const { totalMs } = this.#outgoing.timeouts;
    if (totalMs > 0 && now - this.#started > totalMs) this.#timeOut('total');
    else if (now > this.#deadline) this.#timeOut(this.#phase);
  }

  #listen() {
    const { signal } = this.#outgoing;
    this.#isListening = true;
    if (signal?.aborted) this.cancel();
    else signal?.addEventListener('abort', this);
  }

  get #sent(): 'no' | 'maybe' {
    return this.#phase === 'connect' ? 'no' : 'maybe';
  }

  #begin({ status, statusText, headers }: ResponseHead) {
    this.#phase = 'body';
    this.#allow(0);
    this.status = status;
    this.statusText = statusText;
    this.fields = headers;
    this.#answer?.resolve(this);
    this.#answer = null;
  }

  #accept(piece: Uint8Array) {
    if (this.#reading !== null) return this.#settle(piece);
    this.#pieces.push(piece);
    this.#aheadBytes += piece.byteLength;
    if (this.#aheadBytes >= READ_AHEAD) this.#connection?.pause();
  }

  #settle(piece: Uint8Array | null) {
    this.#allow(0);
    if (piece === null) this.#end();
    this.#reading?.resolve(piece);
    this.#reading = null;
  }

  /** Small pieces that have come since are read as one. */
  #take(): Uint8Array {
    const isSmall = this.#pieces.length > 1 && this.#aheadBytes <= READ_AHEAD;
    const piece = isSmall ? Buffer.concat(this.#pieces.splice(0)) : this.#pieces.shift()!;
    this.#aheadBytes -= piece.byteLength;
    if (this.#aheadBytes < READ_AHEAD) this.#connection?.resume();
    return piece;
  }

  /** An upload may take longer than any answer: the limit runs only while the provider has the next move. */
  async #send(connection: Connection, body: ReadableStream<Uint8Array>, length: number | null) {
    let left = length ?? Number.POSITIVE_INFINITY;
    try {
      const reader = body.getReader();
      this.#upload = reader;
      for (;;) {
        if (this.#phase === 'first byte') this.#allow(0);
        const { value } = await reader.read();
        if (this.#upload === null) return;
        this.taken();
        if (!value) break;
        if (value.byteLength === 0) continue;
        left -= value.byteLength;
        // What does not fit into its frame would be read as another request.
        if (left < 0) break;
        const isTaken =
          length === null
            ? connection.write(`${value.byteLength.toString(16)}\r\n`, value, '\r\n')
            : connection.write('', value);
        // The answer may come before the end of the stream is noticed.
        if (left === 0) connection.finish();
        if (!isTaken) await connection.drained();
        if (this.#upload === null) return;
      }
      if (length !== null && left !== 0) throw new GatewayError('body_incomplete', []);
      this.#upload = null;
      connection.finish();
      if (length === null) connection.write('0\r\n\r\n', null);
    } catch (error) {
      // The upload's own error, as long as no answer was handed on.
      const isUnanswered = this.#phase !== 'body';
      this.#fail(isUnanswered ? error : this.#failureOf({ kind: 'broken', why: 'the request was not sent whole' }));
    }
  }

  #stopUpload() {
    this.#upload?.cancel().catch(() => {});
    this.#upload = null;
  }

  #timeOut(phase: Phase) {
    const { connectMs, firstByteMs, idleMs, totalMs } = this.#outgoing.timeouts;
    const limits = { connect: connectMs || firstByteMs, 'first byte': firstByteMs, body: idleMs, total: totalMs };
    const limitMs = limits[phase];
    const host = hostOf(this.#destination);
    const why = phase === 'connect' ? `no connection within ${limitMs} ms` : `${phase} timed out`;
    this.#fail(new UpstreamFailure({ host, phase, kind: 'timeout', sent: this.#sent, why, limitMs }));
  }

  #failureOf(facts: { kind: UpstreamFailure['kind']; why: string; sent?: 'no' | 'maybe' }): UpstreamFailure {
    return new UpstreamFailure({ host: hostOf(this.#destination), phase: this.#phase, sent: this.#sent, ...facts });
  }

  /** Gives the current phase so much time from now; 0: all the time there is. */
  #allow(limitMs: number) {
    this.#deadline = limitMs > 0 ? turnTime() + limitMs : Number.POSITIVE_INFINITY;
  }

  /** Ends the exchange and its connection. What has arrived of a broken answer can still be read. */
  #fail(failure: unknown, { keepsPieces = false } = {}) {
    if (this.#isOver) return;
    this.#failure = failure;
    if (!keepsPieces) this.#pieces.length = 0;
    this.#stopUpload();
    this.#end();
    this.#connection?.leave();
    this.#connection = null;
    this.#answer?.reject(failure);
    this.#answer = null;
    this.#reading?.reject(failure);
    this.#reading = null;
  }

  #end() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline = Number.POSITIVE_INFINITY;
    if (this.#isListening) this.#outgoing.signal?.removeEventListener('abort', this);
    this.#ended(this);
  }
}
