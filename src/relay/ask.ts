import type { OutgoingTrace } from '../core/call-log.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { PlainHeaders } from '../core/header-map.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import { forwardedHeaders, headerOf, namedHeader, type SentHeaders } from '../http/headers.ts';
import { type Incoming, receivedHeaders, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { TargetSettings } from '../routing/plan.ts';
import type { ProviderOutcomes } from '../routing/provider-outcomes.ts';
import { waitBefore } from '../routing/retry.ts';
import { closeBody } from './body.ts';
import type { Body, Exchange, OpenCall } from './call.ts';
import { tlsFor } from './client-certificate.ts';
import { askInProcess } from './in-process.ts';
import { admitAgain, type LimitDeps, NOTHING_TAKEN, takenInVain } from './limits.ts';
import { loggedBody, SecretsMask } from './logged-body.ts';
import { type Asking, answeredInJson } from './repair.ts';
import { againIfRefused } from './stream-usage.ts';
import type { Target } from './target.ts';

export interface AskDeps extends LimitDeps {
  readonly upstream: Upstream;
  /** Answers calls to the built-in provider inside this process. */
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly outcomes: ProviderOutcomes;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly now: () => number;
}

/** The stage after this one: the provider's answer as the client gets it, when it is a good one and may pass. */
export type Answer<Deps> = (exchange: Exchange, incoming: Incoming, deps: Deps) => Promise<Incoming>;

/**
 * Asks until there is an answer that the retry policy lets stand, or the limits have no room for another request. Says in the
 * notes how often it was asked again; -1: none of that helped.
 */
export async function ask<Deps extends AskDeps>(
  exchange: Exchange,
  answer: Answer<Deps>,
  deps: Deps,
): Promise<Incoming> {
  const { call, target, prepared, notes } = exchange;
  const { retry } = exchange.settings;
  const isJudged = exchange.guarding?.touchesAnswers === true;
  let body = await bodyToSend(exchange, deps.maxBodyBytes);
  let payer = target;
  const once = (sent: Body, reason: string | null = null): Promise<Incoming> => {
    const asking = askOnce(exchange, payer, isJudged, sent, deps, reason);
    return payer.renewed ? asking.then((incoming) => againIfRenewed(incoming, sent)) : asking;
  };
  /** A credential that a store keeps may have been changed there a moment ago. */
  const againIfRenewed = async (incoming: Incoming, sent: Body): Promise<Incoming> => {
    const renewed = incoming.status === 401 ? await payer.renewed!().catch(() => null) : null;
    if (!renewed || sent instanceof ReadableStream || call.request.signal.aborted) return incoming;
    payer = renewed;
    incoming.cancel();
    call.log.leaves();
    return askOnce(exchange, payer, isJudged, sent, deps, 'secret_renewed');
  };
  const askWithoutWish = (unasked: Uint8Array) => {
    body = unasked;
    call.log.leaves();
    return once(body, 'stream_options_refused');
  };
  const checking = (): Asking => ({
    answer: (incoming) => answer(exchange, incoming, deps),
    again: async (repair) => {
      const incoming = await once(repair);
      refuseStatus(incoming, target.provider.name);
      exchange.admission.sent();
      return incoming;
    },
  });
  let waitedMs = 0;
  for (let count = 1; ; count++) {
    let status: number;
    let incoming: Incoming | null = null;
    let failure: unknown;
    try {
      incoming = await once(body);
      if (incoming.status >= 400 && prepared.unasked)
        incoming = await againIfRefused(exchange, incoming, askWithoutWish);
      refuseStatus(incoming, target.provider.name);
      exchange.admission.sent();
      if (isGood(incoming))
        incoming = prepared.isChecked
          ? await answeredInJson(exchange, incoming, checking(), deps)
          : await answer(exchange, incoming, deps);
      status = incoming.status;
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || error.sent === 'maybe') exchange.admission.sent();
      status = failureStatus(error);
      failure = error;
      noteFailure(call.log, error);
      incoming = null;
    }
    deps.outcomes.ended(call.principal.workspaceId, target.provider.name, status);
    const headers = incoming && retry.attempts > 0 ? receivedHeaders(incoming) : null;
    const wait = waitBefore(retry, { attempt: count, status, headers, waitedMs, now: deps.now() });
    const mayAsk = wait !== null && !call.request.signal.aborted;
    if (mayAsk) exchange.admission.settle(incoming ? NOTHING_TAKEN : takenInVain(failure, call, target, deps.prices));
    const next = mayAsk ? await admitAgain(call, target, prepared, deps) : null;
    if (wait === null || next === null) {
      if (!incoming) throw failure;
      const isInVain = retry.attempts > 0 && retry.statuses.has(status);
      const answered = isGood(incoming) ? incoming : await answer(exchange, incoming, deps);
      notes['x-gateway-retry-attempt-count'] = isInVain ? '-1' : String(count - 1);
      return answered;
    }
    exchange.admission = next;
    Object.assign(notes, next.headers);
    call.log.leaves();
    incoming?.cancel();
    waitedMs += wait;
    await sleep(wait, call.request.signal);
  }
}

