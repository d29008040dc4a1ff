import { type CallLog, type Outcome, silentLog } from '../core/call-log.ts';
import { fail } from '../core/errors.ts';
import type { PlainHeaders } from '../core/header-map.ts';
import { newId } from '../core/ids.ts';
import { keyNameOf, type Principal } from '../core/principal.ts';
import type { Usage } from '../core/usage.ts';
import { forwardedHeaders, type SentHeaders } from '../http/headers.ts';
import { asGatewayError } from '../http/reply.ts';
import { sessionIn } from '../http/session-id.ts';
import { type Incoming, UpstreamFailure } from '../http/upstream.ts';
import { type ClientWebSocket, type DialSocket, SocketRefused } from '../http/upstream-socket.ts';
import type { Estimate } from '../limits/ask.ts';
import { upstreamUrl } from '../providers/address.ts';
import { NO_RETRY, NO_SETTINGS } from '../routing/plan.ts';
import type { LogEntry } from '../telemetry/log-entry.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { refuseOtherModels } from './allowed-model.ts';
import { followPlan } from './by-plan.ts';
import type { AskOnLine, Attempt, Attempted, ModelCall, OpenCall } from './call.ts';
import { choose } from './choose.ts';
import { tlsFor } from './client-certificate.ts';
import { nanoDollars, refuseExhausted } from './limits.ts';
import { prepare } from './prepare.ts';
import { receive } from './receive.ts';
import { attempt, type RelayDeps } from './relay.ts';
import { respond } from './respond.ts';
import { findTarget } from './target.ts';

export interface RealtimeDeps extends RelayDeps {
  readonly dial: DialSocket;
  readonly log: RequestLog;
}

/** A dialect of conversations. */
export interface Tongue {
  /** As calls have it; null: OpenAI's. */
  readonly name: 'gemini' | null;
  /** Under which a response is logged. */
  readonly route: string;
  /** At the provider. */
  readonly path: string;
  /** Of Google's API, as the client calls it. */
  readonly version?: string;
}

export const OPENAI: Tongue = { name: null, route: '/v1/realtime', path: '/realtime' };

const LIVE = (version: string) => `/ws/google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateContent`;
export const LIVE_ROUTE = LIVE('v1beta');
/** The Live API of Gemini, of one of Google's versions. */
export const gemini = (version: string): Tongue => ({
  name: 'gemini',
  route: LIVE_ROUTE,
  // The versions of Vertex AI have other names.
  path: LIVE(version === 'v1beta1' ? 'v1beta' : version),
  version,
});

/** A conversation in real time that a client asks for. */
export interface RealtimeCall {
  readonly tongue: Tongue;
  readonly principal: Principal;
  readonly headers: SentHeaders;
  readonly providerKey: string | null;
  /** Null: none is named, as in a session that only transcribes. */
  readonly model: string | null;
  /** The rest of the query, for the provider. */
  readonly query: URLSearchParams;
  /** Subprotocols that the provider is offered, too. */
  readonly protocols: readonly string[];
  readonly stamp: SentHeaders;
  readonly clientAddress: string;
  /** Null: the request is over already, and a conversation that is not opened is an entry of its own. */
  readonly log: CallLog | null;
}

/** One response of a conversation, which is a call of its own. */
export interface RealtimeTurn {
  /** As it is now: its limits may have changed since the conversation began. */
  readonly principal: Principal;
  /** In the shape of the Responses API, without a model: what guardrails judge and the log keeps. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Another model than the conversation's: the one that writes down what was said. */
  readonly model?: string;
  readonly expects: { readonly inputTokens: number; readonly outputTokens: number };
  readonly ask: (asked: AskedTurn) => Promise<Incoming>;
  readonly signal: AbortSignal;
}

export interface AskedTurn {
  readonly isJudged: boolean;
  /** Throws 429 or 412 where what it has taken so far does not fit any more. */
  check(soFar: Usage): Promise<void>;
  /** What it took, where no answer will tell. */
  took(usage: Usage): void;
}

/** A provider that listens, and the calls that are made on its line. */
export interface RealtimeLine {
  readonly socket: ClientWebSocket;
  /** As the provider calls it. */
  readonly model: string | null;
  /** As the first message has to name it, where that is another name. */
  readonly setupModel?: string;
  /** Whether guardrails look at what is said. */
  readonly isGuarded: boolean;
  /** What the gateway says of whom it found. */
  readonly notes: SentHeaders;
  /** Lets guardrails look at what is about to be said. Null: it goes as it is. Throws 446, and that is logged. */
  judge(principal: Principal, said: Readonly<Record<string, unknown>>): Promise<Record<string, unknown> | null>;
  /** Admits, judges, logs and settles one response. Throws where it may not run, or its answer may not pass. */
  respond(turn: RealtimeTurn): Promise<Response>;
}

