import { GatewayError } from '../core/errors.ts';
import { CONVERSATIONS, dialects } from '../dialects/index.ts';
import type { Failure } from '../dialects/ir.ts';
import { formatSse } from '../dialects/sse.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import { returnedHeaders, type SentHeaders } from '../http/headers.ts';
import { type Incoming, receivedHeaders, UpstreamFailure } from '../http/upstream.ts';
import type { Attempted, ModelCall } from './call.ts';

/** An answer of known size below this is read at once; anything else streams. */
const SMALL_ANSWER = 256 << 10;

/** How long the error that ends a broken stream has to reach the client. */
const LAST_WORD_MS = 250;

/** The provider's answer as the client gets it: the same status, the same end-to-end headers, the same bytes. */
export async function respond(call: ModelCall, attempted: Attempted): Promise<Response> {
  try {
    return await answer(call, attempted);
  } catch (error) {
    // Its connection does not stay open behind an answer that the client does not get.
    attempted.discard();
    throw error;
  }
}

async function answer(call: ModelCall, attempted: Attempted): Promise<Response> {
  const { log, request } = call;
  const { status, incoming } = attempted;
  const received = receivedHeaders(incoming);
  const failedBy = status >= 400 ? 'provider' : null;
  const headers = returnedHeaders(received, call.stamp, notesOf(attempted));
  log.responseHeaders = received;
  const type = received['content-type'] ?? '';
  log.isStream = type.startsWith('text/event-stream') || type.startsWith('application/vnd.amazon.eventstream');
  const init = { status, statusText: incoming.statusText, headers };

  if (request.method === 'HEAD' || status === 204 || status === 304) {
    await incoming.bytes();
    log.firstByte();
    log.close({ status, failedBy });
    return new Response(null, init);
  }
  const length = Number(received['content-length'] ?? Number.NaN);
  if (length <= SMALL_ANSWER && !log.isStream) {
    const bytes = await incoming.bytes();
    log.firstByte();
    // Copies the bytes, which the log may take away as soon as it is closed.
    const response = new Response(bytes as Uint8Array<ArrayBuffer>, init);
    const answered = log.captureResponse();
    answered.transferable = true;
    answered.add(bytes);
    log.close({ status, failedBy });
    return response;
  }
  log.closesLater = true;
  return new Response(relayedBody(call, incoming, status), init);
}

/** Bytes pass one piece at a time, and only when the client takes them. */
function relayedBody(call: ModelCall, incoming: Incoming, status: number): ReadableStream<Uint8Array> {
  const { log } = call;
  const capture = log.captureResponse();
  let isFirst = true;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await incoming.read();
          if (isFirst) {
            isFirst = false;
            log.firstByte();
          }
          if (piece === null) {
            log.close({ status, failedBy: status >= 400 ? 'provider' : null });
            return controller.close();
          }
          capture.add(piece);
          controller.enqueue(piece);
        } catch (error) {
          const isClient = error instanceof UpstreamFailure && error.kind === 'aborted';
          const isOurs = error instanceof GatewayError;
          log.close({
            status,
            failedBy: isClient ? 'client' : isOurs ? 'gateway' : 'provider',
            errorCode: isClient ? 'client_closed' : isOurs ? error.code : 'stream_broken',
          });
          const last = isClient ? null : brokenEvent(call, error);
          if (last) {
            controller.enqueue(last);
            // A connection that is cut takes along what its reader has not taken yet.
            await Bun.sleep(LAST_WORD_MS);
          }
          // Cuts the client's connection: a clean end would pass half an answer off as a whole one. Without a reason,
          // because Bun prints every other one to stderr.
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

/** How a stream that broke ends: with an error in the client's dialect, where the endpoint says which that is. */
function brokenEvent({ endpoint, log, stamp }: ModelCall, error: unknown): Uint8Array | null {
  const dialect = log.isStream ? CONVERSATIONS[endpoint] : undefined;
  const inbound = dialect && dialects[dialect].inbound;
  const isDenied = error instanceof GuardrailDenied;
  if (!inbound) return isDenied && log.isStream ? Buffer.from(formatSse({ data: JSON.stringify(error.body()) })) : null;
  const encoder = inbound.encodeStream({
    request: { model: log.model ?? '' },
    id: stamp['x-gateway-request-id'] ?? '',
    now: Date.now(),
  });
  const events = encoder.push({ type: 'error', failure: isDenied ? deniedFailure(error) : brokenFailure(error) });
  // The blank line ends an event of which only a part had come.
  return Buffer.from(`\n\n${events.map(formatSse).join('')}`);
}

const deniedFailure = ({ message, status, code }: GuardrailDenied): Failure => ({
  kind: 'permission',
  status,
  message,
  code,
});

function brokenFailure(error: unknown): Failure {
  const why = error instanceof Error ? error.message : 'unknown';
  return { kind: 'server', status: 502, message: `The provider's stream broke off: ${why}`, code: 'stream_broken' };
}

/** What the gateway says of the answer. */
const notesOf = ({ status, notes }: Attempted): SentHeaders =>
  status >= 400 ? { ...notes, 'x-gateway-error-origin': 'provider' } : notes;
