import type { CallLog } from '../core/call-log.ts';
import { type Incoming, UpstreamFailure } from '../http/upstream.ts';

/** Bytes pass one piece at a time, untouched, and only when the client takes them. */
export function answerStream(log: CallLog, incoming: Incoming): ReadableStream<Uint8Array> {
  const { status } = incoming;
  const capture = log.captureResponse();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await incoming.read();
          log.firstByte();
          if (piece === null) {
            log.close({ status, failedBy: status >= 400 ? 'provider' : null });
            return controller.close();
          }
          capture.add(piece);
          controller.enqueue(piece);
        } catch (error) {
          const isClient = error instanceof UpstreamFailure && error.kind === 'aborted';
          log.close({
            status,
            failedBy: isClient ? 'client' : 'provider',
            errorCode: isClient ? 'client_closed' : 'stream_broken',
          });
          // Cuts the client's connection, so that it resumes where it was; a clean end would say that this was all.
          controller.error(undefined);
        }
      },
      cancel() {
        incoming.cancel();
        log.close({ status, failedBy: 'client', errorCode: 'client_closed' });
      },
    },
    { highWaterMark: 0 },
  );
}