/** What a host has before its paths is not before those of WebSockets at Google. */
const VERSION_BEFORE_SOCKET = /\/v\d+[a-z0-9]*(?=\/ws\/)/;
const OF_HANDSHAKE = /^(?:sec-websocket-.*|upgrade|connection|origin|content-.*|x-gateway-request-timeout)$/;

/** What a target was asked for: a line, or the like; or its refusal. */
type AskTarget<Line> = (given: OpenCall, to: Attempt) => Promise<Line | SocketRefused>;

/** Finds the provider of a conversation as for every call, and opens its WebSocket. A response: the provider's refusal. */
export async function openRealtime(asked: RealtimeCall, deps: RealtimeDeps): Promise<RealtimeLine | Response> {
  const dial: AskTarget<RealtimeLine> = (given, to) => dialTarget(asked, given, to, deps);
  if (asked.log) return openedBy(asked, asked.log, dial, deps);
  const log = silentLog();
  try {
    const line = await openedBy(asked, log, dial, deps);
    if (line instanceof Response) logUnopened(asked, log, { status: line.status, failedBy: 'provider' }, deps);
    return line;
  } catch (error) {
    const { status, code } = asGatewayError(error, '');
    const failedBy = error instanceof UpstreamFailure ? 'provider' : 'gateway';
    logUnopened(asked, log, { status, failedBy, errorCode: code }, deps);
    throw error;
  }
}

function logUnopened(asked: RealtimeCall, log: CallLog, outcome: Outcome, deps: RealtimeDeps): void {
  const { provider, virtualKey, model, hookResults } = log;
  const entry = openEntry(asked.principal, asked, deps);
  Object.assign(entry, { provider, virtualKey, model: model ?? asked.model, hookResults });
  entry.close(outcome);
}

/** Asks the targets of a conversation in their order, until one gives what is asked for. A response: the refusal that stands. */
export async function openedBy<Line>(
  asked: RealtimeCall,
  log: CallLog,
  askTarget: AskTarget<Line>,
  deps: RealtimeDeps,
): Promise<Line | Response> {
  const call = callOf(asked, asked.model === null ? {} : { model: asked.model }, log);
  const { call: open, route } = await choose(await receive(call, deps.maxBodyBytes), deps);
  let line: Line | null = null;
  const dial = async (chosen: OpenCall, to: Attempt): Promise<Attempted> => {
    const dialled = await askTarget(chosen, to);
    if (dialled instanceof SocketRefused) return refused(dialled);
    line = dialled;
    return { status: 200, incoming: answerOf(200, {}, () => Promise.resolve('')), notes: {}, discard: () => {} };
  };
  let attempted: Attempted;
  if (route.by === 'config') attempted = await followPlan(open, route.reference, dial, deps);
  else {
    log.aims('config');
    const target = await findTarget(route, asked.principal, call, deps.virtualKeys);
    attempted = await dial(open, { target, settings: NO_SETTINGS, path: 'config' });
  }
  return line ?? respond(call, attempted);
}

/** A target that may be asked: the key may have its model, and its limits are not used up. */
export interface Aimed {
  readonly asked: RealtimeCall;
  readonly call: OpenCall;
  readonly to: Attempt;
  readonly isGuarded: boolean;
}

export async function aim(asked: RealtimeCall, given: OpenCall, to: Attempt, deps: RealtimeDeps): Promise<Aimed> {
  const { call, guarding } = await prepare(given, to, deps);
  if (call.principal.models) refuseOtherModels(call, to, call.principal.models);
  await refuseExhausted(call, to.target, deps);
  return { asked, call, to, isGuarded: guarding !== null };
}

/** Where a request to a target goes, and its headers: the client's that are given, then the provider's, and who pays. */
export async function authorized(
  { to: { target } }: Aimed,
  request: {
    readonly method: string;
    readonly path: string;
    readonly search: string;
    readonly sent: SentHeaders;
    readonly body: Uint8Array | null;
  },
  deps: RealtimeDeps,
): Promise<{ url: string; headers: PlainHeaders }> {
  const { provider, options, customHost, credential, machine } = target;
  const { method, path, search, sent, body } = request;
  const found = upstreamUrl(provider, options, customHost, path, search);
  const url = path.startsWith('/ws/') ? found.replace(VERSION_BEFORE_SOCKET, '') : found;
  const headers = handshakeHeaders(sent, provider.headers, target.headers);
  if (target.authorization) headers.set('authorization', target.authorization.reveal());
  else {
    const authorization = { provider: provider.name, credential, options, method, url, headers, body };
    await provider.authorize({ ...authorization, ...(machine && { machine }), tokens: deps.tokens, now: deps.now() });
  }
  return { url, headers };
}

