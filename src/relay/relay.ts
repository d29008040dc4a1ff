import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { CallLog } from '../core/call-log.ts';
import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { forwardedHeaders, headerOf, returnedHeaders, type SentHeaders, sentHeaders } from '../http/headers.ts';
import { type Incoming, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { TokenSource } from '../providers/provider.ts';
import { selectProvider } from '../routing/select.ts';
import { type Body, closeBody, isJson, modelOf, openBody, takeModelSlug } from './body.ts';
import { readMetadata } from './metadata.ts';
import { findTarget, type Target } from './target.ts';

/** One model call as it came in. */
export interface ModelCall {
  readonly request: Request;
  readonly headers: SentHeaders;
  /** What the answer carries beside the provider's headers. */
  readonly stamp: SentHeaders;
  /** The path after `/v1`. */
  readonly path: string;
  /** The query with its question mark, or nothing. */
  readonly search: string;
  readonly principal: Principal;
  /** The credential the caller brought for the provider. */
  readonly providerKey: string | null;
  /** Whether a JSON body is looked into for `model: "@slug/name"`. */
  readonly readsModel: boolean;
  readonly log: CallLog;
}

export interface RelayDeps {
  readonly upstream: Upstream;
  /** Answers calls to the built-in provider inside this process. */
  readonly simulate: (request: Request) => Promise<Response>;
  readonly virtualKeys: VirtualKeys;
  readonly tokens: TokenSource;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly now: () => number;
}

/** An answer of known size below this is read at once; anything else streams. */
const SMALL_ANSWER = 256 << 10;

/** The life of one model call, in the order things happen. The log entry closes on the last byte. */
export async function relay(call: ModelCall, deps: RelayDeps): Promise<Response> {
  const { request, headers, log, principal } = call;
  log.metadata = readMetadata(headers, principal.defaults.metadata);
  log.keepBodies = headerOf(headers, 'x-gateway-debug')?.toLowerCase() !== 'false';
  log.requestHeaders = headers;

  const received = await openBody(request, headers, deps.maxBodyBytes);
  const readable = received && isJson(headers) ? received : null;
  const named = readable && call.readsModel ? takeModelSlug(readable.head) : null;
  const opening = received && named ? { ...received, head: named.head } : received;
  if (readable) log.model = modelOf(opening!.head);

  const selection = selectProvider({ headers, path: call.path }, principal.defaults, named?.slug ?? null);
  // What is at hand is not awaited: every await is another round through the queue of jobs.
  const found = findTarget(selection, principal, { headers, providerKey: call.providerKey }, deps.virtualKeys);
  const target = found instanceof Promise ? await found : found;
  log.provider = target.provider.name;
  log.virtualKey = target.virtualKey;

  const url = upstreamUrl(target.provider, target.options, target.customHost, call.path, call.search);
  const capture = opening && log.captureRequest();
  // fetch copies a body that it is given whole.
  if (capture) capture.transferable = opening.rest === null;
  const closed = closeBody(opening, {
    maxBytes: deps.maxBodyBytes,
    whole: target.provider.signsBody === true,
    tap: (piece) => capture?.add(piece),
  });
  const body = closed instanceof Promise ? await closed : closed;
  const grownBy = opening && received ? opening.head.byteLength - received.head.byteLength : 0;
  const outgoing = outgoingHeaders(call, target, { body, grownBy });
  const authorizing = target.provider.authorize({
    provider: target.provider.name,
    credential: target.credential,
    options: target.options,
    method: request.method,
    url,
    headers: outgoing,
    body: body instanceof Uint8Array ? body : null,
    tokens: deps.tokens,
    now: deps.now(),
  });
  if (authorizing) await authorizing;

  const deadline = startDeadline(call);
  try {
    const incoming = target.provider.inProcess
      ? await inProcess(deps.simulate, {
          method: request.method,
          url,
          headers: outgoing,
          body,
          signal: deadline.signal,
        })
      : await deps.upstream.send({
          method: request.method,
          url,
          headers: outgoing,
          body,
          signal: deadline.signal,
          timeouts: deps.timeouts,
        });
    deadline.disarm();
    return await answerOrCancel(call, incoming);
  } catch (error) {
    deadline.disarm();
    if (deadline.hasPassed) fail('request_timeout', deadline.ms);
    throw error;
  }
}

/** The client's headers, the provider's and the virtual key's; those that say who pays come after them. */
function outgoingHeaders(
  { headers: sent }: ModelCall,
  { provider, headers: stored }: Target,
  { body, grownBy }: { body: Body; grownBy: number },
): Headers {
  const headers = forwardedHeaders(sent);
  if (provider.headers) {
    for (const name in provider.headers) if (!headers.has(name)) headers.set(name, provider.headers[name]!);
  }
  if (stored) for (const name in stored) headers.set(name, stored[name]!);
  // A stream is sent with the length the client declared, where it declared one.
  const length = sent['content-length'];
  if (body instanceof ReadableStream && length !== undefined)
    headers.set('content-length', String(Number(length) + grownBy));
  return headers;
}

/** Whatever keeps an answer from the client, its connection does not stay open behind it. */
async function answerOrCancel(call: ModelCall, incoming: Incoming): Promise<Response> {
  try {
    const { status } = incoming;
    if (status < 200 || status > 599)
      fail('upstream_failed', call.log.provider ?? 'The provider', `its status ${status} is none of HTTP's`);
    return await answer(call, incoming);
  } catch (error) {
    incoming.cancel();
    throw error;
  }
}

/** The provider's answer as the client gets it: the same status, the same end-to-end headers, the same bytes. */
async function answer(call: ModelCall, incoming: Incoming): Promise<Response> {
  const { log, request } = call;
  const { status } = incoming;
  const received = sentHeaders(incoming.headers);
  const failedBy = status >= 400 ? 'provider' : null;
  const stamp = failedBy ? { ...call.stamp, 'x-gateway-error-origin': failedBy } : call.stamp;
  const headers = returnedHeaders(received, stamp);
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
function relayedBody({ log }: ModelCall, incoming: Incoming, status: number): ReadableStream<Uint8Array> {
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
          log.close({
            status,
            failedBy: isClient ? 'client' : 'provider',
            errorCode: isClient ? 'client_closed' : 'stream_broken',
          });
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

/** The client's own limit (`x-gateway-request-timeout`) and its hanging up, as one signal for the provider's call. */
function startDeadline({ request, headers }: ModelCall) {
  const text = headerOf(headers, 'x-gateway-request-timeout');
  if (text === null) return { signal: request.signal, ms: 0, hasPassed: false, disarm: () => {} };
  const ms = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (ms < 1) fail('invalid_header', 'x-gateway-request-timeout', 'give a whole number of milliseconds above 0');
  const timer = new AbortController();
  const deadline = {
    signal: AbortSignal.any([request.signal, timer.signal]),
    ms,
    hasPassed: false,
    disarm: () => clearTimeout(timeout),
  };
  const timeout = setTimeout(() => {
    deadline.hasPassed = true;
    timer.abort();
  }, ms);
  return deadline;
}

/** The built-in provider, seen like any other. */
async function inProcess(
  simulate: RelayDeps['simulate'],
  {
    method,
    url,
    headers,
    body,
    signal,
  }: { method: string; url: string; headers: Headers; body: Body; signal: AbortSignal },
): Promise<Incoming> {
  const response = await simulate(new Request(url, { method, headers, body: body as RequestInit['body'], signal }));
  const host = 'the built-in simulator';
  const failure = (kind: 'aborted' | 'broken') =>
    new UpstreamFailure({ host, phase: 'body', kind, sent: 'maybe', why: 'its answer ended early' });
  const reader = response.body?.getReader();
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    read: async () => {
      try {
        return (await reader?.read())?.value ?? null;
      } catch {
        throw failure(signal.aborted ? 'aborted' : 'broken');
      }
    },
    bytes: async () => {
      reader?.releaseLock();
      return response.bytes();
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
