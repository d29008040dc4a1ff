import { fail } from '../core/errors.ts';
import { NANO_DOLLARS } from '../core/limits.ts';
import type { Usage } from '../core/usage.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import { forwardedHeaders, headerOf, namedHeader, type SentHeaders } from '../http/headers.ts';
import { type Incoming, receivedHeaders, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import type { Admission } from '../limits/limiter.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { AnswerCache, Lead } from '../routing/cache.ts';
import type { TargetSettings } from '../routing/plan.ts';
import { waitBefore } from '../routing/retry.ts';
import { type Body, closeBody, keepWhole } from './body.ts';
import { lookUp, replay } from './cached.ts';
import type { Guard } from './guard.ts';
import { finish, letThrough, openGuard, settleDenied } from './guarded-call.ts';
import { keptAfterVerdict } from './guarded-kept.ts';
import type { Guarding } from './guarding.ts';
import { askInProcess } from './in-process.ts';
import { openKeptResponse, type ResponseKeeper } from './kept-response.ts';
import { admit, type LimitDeps } from './limits.ts';
import { type Prepared, passesAsIs, prepare, refuseUnsupported, withParams } from './prepare.ts';
import type { OpenCall } from './relay.ts';
import { fetchMedia, MediaWanted } from './remote-media.ts';
import { askForUsage } from './stream-usage.ts';
import type { Target } from './target.ts';

export interface AttemptDeps extends LimitDeps {
  readonly upstream: Upstream;
  /** Answers calls to the built-in provider inside this process. */
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly cache: AnswerCache;
  readonly responses?: ResponseKeeper;
  readonly guard: Guard;
  readonly now: () => number;
}

/** Whom to ask, how, and under which name the answer says so. */
export interface Attempt {
  readonly target: Target;
  readonly settings: TargetSettings;
  /** `config`, `config.targets[1]`. */
  readonly path: string;
}

/** A target's answer as the client gets it, its body unread. */
export interface Attempted {
  readonly status: number;
  readonly incoming: Incoming;
  /** What the gateway says about it, beside the provider's headers. */
  readonly notes: SentHeaders;
  discard(): void;
}

/** Asks one target: within its limits, from the cache where the config wants that, again where its retry policy says so. */
export async function attempt(
  given: OpenCall,
  { target, settings, path }: Attempt,
  deps: AttemptDeps,
): Promise<Attempted> {
  refuseUnsupported(target.provider, given.endpoint);
  const isRead = settings.params !== null || !passesAsIs(target.provider, given.endpoint);
  const whole = given.body?.rest && isRead ? { ...given, body: await keepWhole(given.body, deps.maxBodyBytes) } : given;
  const edited = settings.params ? withParams(whole, settings.params) : whole;
  const { log } = edited;
  log.provider = target.provider.name;
  log.virtualKey = target.virtualKey;
  log.prices = target.prices;
  log.usage = null;
  const opening = openGuard(edited, target, settings, deps.guard);
  const guarding = opening instanceof Promise ? await opening : opening;
  const isHeld = edited.body?.rest && guarding?.readsRequest;
  const call = isHeld ? { ...edited, body: await keepWhole(edited.body!, deps.maxBodyBytes) } : edited;
  const preparing = ready(call, { target, settings, isRead, guarding }, deps);
  const asIs = preparing instanceof Promise ? await preparing : preparing;
  const admitting = admit(call, target, asIs.prepared, deps);
  const { admission, countsUsage } = admitting instanceof Promise ? await admitting : admitting;
  let turn: Lead | null = null;
  const notes: Record<string, string> = {};
  try {
    const passed = guarding ? await letThrough(call, guarding) : call;
    const made = passed === call ? asIs : await ready(passed, { target, settings, isRead, guarding }, deps);
    const prepared = countsUsage ? askForUsage(passed, target, made.prepared) : made.prepared;
    const cached = settings.cache ? await lookUp(passed, { target, settings, prepared }, deps.cache) : null;
    turn = cached?.turn ?? null;
    Object.assign(notes, {
      ...admission.headers,
      ...prepared.translation?.notes,
      'x-gateway-last-used-option-index': path,
      'x-gateway-cache-status': cached?.status ?? 'DISABLED',
      'x-gateway-retry-attempt-count': '0',
    });
    const finishing = { guarding, turn, now: deps.now, onPassed: made.onPassed };
    if (cached?.hit) {
      log.isCached = true;
      return attempted(passed, await finish(replay(cached.hit), { ...finishing, turn: null }), notes, admission);
    }
    const answered = async (incoming: Incoming) => {
      const answer = prepared.translation ? await prepared.translation.answer(incoming, reportTo(log)) : incoming;
      return finish(answer, finishing);
    };
    const isJudged = guarding !== null && (guarding.judgesAnswers || guarding.told !== null);
    const asked = { target, settings, prepared, admission, isJudged, answered };
    const { incoming, retries } = await askAgain(passed, asked, deps);
    notes['x-gateway-retry-attempt-count'] = String(retries);
    return attempted(passed, incoming, notes, admission);
  } catch (error) {
    turn?.giveUp();
    settleDenied(error, call, { target, admission, prices: deps.prices });
    throw error instanceof GuardrailDenied ? error.with(notes) : error;
  }
}

interface Ready {
  readonly prepared: Prepared;
  /** Called with the answer that has passed the guardrails. */
  readonly onPassed?: (bytes: Uint8Array, type: string) => Promise<void>;
}

interface Readying {
  readonly target: Target;
  readonly settings: TargetSettings;
  /** Whether the body is read for this target. */
  readonly isRead: boolean;
  readonly guarding: Guarding | null;
}

function ready(call: OpenCall, readying: Readying, deps: AttemptDeps): Ready | Promise<Ready> {
  const { target, settings, isRead, guarding } = readying;
  if (call.endpoint === 'createModelResponse' && isRead) return readyToKeep(call, target, settings, guarding, deps);
  const preparing = prepareWithMedia(call, target, settings, deps);
  return preparing instanceof Promise ? preparing.then((prepared) => ({ prepared })) : { prepared: preparing };
}

async function readyToKeep(
  given: OpenCall,
  target: Target,
  settings: TargetSettings,
  guarding: Guarding | null,
  deps: AttemptDeps,
): Promise<Ready> {
  const call = await withKeptResponse(given, deps);
  const later = call.kept && guarding?.judgesAnswers ? keptAfterVerdict(call.kept) : null;
  const prepared = await prepareWithMedia(later ? { ...call, kept: later.kept } : call, target, settings, deps);
  return later ? { prepared, onPassed: later.passed } : { prepared };
}

/** At once, unless the provider wants files of which the client gave the addresses. */
function prepareWithMedia(
  call: OpenCall,
  target: Target,
  settings: TargetSettings,
  { upstream, now }: AttemptDeps,
): Prepared | Promise<Prepared> {
  try {
    return prepare(call, target, settings, now);
  } catch (error) {
    if (!(error instanceof MediaWanted)) throw error;
    const fetching = fetchMedia(error.wanted, { upstream, signal: call.request.signal });
    return fetching.then((files) => prepare({ ...call, files }, target, settings, now));
  }
}

/** Providers without the Responses API keep no conversation; the gateway does it for them. */
async function withKeptResponse(call: OpenCall, { responses }: AttemptDeps): Promise<OpenCall> {
  if (!call.isJson || !call.body || !responses) return call;
  return { ...call, kept: await openKeptResponse(call.principal, call.body.head, responses) };
}

const reportTo = (log: OpenCall['log']) => (usage: Usage) => {
  log.usage = usage;
};

/** A provider that refused took nothing. */
const NOTHING = { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, cost: 0, model: null };

/** The limits are settled with what the log has counted when the last byte has passed, or when the answer is not used. */
function attempted({ log }: OpenCall, incoming: Incoming, notes: SentHeaders, admission: Admission): Attempted {
  const { status } = incoming;
  log.onCounted = ({ usage, cost, model }) =>
    admission.settle(
      status >= 400 ? NOTHING : { usage, cost: cost === null ? null : Math.round(cost * NANO_DOLLARS), model },
    );
  const discard = () => {
    log.onCounted = null;
    admission.settle(status >= 400 ? NOTHING : { usage: null, cost: null, model: null });
    incoming.cancel();
  };
  return { status, incoming, notes, discard };
}
interface Asked {
  readonly target: Target;
  readonly settings: TargetSettings;
  readonly prepared: Prepared;
  readonly admission: Admission;
  /** The answer is looked into, so it has to come unpacked. */
  readonly isJudged: boolean;
  /** The provider's answer as the client gets it, when it is a good one and may pass. */
  answered(incoming: Incoming): Promise<Incoming>;
}

/** Asks until there is an answer that the retry policy lets stand. -1 retries: all were used up in vain. */
async function askAgain(
  call: OpenCall,
  asked: Asked,
  deps: AttemptDeps,
): Promise<{ incoming: Incoming; retries: number }> {
  const { target, prepared } = asked;
  const { retry } = asked.settings;
  const capture = prepared.body && call.log.captureRequest();
  // The client below has let go of a body that it was given whole when its exchange ends.
  if (capture) capture.transferable = prepared.body?.rest === null;
  const closed = closeBody(prepared.body, {
    maxBytes: deps.maxBodyBytes,
    whole: target.provider.signsBody === true,
    tap: (piece) => capture?.add(piece),
  });
  const body = closed instanceof Promise ? await closed : closed;
  let waitedMs = 0;
  for (let count = 1; ; count++) {
    let status: number;
    let incoming: Incoming | null = null;
    let failure: unknown;
    try {
      incoming = await ask(call, asked, body, deps);
      asked.admission.sent();
      if (isGood(incoming)) incoming = await asked.answered(incoming);
      status = incoming.status;
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || error.sent === 'maybe') asked.admission.sent();
      status = failureStatus(error);
      failure = error;
      incoming = null;
    }
    const headers = incoming && retry.attempts > 0 ? receivedHeaders(incoming) : null;
    const wait = waitBefore(retry, { attempt: count, status, headers, waitedMs, now: deps.now() });
    if (wait === null || call.request.signal.aborted) {
      if (!incoming) throw failure;
      const isInVain = retry.attempts > 0 && retry.statuses.has(status);
      const answer = isGood(incoming) ? incoming : await asked.answered(incoming);
      return { incoming: answer, retries: isInVain ? -1 : count - 1 };
    }
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

/** One request to the provider. */
async function ask(call: OpenCall, asked: Asked, body: Body, deps: AttemptDeps): Promise<Incoming> {
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
  if (authorizing) await authorizing;

  const deadline = startDeadline(call, settings);
  try {
    const outgoing = { method, url, headers, body, signal: deadline.signal };
    const incoming = target.provider.inProcess
      ? await askInProcess(deps.simulate, outgoing)
      : await deps.upstream.send({ ...outgoing, timeouts: deps.timeouts });
    deadline.disarm();
    const { status } = incoming;
    if (status >= 200 && status <= 599) return incoming;
    incoming.cancel();
    return fail('upstream_failed', target.provider.name, `its status ${status} is none of HTTP's`);
  } catch (error) {
    deadline.disarm();
    if (deadline.hasPassed) fail('request_timeout', deadline.ms);
    throw error;
  }
}

/** The client's headers, the provider's and the virtual key's; those that say who pays come after them. */
function outgoingHeaders(
  { headers: sent }: OpenCall,
  { target, settings, prepared, isJudged }: Asked,
  body: Body,
): Headers {
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

/** The limit for one request (the config's, else `x-gateway-request-timeout`) and the client's hanging up, as one signal. */
function startDeadline({ request, headers }: OpenCall, { timeoutMs }: TargetSettings) {
  const text = timeoutMs === null ? headerOf(headers, 'x-gateway-request-timeout') : null;
  if (timeoutMs === null && text === null) return { signal: request.signal, ms: 0, hasPassed: false, disarm: () => {} };
  const ms = timeoutMs ?? (/^\d{1,9}$/.test(text!) ? Number(text) : 0);
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
