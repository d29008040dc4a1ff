import type { CallLog } from '../core/call-log.ts';

/** A stream that asks for the next piece only when its reader does; `end` is called once, however it ends. */
export function streamOf(next: () => Promise<Uint8Array | null>, end: () => unknown = () => {}) {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const piece = await next();
          if (piece) return controller.enqueue(piece);
          await end();
          controller.close();
        } catch (error) {
          await end();
          controller.error(error);
        }
      },
      cancel: async () => {
        await end();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The stream, and the log entry that closes with it. */
export function closingLog(
  content: ReadableStream<Uint8Array>,
  log: CallLog,
  status: number,
): ReadableStream<Uint8Array> {
  log.closesLater = true;
  const reader = content.getReader();
  let isOver = false;
  const next = async () => {
    try {
      const { value } = await reader.read();
      log.firstByte();
      if (value) return value;
      isOver = true;
      log.close({ status });
      return null;
    } catch {
      isOver = true;
      log.close({ status, failedBy: 'gateway', errorCode: 'stream_broken' });
      // Cuts the connection: a clean end would pass a part off as the whole. Bun prints every reason but this one.
      throw undefined;
    }
  };
  return streamOf(next, () => {
    if (isOver) return;
    log.close({ status, failedBy: 'client', errorCode: 'client_closed' });
    return reader.cancel();
  });
}
