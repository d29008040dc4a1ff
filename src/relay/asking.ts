import { fail } from '../core/errors.ts';
import type { PlainHeaders } from '../core/header-map.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import { forwardedHeaders, namedHeader } from '../http/headers.ts';
import { type Incoming, receivedHeaders, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import type { Admission } from '../limits/limiter.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { TargetSettings } from '../routing/plan.ts';
import { waitBefore } from '../routing/retry.ts';
import { closeBody } from './body.ts';
import type { Body, OpenCall, Prepared } from './call.ts';
import { askInProcess } from './in-process.ts';
import { admitAgain, type LimitDeps, NOTHING_TAKEN, UNKNOWN_TAKEN } from './limits.ts';
import type { Target } from './target.ts';
import { readTimeout } from './timeout.ts';

export interface AskDeps {
  readonly upstream: Upstream;
  /** Answers calls to the built-in provider inside this process. */
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly now: () => number;
}

export interface Asked {
  readonly target: Target;
  readonly settings: TargetSettings;
  readonly prepared: Prepared;
  /** What is held for the first request. */
  readonly admission: Admission;
  /** Told what is held for each request after it; what was held before has been settled by then. */
  onAdmitted(admission: Admission): void;
  /** The answer is looked into, so it has to come unpacked. */
  readonly isJudged: boolean;
  /** The provider's answer as the client gets it, when it is a good one and may pass. */
  answered(incoming: Incoming): Incoming | Promise<Incoming>;
}

/**
 * Asks until there is an answer that the retry policy lets stand, or the limits have no room for another request. -1
 * retries: none of them helped.
 */
export async function askAgain(
  call: OpenCall,
  asked: Asked,
  deps: AskDeps & LimitDeps,
): Promise<{ incoming: Incoming; retries: number }> {
  const { target, prepared } = asked;
  const { retry } = asked.settings;
  const capture = prepared.body && call.log.captureRequest();
  // The client below has let go of a body that it was given whole when its exchange ends.
  if (capture) capture.transferable = prepared.body?.rest === null;
  const closed = closeBody(prepared.body, {
    maxBytes: deps.maxBodyBytes,
    whole: target.provider.signsBody === true,
    namesModel: call.isJson,
    tap: (piece) => capture?.add(piece),
  });
  const body = closed instanceof Promise ? await closed : closed;
  let { admission } = asked;
  let waitedMs = 0;
  for (let count = 1; ; count++) {
    let status: number;
    let incoming: Incoming | null = null;
    let failure: unknown;
    try {
      incoming = await ask(call, asked, body, deps);
      refuseStatus(incoming, target.provider.name);
      admission.sent();
      if (isGood(incoming)) {
        const answering = asked.answered(incoming);
        incoming = answering instanceof Promise ? await answering : answering;
      }
      status = incoming.status;
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || error.sent === 'maybe') admission.sent();
      status = failureStatus(error);
      failure = error;
      incoming = null;
    }
    const headers = incoming && retry.attempts > 0 ? receivedHeaders(incoming) : null;
    const wait = waitBefore(retry, { attempt: count, status, headers, waitedMs, now: deps.now() });
    const mayAsk = wait !== null && !call.request.signal.aborted;
    if (mayAsk) admission.settle(incoming ? NOTHING_TAKEN : UNKNOWN_TAKEN);
    const next = mayAsk ? await admitAgain(call, target, prepared, deps) : null;
    if (wait === null || next === null) {
      if (!incoming) throw failure;
      const isInVain = retry.attempts > 0 && retry.statuses.has(status);
      const answer = isGood(incoming) ? incoming : await asked.answered(incoming);
      return { incoming: answer, retries: isInVain ? -1 : count - 1 };
    }
    admission = next.admission;
    asked.onAdmitted(admission);
    incoming?.cancel();
    waitedMs += wait;
    await sleep(wait, call.request.signal);
  }
}

/** A refusal is only read when nobody is asked again. */
const isGood = ({ status }: Incoming) => status < 400;

