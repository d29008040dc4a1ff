import type { Faults } from './faults.ts';

/** How many answers are under way, and how many of them the client left. */
export interface Gauge {
  open: number;
  aborted: number;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** What the writing of one answer is measured and interrupted by. */
export interface Writing {
  readonly faults: Faults;
  /** Its signal tells when the client goes away. It is asked for only where there is something to wait for. */
  readonly request: Request;
  readonly gauge: Gauge;
}

/** Waits as long as `delay` and `stall=headers` say. Rejects, as `fetch` would, when the client goes away meanwhile. */
export function holdHeaders({ faults, request: { signal }, gauge }: Writing): Promise<void> {
  gauge.open += 1;
  return new Promise((resolve, reject) => {
    const timer = faults.stall === 'headers' ? undefined : setTimeout(go, faults.delayMs ?? 0);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();

    function go(): void {
      signal.removeEventListener('abort', leave);
      gauge.open -= 1;
      resolve();
    }
    function leave(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      gauge.open -= 1;
      gauge.aborted += 1;
      reject(signal.reason);
    }
  });
}

/** A body of these pieces, made as the client takes them, with the faults that strike between them. */
export function bodyOf(pieces: Iterable<Bytes>, writing: Writing): ReadableStream<Bytes> {
  // A queue of its own would make pieces that no client takes, and would lose them when the connection is cut.
  return new ReadableStream(new PieceSource(pieces[Symbol.iterator](), writing), { highWaterMark: 0 });
}

// What was written before the cut leaves the process in the next turn. But Bun's fetch forgets bytes that its reader has
// not taken when the connection dies (seen with 1.4.4, one time in six), so the client gets the time to take them.
const PAUSE_BEFORE_CUT_MS = 20;

class PieceSource {
  readonly #pieces: Iterator<Bytes>;
  readonly #writing: Writing;
  readonly #signal: AbortSignal;
  #written = 0;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: (() => void) | undefined;
  #leave: (() => void) | undefined;

  constructor(pieces: Iterator<Bytes>, writing: Writing) {
    this.#pieces = pieces;
    this.#writing = writing;
    this.#signal = writing.request.signal;
  }

  start(controller: ReadableStreamDefaultController<Bytes>): void {
    this.#writing.gauge.open += 1;
    this.#leave = () => {
      if (this.#isOver) return;
      this.cancel();
      controller.error(this.#signal.reason);
    };
    this.#signal.addEventListener('abort', this.#leave);
    if (this.#signal.aborted) this.#leave();
  }

  pull(controller: ReadableStreamDefaultController<Bytes>): void | Promise<void> {
    const { stall, cut, chunkDelayMs, framing } = this.#writing.faults;
    if (this.#written === cut) return this.#cut(controller);
    if (this.#written === stall) return new Promise((resolve) => this.#rest(resolve));
    const isApart = chunkDelayMs !== undefined || framing?.has('split');
    if (isApart && this.#written > 0) return this.#pause(chunkDelayMs ?? 0).then(() => this.#write(controller));
    this.#write(controller);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#writing.gauge.aborted += 1;
    this.#end();
  }

  #write(controller: ReadableStreamDefaultController<Bytes>): void {
    if (this.#isOver) return;
    const next = this.#pieces.next();
    if (next.done) {
      this.#end();
      controller.close();
      return;
    }
    this.#written += 1;
    controller.enqueue(next.value);
  }

  /** On Bun, a stream that fails with undefined resets the connection and prints nothing. */
  async #cut(controller: ReadableStreamDefaultController<Bytes>): Promise<void> {
    if (this.#written > 0) await this.#pause(PAUSE_BEFORE_CUT_MS);
    if (this.#isOver) return;
    this.#end();
    controller.error(undefined);
  }

  #pause(ms: number): Promise<void> {
    if (ms === 0) return new Promise((resolve) => setImmediate(resolve));
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, ms);
      this.#rest(resolve);
    });
  }

  /** Lets a waiting `pull` come back when the answer is over before its time. */
  #rest(wake: () => void): void {
    this.#wake = wake;
    if (this.#isOver) wake();
  }

  #end(): void {
    this.#isOver = true;
    this.#writing.gauge.open -= 1;
    clearTimeout(this.#timer);
    if (this.#leave) this.#signal.removeEventListener('abort', this.#leave);
    this.#pieces.return?.();
    this.#wake?.();
  }
}

const BLOCK = Uint8Array.from({ length: 65_536 }, (_, index) => index & 0xff);

/** So many bytes, 0 to 255 over and over. */
export function* countedBytes(total: number): Generator<Bytes> {
  for (let left = total; left > 0; left -= BLOCK.length) yield BLOCK.slice(0, Math.min(left, BLOCK.length));
}

const SHORT_PIECE = 64;

/** A whole body in short pieces, so that there is something to interrupt. */
export function* inShortPieces(bytes: Bytes): Generator<Bytes> {
  for (let at = 0; at < bytes.length; at += SHORT_PIECE) yield bytes.slice(at, at + SHORT_PIECE);
}