/** The line of a target whose WebSocket is open. */
export function lineOf(
  { asked, call, to, isGuarded }: Aimed,
  socket: ClientWebSocket,
  deps: RealtimeDeps,
): RealtimeLine {
  const notes = { ...call.foundBy, 'x-gateway-last-used-option-index': to.path };
  return {
    ...{ socket, model: call.named, isGuarded, notes },
    judge: (principal, said) => judgeSaid(principal, said, asked, call, to, deps),
    respond: (turn) => respondOnce(turn, asked, call, to, deps),
  };
}

async function dialTarget(
  asked: RealtimeCall,
  given: OpenCall,
  to: Attempt,
  deps: RealtimeDeps,
): Promise<RealtimeLine | SocketRefused> {
  const dialled = await dialOnce(asked, given, to, deps);
  const renewed =
    dialled instanceof SocketRefused && dialled.status === 401 ? await to.target.renewed?.().catch(() => null) : null;
  return renewed ? dialOnce(asked, given, { ...to, target: renewed }, deps) : dialled;
}

async function dialOnce(
  asked: RealtimeCall,
  given: OpenCall,
  to: Attempt,
  deps: RealtimeDeps,
): Promise<RealtimeLine | SocketRefused> {
  const aimed = await aim(asked, given, to, deps);
  const { call } = aimed;
  const { tongue, protocols } = asked;
  const query = new URLSearchParams(asked.query);
  if (call.named !== null && tongue.name === null) query.set('model', call.named);
  const search = query.size > 0 ? `?${query}` : '';
  const { provider, options } = to.target;
  const live = tongue.name === 'gemini' ? provider.live : undefined;
  const setupModel = live && call.named !== null ? live.model(call.named, options) : undefined;
  const path = live ? live.path(tongue.version!) : tongue.path;
  const request = { method: 'GET', path, search, sent: call.headers, body: null };
  const { url, headers } = await authorized(aimed, request, deps);
  call.log.asks(url, null);
  try {
    const timeoutMs = deps.timeouts.connectMs || deps.timeouts.firstByteMs;
    const socket = await deps.dial({ url, headers, protocols, timeoutMs, tls: tlsFor(to.target, deps.now()) });
    call.log.answered(200, null);
    return { ...lineOf(aimed, socket, deps), ...(setupModel && { setupModel }) };
  } catch (error) {
    if (!(error instanceof SocketRefused)) throw error;
    call.log.answered(error.status, null);
    return error;
  }
}

/** The client's headers, the provider's and the virtual key's; those that say who pays come after them. */
function handshakeHeaders(
  sent: SentHeaders,
  own: SentHeaders | undefined,
  stored: Readonly<Record<string, string>> | null,
): PlainHeaders {
  const headers = forwardedHeaders(withoutHandshake(sent));
  for (const name in own) if (!headers.has(name)) headers.set(name, own[name]!);
  for (const name in stored) headers.set(name, stored[name]!);
  return headers;
}

function withoutHandshake(sent: SentHeaders): SentHeaders {
  const rest: Record<string, string> = {};
  for (const name in sent) if (!OF_HANDSHAKE.test(name)) rest[name] = sent[name]!;
  return rest;
}

/** A response goes where the conversation went. It is asked once, whatever the config says of calls. */
async function respondOnce(
  turn: RealtimeTurn,
  asked: RealtimeCall,
  session: OpenCall,
  to: Attempt,
  deps: RealtimeDeps,
): Promise<Response> {
  const { principal, expects, signal } = turn;
  const { target } = to;
  const entry = openEntry(principal, asked, deps);
  const model = turn.model ?? session.named;
  const line: AskOnLine = async ({ isJudged, admission, body }) => {
    // It is with the provider already, or goes there as it came.
    if (body && !sent.equals(body)) fail('not_changeable');
    const check = (soFar: Usage) => admission.check(estimateOf(soFar));
    const took = (usage: Usage) => {
      entry.usage = usage;
    };
    return turn.ask({ isJudged, check, took });
  };
  const estimateOf = (usage: Usage): Estimate => {
    const cost = deps.prices.costOf(target.provider.name, model, usage, target.prices);
    const { inputTokens = 0, outputTokens = 0 } = usage;
    return { inputTokens, outputTokens, cost: nanoDollars(cost) };
  };
  const bodyOf = { ...(model !== null && { model }), ...turn.body };
  const sent = Buffer.from(JSON.stringify(bodyOf));
  const of = { ...asked, principal, stamp: { ...asked.stamp, 'x-gateway-request-id': entry.id } };
  const call = { ...callOf(of, bodyOf, entry, signal), line, expects };
  try {
    const open = await receive(call, deps.maxBodyBytes);
    const { config, asked: named, slug, foundBy } = session;
    entry.aims(to.path);
    const settings = { ...to.settings, retry: NO_RETRY, cache: null, timeoutMs: null, params: null };
    const attempted = await attempt({ ...open, config, asked: named, slug, foundBy }, { ...to, settings }, deps);
    return await respond(call, attempted);
  } catch (error) {
    const failure = asGatewayError(error, entry.id);
    const failedBy = signal.aborted ? 'client' : error instanceof UpstreamFailure ? 'provider' : 'gateway';
    entry.close({ status: failure.status, failedBy, errorCode: failure.code });
    throw error;
  }
}

