import { GatewayError } from '../../core/errors.ts';
import { formatSse } from '../../dialects/sse.ts';
import type { Shown, Watch } from './watch.ts';

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
const DONE = formatSse({ event: 'done', data: '[DONE]' });
const KEEP_ALIVE = ': keep-alive\n\n';

/** A watched run as a response. A client that disconnects only stops watching: the run goes on. */
export function eventStream(watch: Watch, onEnd: () => void): Response {
  const encoder = new TextEncoder();
  const shown = watch.follow();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const say = (text: string) => controller.enqueue(encoder.encode(text));
        try {
          const { value, done } = await shown.next();
          if (!done) return say(formatted(value));
        } catch (error) {
          say(formatSse({ event: 'error', data: JSON.stringify(errorData(error)) }));
        }
        say(DONE);
        controller.close();
        onEnd();
      },
      cancel() {
        watch.close();
        onEnd();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: HEADERS });
}

const formatted = (shown: Shown): string =>
  shown === null
    ? KEEP_ALIVE
    : formatSse({ event: shown.name, data: shown.data, ...(shown.id !== undefined && { id: shown.id }) });

/** In both shapes that clients look for: some take the event's data for the error, some look for a member of that name. */
function errorData(error: unknown) {
  const known = error instanceof GatewayError ? error : null;
  const told = {
    message: known?.message ?? 'The stream broke off; the run goes on. Read it again, or watch its events.',
    type: 'server_error',
    param: null,
    code: known?.code ?? 'server_error',
  };
  return { ...told, error: told };
}
