import { type Auditing, auditedCaller, completeRefused, loggedCaller, witnessed } from './audit/audited.ts';
import { readKeys } from './auth/authenticate.ts';
import type { Callers } from './auth/callers.ts';
import type { SessionProof } from './auth/sessions.ts';
import { silentLog } from './core/call-log.ts';
import type { ClientDialect } from './core/endpoints.ts';
import { type ErrorCode, fail } from './core/errors.ts';
import { newId, type OrganisationId } from './core/ids.ts';
import { keyNameOf, type Principal } from './core/principal.ts';
import type { Scope } from './core/scopes.ts';
import { type BodyRule, isReadWhole, ruleBody, USUAL_BODY } from './http/arriving.ts';
import { clientDialectOf } from './http/error-body.ts';
import { refuseForbiddenHeaders } from './http/forbidden-headers.ts';
import { headerOf, type SentHeaders, sentHeaders, sentHeadersWithAliases } from './http/headers.ts';
import { readJson, readQuery } from './http/input.ts';
import type { PerAddress } from './http/per-address.ts';
import { asGatewayError, json, replyWithError } from './http/reply.ts';
import type { LoggedCaller, Route } from './http/route.ts';
import type { createRouter } from './http/router.ts';
import type { Connection } from './http/server.ts';
import { sessionIn } from './http/session-id.ts';
import { Upgrade } from './http/socket.ts';
import { isAsListed, typedAddress } from './http/typed-address.ts';
import { type createSocketRouter, isUpgrade, spokenProtocol, withOfferedKey } from './http/upgrade.ts';
import { UpstreamFailure } from './http/upstream.ts';
import type { LogEntry } from './telemetry/log-entry.ts';
import type { RequestLog } from './telemetry/request-log.ts';

export interface AnswerDeps {
  readonly match: ReturnType<typeof createRouter>;
  readonly matchSocket: ReturnType<typeof createSocketRouter>;
  readonly callers: Callers;
  readonly log: RequestLog;
  readonly audit: Auditing;
  /** Whose log a request is in before its caller is known, or when it never is. */
  readonly organisationId: OrganisationId;
  /** Prefixes of headers that are understood like `x-gateway-`. */
  readonly headerAliases: readonly string[];
  /**
   * The header in which a trusted proxy names its client's address. Null: the address of the connection is the
   * client's.
   */
  readonly clientAddressHeader: string | null;
  /** The longest pause between two pieces of a body. */
  readonly bodyPauseMs: number;
  /** Null: an address may have as many requests under way as it likes. */
  readonly perAddress: PerAddress | null;
  readonly onTurnedAway: () => void;
  readonly now: () => number;
  /** Unforeseen failures, for the operator. */
  readonly report: (requestId: string, error: unknown) => void;
}