/** What is said is judged before it leaves. Only a denial is a call of its own in the log: what passes is part of its response. */
export async function judgeSaid(
  principal: Principal,
  said: Readonly<Record<string, unknown>>,
  asked: RealtimeCall,
  session: OpenCall,
  to: Attempt,
  deps: RealtimeDeps,
): Promise<Record<string, unknown> | null> {
  const log = silentLog();
  const { named: model, config, asked: name } = session;
  const call = callOf({ ...asked, principal }, { ...(model !== null && { model }), ...said }, log);
  try {
    const open = { ...(await receive(call, deps.maxBodyBytes)), config, asked: name };
    const prepared = await prepare(open, { ...to, settings: { ...to.settings, params: null } }, deps);
    await refuseExhausted(prepared.call, to.target, deps);
    const bytes = prepared.call.body?.head ?? null;
    const passed = await prepared.guarding?.input({ bytes, type: 'application/json', encoding: null });
    return passed?.body ? (JSON.parse(new TextDecoder().decode(passed.body)) as Record<string, unknown>) : null;
  } catch (error) {
    const entry = openEntry(principal, asked, deps);
    const { status, code } = asGatewayError(error, entry.id);
    Object.assign(entry, { provider: log.provider, virtualKey: log.virtualKey, model, hookResults: log.hookResults });
    entry.close({ status, failedBy: 'gateway', errorCode: code });
    throw error;
  }
}

/** The responses of a conversation are one session, unless the client names another. */
function openEntry(who: Principal, asked: RealtimeCall, deps: RealtimeDeps): LogEntry {
  const { headers, stamp, clientAddress, tongue } = asked;
  const traceId = stamp['x-gateway-trace-id'] ?? newId<string>();
  const entry = deps.log.open({
    id: newId<string>(),
    traceId,
    method: 'POST',
    path: tongue.route,
    route: tongue.route,
    clientAddress,
    startedAt: deps.now(),
    startedMono: performance.now(),
    headers,
  });
  entry.organisationId = who.organisationId;
  entry.workspaceId = who.workspaceId;
  entry.apiKeyId = who.keyId;
  entry.userId = who.userId;
  entry.workspaceSlug = who.workspaceSlug;
  entry.keyName = keyNameOf(who);
  entry.sessionId = sessionIn(headers) ?? traceId;
  return entry;
}

/** What is said on a line as the body of a call, which everything reads that decides about calls. */
function callOf(
  { principal, headers, providerKey, stamp, tongue }: RealtimeCall,
  body: Readonly<Record<string, unknown>>,
  log: CallLog,
  signal?: AbortSignal,
): ModelCall {
  const bytes = Buffer.from(JSON.stringify(body));
  const length = { 'content-type': 'application/json', 'content-length': String(bytes.byteLength) };
  return {
    request: new Request(`http://gateway.invalid${tongue.route}`, {
      method: 'POST',
      body: bytes as RequestInit['body'],
      signal,
    }),
    headers: { ...withoutHandshake(headers), ...length },
    stamp,
    endpoint: 'realtime',
    ...(tongue.name !== null && { tongue: tongue.name }),
    path: tongue.path,
    search: '',
    principal,
    providerKey,
    readsModel: true,
    log,
  };
}

const refused = ({ status, headers, body }: SocketRefused): Attempted => {
  const { 'content-type': type = 'text/plain' } = headers;
  const incoming = answerOf(status >= 400 ? status : 502, { 'content-type': type }, async () => body);
  return { status: incoming.status, incoming, notes: {}, discard: () => {} };
};

/** An answer whose whole body comes at once, later. */
export function answerOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: () => Promise<string>,
): Incoming {
  let isRead = false;
  const read = async (): Promise<Uint8Array | null> => {
    if (isRead) return null;
    isRead = true;
    return Buffer.from(await body());
  };
  return {
    status,
    statusText: '',
    headers: new Headers({ ...headers }),
    read,
    bytes: async () => (await read()) ?? new Uint8Array(),
    cancel: () => {},
  };
}
