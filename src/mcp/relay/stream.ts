import type { CallLog } from '../../core/call-log.ts';
import { type Incoming, UpstreamFailure } from '../../http/upstream.ts';
import { failedBy, watchAnswer } from '../message/rpc-outcome.ts';

/** Proxies and clients give up on connections on which nothing happens, many of them after 30 seconds. */
const KEEP_ALIVE_MS = 20_000;
/** The headers of an answer leave with its first bytes, and a client waits for them before it goes on. */
const FIRST_MS = 100;
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

export interface AnswerStreamOptions {
  readonly keepAliveMs?: number;
  /** It has no end of its own: a client that closes it has heard enough. */
  readonly isEndless?: boolean;
  /** Is given a way to cut the stream, and answers what is to be called when it has ended. */
  readonly watch?: (cut: () => void) => () => void;
}

/**
 * Bytes pass one piece at a time, untouched, and only when the client takes them. While a stream of events is quiet, a
 * comment between two of them, which no client sees, keeps the connection in use.
 */
export function answerStream(
  log: CallLog,
  incoming: Incoming,
  { keepAliveMs = KEEP_ALIVE_MS, isEndless = false, watch: watchedBy }: AnswerStreamOptions = {},
): ReadableStream<Uint8Array> {
  const { status } = incoming;
  const capture = log.captureResponse();
  const watch = watchAnswer(log.isStream);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  let unwatch = () => {};

  const close = (outcome: { failedBy: 'client' | 'provider' | 'gateway' | null; errorCode: string | null }) => {
    isOver = true;
    clearTimeout(timer);
    unwatch();
    log.close({ status, ...outcome });
  };
  const closedByClient = () =>
    close(isEndless ? { failedBy: null, errorCode: null } : { failedBy: 'client', errorCode: 'client_closed' });
  const stayAlive = (controller: ReadableStreamDefaultController<Uint8Array>, ms = keepAliveMs) => {
    clearTimeout(timer);
    if (!log.isStream || isOver) return;
    timer = setTimeout(() => {
      // A client that does not take what it has been sent needs no more.
      if (watch.isBetweenEvents && controller.desiredSize === 0) controller.enqueue(KEEP_ALIVE.slice());
      stayAlive(controller);
    }, ms);
    timer.unref();
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stayAlive(controller, Math.min(FIRST_MS, keepAliveMs));
        if (!watchedBy) return;
        unwatch = watchedBy(() => {
          if (isOver) return;
          incoming.cancel();
          close({ failedBy: 'gateway', errorCode: 'access_ended' });
          controller.error(undefined);
        });
      },
      async pull(controller) {
        try {
          const piece = await incoming.read();
          if (isOver) return;
          log.firstByte();
          if (piece === null) {
            watch.end();
            close({ failedBy: failedBy(status, watch.errorCode), errorCode: watch.errorCode });
            return controller.close();
          }
          capture.add(piece);
          watch.add(piece);
          controller.enqueue(piece);
          stayAlive(controller);
        } catch (error) {
          if (isOver) return;
          if (error instanceof UpstreamFailure && error.kind === 'aborted') closedByClient();
          else close({ failedBy: 'provider', errorCode: 'stream_broken' });
          // Cuts the client's connection, so that it resumes where it was; a clean end would say that this was all.
          controller.error(undefined);
        }
      },
      cancel() {
        incoming.cancel();
        closedByClient();
      },
    },
    { highWaterMark: 0 },
  );
}
