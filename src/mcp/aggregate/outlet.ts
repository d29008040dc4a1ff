import type { Outcome } from '../../core/call-log.ts';
import type { OpenStreams } from '../relay/open-streams.ts';
import type { Client } from './conversation.ts';

/** A stream to a client into which many write. */
export interface Outlet {
  readonly response: Response;
  /** Aborted when the client does not listen any more. */
  readonly signal: AbortSignal;
  /** Resolves when the client has room for more. What is sent before it has begun waits. */
  send(bytes: Uint8Array): Promise<void>;
  begin(first?: Uint8Array): void;
  /** Says the last there is to say, if anything, and ends the stream. */
  finish(last: Uint8Array | null, outcome: Outcome): Promise<void>;
}

export interface OutletOptions {
  /** It has no end of its own: a client that closes it has heard enough. */
  readonly isEndless?: boolean;
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};
const LEFT: Outcome = { status: 200, failedBy: 'client', errorCode: 'client_closed' };
const KEEP_ALIVE_MS = 20_000;
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');
/** Events for a client that does not take them; who has more waits. */
const MOST_WAITING = 16;

/** The stream ends when the client leaves, which is no failure of one without an end, or loses its right to it. */
export function createOutlet(
  { call, again }: Client,
  openStreams: OpenStreams,
  { isEndless = true }: OutletOptions = {},
): Outlet {
  const { log } = call;
  const ending = new AbortController();
  const begun = Promise.withResolvers<void>();
  const waiting: (() => void)[] = [];
  let stream!: ReadableStreamDefaultController<Uint8Array>;
  log.isStream = true;
  log.closesLater = true;

  const end = (outcome: Outcome) => {
    ending.abort();
    begun.resolve();
    clearInterval(timer);
    unwatch();
    for (const wake of waiting.splice(0)) wake();
    log.close(outcome);
  };
  const timer = setInterval(() => {
    // A client that does not take what it has been sent needs no more.
    if (!ending.signal.aborted && stream.desiredSize === MOST_WAITING) stream.enqueue(KEEP_ALIVE.slice());
  }, KEEP_ALIVE_MS);
  timer.unref();
  const unwatch = openStreams.watch({
    again,
    cut: () => {
      if (ending.signal.aborted) return;
      end({ status: 200, failedBy: 'gateway', errorCode: 'access_ended' });
      stream.error(undefined);
    },
  });

  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        stream = controller;
      },
      pull: () => {
        for (const wake of waiting.splice(0)) wake();
      },
      cancel: () => end(isEndless ? { status: 200 } : LEFT),
    },
    { highWaterMark: MOST_WAITING },
  );
  return {
    response: new Response(body, { headers: { ...HEADERS, ...call.stamp } }),
    signal: ending.signal,
    begin: (first = Buffer.from(': listening\n\n')) => {
      // The headers leave with the first bytes.
      if (!ending.signal.aborted) stream.enqueue(first);
      begun.resolve();
    },
    send: async (bytes) => {
      await begun.promise;
      while (!ending.signal.aborted && (stream.desiredSize ?? 0) <= 0)
        await new Promise<void>((resolve) => waiting.push(resolve));
      if (!ending.signal.aborted) stream.enqueue(bytes);
    },
    finish: async (last, outcome) => {
      if (ending.signal.aborted) return;
      if (last) stream.enqueue(last);
      stream.close();
      end(outcome);
    },
  };
}