/** The status under which a request is logged whose client left before the answer. */
const CLIENT_CLOSED = 499;
const SWITCHED = 101;
/** Attempts to come in with a forged or stale token are recorded wherever they were made. */
const TOKEN_REFUSED = new Set<ErrorCode>(['invalid_machine_token', 'invalid_user_token']);
/** The most that is read of a request to a route that needs no key. */
const PUBLIC_BODY_BYTES = 8 * 1024;
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);
const NO_PROOF: SessionProof = { csrf: 'none' };
const PROOF: SessionProof = { csrf: 'needed' };
const LOGGED = '/v1/';
const REQUEST_ID = 'x-gateway-request-id';
const TRACE_ID = /^[\x21-\x7e]{1,256}$/;
const LONGEST_ADDRESS = 64;
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The outer shell of every request: finds its route, its caller and its input, and turns any outcome into a response. */
export function createAnswer(deps: AnswerDeps) {
  const { match, matchSocket, callers, log, audit, organisationId, headerAliases, clientAddressHeader, now, report } =
    deps;
  const { perAddress, onTurnedAway, bodyPauseMs: pauseMs } = deps;
  const publicBody: BodyRule = { mostBytes: PUBLIC_BODY_BYTES, pauseMs };
  const otherBody: BodyRule | null = pauseMs === USUAL_BODY.pauseMs ? null : { ...USUAL_BODY, pauseMs };
  const readHeaders = headerAliases.length === 0 ? sentHeaders : sentHeadersWithAliases(headerAliases);
  return async (request: Request, peerAddress: string, connection: Connection): Promise<Response | undefined> => {
    const requestId = newId<string>();
    const asAsked = splitUrl(request.url);
    const asSent = readHeaders(request.headers);
    const typed = isAsListed(asAsked.path) ? null : attempt(() => typedAddress(asAsked.path, asAsked.search, asSent));
    const { path, search } = typed?.value ?? asAsked;
    const asRead = typed?.value?.headers ?? asSent;
    const isSocket = isUpgrade(request.method, asRead);
    const headers = isSocket ? withOfferedKey(asRead) : asRead;
    const clientAddress = clientAddressHeader ? addressIn(headers, clientAddressHeader, peerAddress) : peerAddress;
    const sentTrace = traceIdOf(headers);
    const traceId = sentTrace ?? requestId;
    const counted = perAddress && attempt(() => perAddress.begin(clientAddress));
    if (counted?.error) {
      onTurnedAway();
      const dialect = clientDialectOf(undefined, path, headers);
      return turnedAway(counted.error, dialect, { [REQUEST_ID]: requestId, 'x-request-id': requestId });
    }
    const leave = counted?.value ?? null;
    const found = isSocket
      ? attempt(() => matchSocket(typed?.value?.route ?? path, headers))
      : typed?.error
        ? { error: typed.error }
        : attempt(() => match(request.method, typed?.value?.route ?? path));
    const asked = found.value?.route;
    const ids = { [REQUEST_ID]: requestId, 'x-request-id': requestId, 'x-gateway-trace-id': traceId };
    const stamp: SentHeaders = asked?.stamp ? { ...ids, ...asked.stamp(headers) } : ids;
    const entry =
      path.startsWith(LOGGED) || asked?.isMcp || asked?.isProviders
        ? log.open({
            id: requestId,
            traceId,
            method: request.method,
            path: path + search,
            route: asked?.path ?? 'unmatched',
            clientAddress,
            startedAt: now(),
            startedMono: performance.now(),
            headers,
          })
        : null;
    if (entry) {
      entry.organisationId = organisationId;
      entry.isOfStranger = true;
    }
    const facts = { requestId, method: request.method, path, search, headers, clientAddress };
    let pending = asked && !asked.audit ? null : audit.open(facts, asked);
    const identify = (who: LoggedCaller) => {
      if (entry) identified(entry, who);
      if (pending) pending.caller = auditedCaller(who);
    };
    let response: Response;
    try {
      if (!found.value) throw found.error;
      const { route, params } = found.value;
      const { providerKey } = readKeys(headers);
      const isPublic = route.scopes === 'public';
      if (isPublic) limitBody(request, headers, publicBody);
      else if (otherBody) ruleBody(request, otherBody);
      const isOpen = isPublic || route.isMcp;
      const { identify: identifyCaller = callers.identify } = route;
      const principal = isOpen ? null : await identifyCaller(headers, proofOf(request.method, route));
      if (principal) identify(loggedCaller(principal));
      if (entry) entry.sessionId = sessionIn(headers) ?? sentTrace;
      if (principal && route.scopes !== 'public') admit(principal, route.scopes);
      if (principal?.forbids) refuseForbiddenHeaders(principal.forbids, headers);
      pending?.admit();
      const result = await route.handle({
        request,
        headers,
        requestId,
        stamp,
        path,
        search,
        params: typed?.value?.params ?? params,
        query: route.query ? readQuery(search, route.query(), route.wording) : undefined,
        body: route.body
          ? await readJson(request, route.body(), route.wording, pending?.read, route.largestBody)
          : undefined,
        principal: principal ? witnessed(principal, pending) : null,
        identify,
        witness: pending ?? undefined,
        providerKey,
        clientAddress,
        log: entry ?? silentLog(),
        now: now(),
      });
      if (result instanceof Upgrade) {
        const spoken = spokenProtocol(request.headers.get('sec-websocket-protocol'), headers, result.protocol);
        if (!connection.accept(request, result, { ...stamp, ...spoken }, () => leave?.())) {
          result.side.closed();
          fail('invalid_header', 'upgrade', 'this connection cannot go on as a WebSocket');
        }
        entry?.close({ status: SWITCHED });
        return undefined;
      }
      response = result instanceof Response ? result : json(result);
      if (request.method === 'HEAD' && route.method === 'GET') response = new Response(null, response);
      if (entry && !entry.closesLater) entry.close({ status: response.status });
    } catch (error) {
      const failure = asGatewayError(error, requestId);
      const isAborted = error instanceof UpstreamFailure && error.kind === 'aborted' && request.signal.aborted;
      const hasLeft = isAborted || failure.code === 'body_incomplete';
      if (failure.code === 'internal_error') report(requestId, error);
      response = replyWithError(failure, { dialect: clientDialectOf(asked, path, headers), requestId });
      if (TOKEN_REFUSED.has(failure.code)) pending ??= audit.failedSignIn(facts);
      if (pending) {
        const identifyAnew = async () => (asked?.identify ?? callers.identify)(headers, proofOf(request.method, asked));
        await completeRefused(pending, { request, route: asked, identify: identifyAnew });
      }
      const isSlow = failure.code === 'body_too_slow';
      const failedBy = error instanceof UpstreamFailure ? 'provider' : isSlow ? 'client' : 'gateway';
      entry?.close(
        hasLeft
          ? { status: CLIENT_CLOSED, failedBy: 'client', errorCode: 'client_closed' }
          : { status: failure.status, failedBy, errorCode: failure.code },
      );
    }
    if (pending) await pending.answered(response.status);
    if (!response.headers.has(REQUEST_ID)) for (const name in stamp) response.headers.set(name, stamp[name]!);
    const ended = () => {
      leave?.();
      connection.ended(request, !hasBody(headers) || isReadWhole(request) ? 'whole' : 'unread');
    };
    if (entry?.closesLater && !entry.isClosed) entry.onClosed = ended;
    else ended();
    return response;
  };
}

