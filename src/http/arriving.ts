import { fail, GatewayError } from '../core/errors.ts';

/** What a body may be beside what its reader says. */
export interface BodyRule {
  readonly mostBytes: number;
  /** The longest pause between two pieces; 0: none is too long. */
  readonly pauseMs: number;
}

export const USUAL_BODY: BodyRule = { mostBytes: Number.POSITIVE_INFINITY, pauseMs: 30_000 };

/** Beside its longest pause a body has a second for each of these. Live sound, which comes as slowly, is faster still. */
const LEAST_PACE = 1024;
/** The same for a body that is read at once: what came of it before its end cannot be seen. */
const WHOLE_PACE = 8 * 1024;

/**
 * Hangs on the request, and not on its reader: all code that reads a body from here is held to the rule of its route.
 * Only requests with another rule than the usual one are in it.
 */
const rules = new WeakMap<Request, BodyRule>();

export const ruleBody = (request: Request, rule: BodyRule): void => {
  rules.set(request, rule);
};

/** Requests whose body was read in part. */
const unfinished = new WeakSet<Request>();

/** Whether all of the body that a request has was read. */
export const isReadWhole = (request: Request): boolean => request.bodyUsed && !unfinished.has(request);

/** The body of a request as it arrives, piece by piece. Nothing else reads `request.body`. */
export class ArrivingBody {
  readonly #reader: { read(): Promise<{ value?: Uint8Array }>; cancel(): Promise<void> };
  readonly #request: Request;
  readonly #rule: BodyRule;
  #received = 0;
  #waitedMs = 0;

  constructor(request: Request, stream: ReadableStream<Uint8Array>) {
    this.#request = request;
    this.#reader = stream.getReader();
    this.#rule = rules.get(request) ?? USUAL_BODY;
    unfinished.add(request);
  }

  /**
   * The next piece, null at the end. Time counts only while a reader waits: a slow provider is not the client's fault.
   */
  async read(): Promise<Uint8Array | null> {
    const { mostBytes, pauseMs } = this.#rule;
    const asked = performance.now();
    try {
      const inAll = pauseMs + (this.#received * 1_000) / LEAST_PACE - this.#waitedMs;
      const { value } = await inTime(this.#reader.read(), pauseMs && Math.max(1, Math.min(pauseMs, inAll)), pauseMs);
      if (!value) {
        unfinished.delete(this.#request);
        return null;
      }
      this.#waitedMs += performance.now() - asked;
      this.#received += value.byteLength;
      if (this.#received > mostBytes) fail('body_too_large', mostBytes);
      return value;
    } catch (error) {
      this.cancel();
      throw error instanceof GatewayError ? error : new GatewayError('body_incomplete', []);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let piece = await this.read(); piece; piece = await this.read()) yield piece;
    } finally {
      this.cancel();
    }
  }

  /** The rest of it is not needed. */
  cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}

/** Null: the request has none. */
export const arrivingBody = (request: Request): ArrivingBody | null =>
  request.body ? new ArrivingBody(request, request.body as ReadableStream<Uint8Array>) : null;

/** A small body of a known length, read at once. */
export async function wholeBody(request: Request, length: number): Promise<Uint8Array> {
  const { mostBytes, pauseMs } = rules.get(request) ?? USUAL_BODY;
  if (length > mostBytes) fail('body_too_large', mostBytes);
  try {
    return await inTime(request.bytes(), pauseMs && pauseMs + (length * 1_000) / WHOLE_PACE, pauseMs);
  } catch (error) {
    throw error instanceof GatewayError ? error : new GatewayError('body_incomplete', []);
  }
}

interface Wait {
  readonly endsAt: number;
  readonly end: () => void;
}

const TICK_MS = 250;
const waits = new Set<Wait>();
let clock: ReturnType<typeof setInterval> | undefined;

function look() {
  if (waits.size === 0) {
    clearInterval(clock);
    clock = undefined;
    return;
  }
  const now = performance.now();
  for (const wait of waits) {
    if (wait.endsAt > now) continue;
    waits.delete(wait);
    wait.end();
  }
}

/** One clock for all: most bodies are there when they are asked for, and those that are not come before it ticks. */
function inTime<Value>(coming: Promise<Value>, allowedMs: number, pauseMs: number): Promise<Value> {
  if (allowedMs === 0 || Bun.peek.status(coming) !== 'pending') return coming;
  return new Promise((resolve, reject) => {
    const wait = {
      endsAt: performance.now() + allowedMs,
      // The client is too slow to be heard further on this connection.
      end: () => reject(new GatewayError('body_too_slow', [pauseMs], { connection: 'close' })),
    };
    const over = () => waits.delete(wait);
    waits.add(wait);
    clock ??= setInterval(look, TICK_MS);
    coming.then(
      (value) => {
        over();
        resolve(value);
      },
      (error) => {
        over();
        reject(error);
      },
    );
  });
}