/** The body as it goes out, and into the log. */
async function bodyToSend(exchange: Exchange, maxBytes: number): Promise<Body> {
  const { call, target } = exchange;
  const { body } = exchange.prepared;
  if (!body) return null;
  const capture = call.log.captureRequest();
  if (exchange.isTranslated && call.body && !body.rest) {
    // In the client's words, as its config and its guardrails have left it.
    capture.add(loggedBody(call.body));
    call.log.captureSent()?.add(loggedBody(body));
    return body.head;
  }
  // The client below has let go of a body that it was given whole when its exchange ends.
  capture.transferable = body.rest === null;
  if (!body.rest) {
    if (body.head.byteLength > 0) capture.add(loggedBody(body));
    return body.head;
  }
  // Where one piece names a server, what it is asked with may stand in another.
  const mask = call.isJson ? new SecretsMask() : null;
  return closeBody(body, {
    maxBytes,
    whole: target.provider.signsBody === true,
    namesModel: call.isJson,
    tap: (piece) => capture.add(mask?.push(piece) ?? piece),
  });
}

/** The body of a refusal is read only when the provider is not asked again. */
const isGood = ({ status }: Incoming) => status < 400;

/** The status a retry policy knows a failure by; 0 for what is none of the provider's. */
function failureStatus(error: unknown): number {
  if (error instanceof GuardrailDenied) return error.status;
  if (error instanceof UpstreamFailure) return error.kind === 'aborted' ? 0 : error.toGatewayError().status;
  return 0;
}

/** Tells the log how a target failed. */
export function noteFailure(log: OpenCall['log'], error: unknown): void {
  const failure = error instanceof UpstreamFailure ? error.toGatewayError() : error;
  if (error instanceof UpstreamFailure && error.kind === 'aborted') log.failed(499, 'client_closed');
  else if (failure instanceof GatewayError) log.failed(failure.status, failure.code);
  else log.failed(500, 'internal_error');
}

/** Ends early when the client leaves: nothing waits for the next attempt then. */
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

/** One request to the provider. */
async function askOnce(
  exchange: Exchange,
  target: Target,
  isJudged: boolean,
  body: Body,
  deps: AskDeps,
  reason: string | null,
): Promise<Incoming> {
  const { call, settings, prepared } = exchange;
  const { method } = call.request;
  const url = upstreamUrl(target.provider, target.options, target.customHost, prepared.path, prepared.search);
  call.log.asks(target.provider.inProcess ? null : url, reason);
  if (call.line) {
    const judged = call.body?.head ?? null;
    const answered = await call.line({ isJudged, admission: exchange.admission, body: judged });
    call.log.answered(answered.status, null);
    return answered;
  }
  const headers = outgoingHeaders(exchange, target, isJudged, body);
  const trace = call.log.outgoingTrace();
  if (trace) writeTrace(headers, trace);
  if (target.authorization) headers.set('authorization', target.authorization.reveal());
  else
    await target.provider.authorize({
      provider: target.provider.name,
      credential: target.credential,
      ...(target.machine && { machine: target.machine }),
      options: target.options,
      method,
      url,
      headers,
      body: body instanceof Uint8Array ? body : null,
      tokens: deps.tokens,
      now: deps.now(),
    });
  const tls = target.tls && tlsFor(target, deps.now());
  const send: Send = (signal, isHeededLate) =>
    target.provider.inProcess
      ? askInProcess(deps.simulate, { method, url, headers, body, signal })
      : deps.upstream.send({ method, url, headers, body, signal, isHeededLate, tls, timeouts: deps.timeouts });
  const incoming = await withinDeadline(call, settings, send);
  call.log.answered(incoming.status, incoming.connectMs ?? null);
  return incoming;
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
  { call: { headers: sent }, settings, prepared }: Exchange,
  target: Target,
  isJudged: boolean,
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
  // The answer is looked into, so it has to come unpacked.
  if (isJudged) headers.set('accept-encoding', 'identity');
  // A stream is sent with the length the client declared, where it declared one.
  const length = sent['content-length'];
  if (body instanceof ReadableStream && length !== undefined)
    headers.set('content-length', String(Number(length) + prepared.grownBy));
  return headers;
}

/** Each request has a span of its own, which is the parent of what the provider does. */
function writeTrace(headers: PlainHeaders, { traceparent, tracestate }: OutgoingTrace): void {
  headers.set('traceparent', traceparent);
  if (tracestate === null) headers.delete('tracestate');
  else headers.set('tracestate', tracestate);
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

const TIMEOUT_HEADER = 'x-gateway-request-timeout';

/** How many milliseconds a request gives the provider to begin its answer; null when it does not say. */
export function readTimeout(headers: SentHeaders): number | null {
  const text = headerOf(headers, TIMEOUT_HEADER);
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return ms >= 1 ? ms : fail('invalid_header', TIMEOUT_HEADER, 'give a whole number of milliseconds above 0');
}