/** The status a retry policy knows a failure by; 0 for what is none of the provider's. */
function failureStatus(error: unknown): number {
  if (error instanceof GuardrailDenied) return error.status;
  if (error instanceof UpstreamFailure) return error.kind === 'aborted' ? 0 : error.toGatewayError().status;
  return 0;
}

/** Ends early when the client leaves: nobody waits for what comes after. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', done);
    resolve();
  };
  const timer = setTimeout(done, ms);
  signal.addEventListener('abort', done);
  return promise;
}

/** One request to the provider. Throws, or fails later; asynchronous only where it has to be, for every call passes here. */
function ask(call: OpenCall, asked: Asked, body: Body, deps: AskDeps): Promise<Incoming> {
  const { target, settings, prepared } = asked;
  const { method } = call.request;
  const url = upstreamUrl(target.provider, target.options, target.customHost, prepared.path, prepared.search);
  const headers = outgoingHeaders(call, asked, body);
  const authorizing = target.provider.authorize({
    provider: target.provider.name,
    credential: target.credential,
    options: target.options,
    method,
    url,
    headers,
    body: body instanceof Uint8Array ? body : null,
    tokens: deps.tokens,
    now: deps.now(),
  });
  const send: Send = (signal, isHeededLate) =>
    target.provider.inProcess
      ? askInProcess(deps.simulate, { method, url, headers, body, signal })
      : deps.upstream.send({ method, url, headers, body, signal, isHeededLate, timeouts: deps.timeouts });
  const start = () => withinDeadline(call, settings, send);
  return authorizing ? authorizing.then(start) : start();
}

/** A status that HTTP does not know would be the gateway's fault in the client's eyes. */
function refuseStatus(incoming: Incoming, provider: string) {
  const { status } = incoming;
  if (status >= 200 && status <= 599) return;
  incoming.cancel();
  fail('upstream_failed', provider, `its status ${status} is none of HTTP's`);
}

/** The client's headers, the provider's and the virtual key's; those that say who pays come after them. */
function outgoingHeaders(
  { headers: sent }: OpenCall,
  { target, settings, prepared, isJudged }: Asked,
  body: Body,
): PlainHeaders {
  const { provider, headers: stored } = target;
  const { forwardHeaders } = settings;
  const headers = forwardedHeaders(sent);
  if (forwardHeaders) {
    for (const name of forwardHeaders) {
      const value = namedHeader(sent, name);
      if (value !== undefined) headers.set(name, value);
    }
  }
  if (provider.headers) {
    for (const name in provider.headers) if (!headers.has(name)) headers.set(name, provider.headers[name]!);
  }
  if (prepared.translation) {
    for (const name in prepared.translation.headers) headers.set(name, prepared.translation.headers[name]!);
  }
  if (stored) for (const name in stored) headers.set(name, stored[name]!);
  if (isJudged) headers.set('accept-encoding', 'identity');
  // A stream is sent with the length the client declared, where it declared one.
  const length = sent['content-length'];
  if (body instanceof ReadableStream && length !== undefined)
    headers.set('content-length', String(Number(length) + prepared.grownBy));
  return headers;
}

type Send = (signal: AbortSignal, isHeededLate: boolean) => Promise<Incoming>;

/** The limit for one request (the config's, else `x-gateway-request-timeout`) and the client's hanging up, as one signal. */
function withinDeadline({ request, headers }: OpenCall, { timeoutMs }: TargetSettings, send: Send): Promise<Incoming> {
  const ms = timeoutMs ?? readTimeout(headers);
  if (ms === null) return send(request.signal, true);
  const timer = new AbortController();
  let hasPassed = false;
  const timeout = setTimeout(() => {
    hasPassed = true;
    timer.abort();
  }, ms);
  return send(AbortSignal.any([request.signal, timer.signal]), false)
    .catch((error) => {
      if (hasPassed) fail('request_timeout', ms);
      throw error;
    })
    .finally(() => clearTimeout(timeout));
}