/** Nothing was done for it, so nothing is recorded but its number. */
function turnedAway(error: unknown, dialect: ClientDialect, ids: SentHeaders): Response {
  const requestId = ids[REQUEST_ID]!;
  const response = replyWithError(asGatewayError(error, requestId), { dialect, requestId });
  for (const name in ids) response.headers.set(name, ids[name]!);
  return response;
}

const hasBody = (headers: SentHeaders): boolean => {
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0';
};

/** A rule of every route that needs no key. What is announced to be too large is refused unread. */
function limitBody(request: Request, headers: SentHeaders, rule: BodyRule) {
  if (!hasBody(headers)) return;
  if (Number(headers['content-length'] ?? 0) > rule.mostBytes) fail('body_too_large', rule.mostBytes);
  ruleBody(request, rule);
}

function identified(entry: LogEntry, who: LoggedCaller) {
  entry.isOfStranger = false;
  entry.organisationId = who.organisationId;
  entry.workspaceId = who.workspaceId;
  entry.apiKeyId = who.keyId;
  entry.userId = who.userId;
  entry.workspaceSlug = who.workspaceSlug ?? null;
  entry.keyName = keyNameOf(who);
}

function attempt<Value>(work: () => Value): { value: Value; error?: never } | { value?: never; error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

/**
 * Of a signed-in user, reading what is ours takes the cookie alone. Whatever may reach a provider takes proof that our
 * own page asks: it spends the user's money, and the answer is whatever the provider likes to send.
 */
const proofOf = (method: string, route: Route | undefined): SessionProof =>
  READING.has(method) && route && !route.isProviders && !route.path.endsWith('*') ? NO_PROOF : PROOF;

/** Deny by default: a route without `public` needs a key that holds all of its scopes. */
function admit(principal: Principal, scopes: readonly Scope[]) {
  for (const scope of scopes) if (!principal.scopes.has(scope)) fail('insufficient_scope', scope);
}

/** Path and query as they were sent, without building a URL. */
function splitUrl(url: string): { path: string; search: string } {
  // Without a usable Host header there is no origin in front.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  if (start < 0) return { path: '/', search: '' };
  const question = url.indexOf('?', start);
  return question < 0
    ? { path: url.slice(start), search: '' }
    : { path: url.slice(start, question), search: url.slice(question) };
}

/** Of a list the last address: those before it were the client's to write. */
function addressIn(headers: SentHeaders, name: string, otherwise: string): string {
  const address = headerOf(headers, name)?.split(',').at(-1)?.trim();
  return address ? address.slice(0, LONGEST_ADDRESS) : otherwise;
}

function traceIdOf(headers: SentHeaders): string | null {
  const own = headerOf(headers, 'x-gateway-trace-id');
  if (own !== null) return TRACE_ID.test(own) ? own : null;
  const parent = headerOf(headers, 'traceparent');
  return parent === null ? null : (TRACEPARENT.exec(parent)?.[1] ?? null);
}
