import type { OutgoingTrace } from '../core/call-log.ts';
import { ENDPOINTS } from '../core/endpoints.ts';
import { newId } from '../core/ids.ts';
import { keyNameOf, type Principal } from '../core/principal.ts';
import type { Proven } from '../guardrails/proof.ts';
import { clientDialectOf } from '../http/error-body.ts';
import { refuseForbiddenHeaders } from '../http/forbidden-headers.ts';
import type { SentHeaders } from '../http/headers.ts';
import { asGatewayError, replyWithError } from '../http/reply.ts';
import { sessionIn } from '../http/session-id.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import type { ModelCall } from './call.ts';

/** A model call that the gateway makes for a caller: a line of a batch, a step of a run, a check that asks a model. */
export interface InternalCall {
  readonly who: Principal;
  /** After `/v1`: `/chat/completions`. */
  readonly path: string;
  /** JSON. */
  readonly body: string | Uint8Array;
  /** `x-gateway-virtual-key`, `x-gateway-config`, `x-gateway-metadata` and the like. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Groups the calls of one batch or run in the log. */
  readonly traceId?: string;
  /** Of which span it is a part, where calls are traced. */
  readonly trace?: OutgoingTrace | null;
  /** The session it belongs to, unless its headers say another. */
  readonly sessionId?: string;
  /** Made by a guardrail itself, and so judged by none. */
  readonly isUnguarded?: boolean;
  /** The credential the caller brought for the provider. */
  readonly providerKey?: string | null;
  /** One round of a response whose tools the gateway runs. */
  readonly isRound?: true;
  /** Of a call that serves a tool: the headers of the request whose tool it is. Its guardrails hold; no provider gets them. */
  readonly inServiceOf?: SentHeaders;
  /** What was proven when the work was accepted that makes this call. */
  readonly proven?: Proven;
  /** The body asks its stream for usage, and can do without: a server that refuses the wish is asked again without it. */
  readonly hopesForUsage?: true;
  /** Where the call comes from, in the log: `/v1/batches`. */
  readonly route: string;
}

export interface InternalDeps {
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly log: RequestLog;
  readonly now: () => number;
  /** Unforeseen failures, for the operator. */
  readonly report: (requestId: string, error: unknown) => void;
}

/** Not always the caller's word: it may be the default of the key, or of a check. The caller's was looked at when it came. */
const CHOSEN_HERE = ['x-gateway-virtual-key'];

export type CallModel = (call: InternalCall) => Promise<Response>;

/** Calls a model the way a client would: the same routing, limits, guardrails and log. Failures are answers, too. */
export function createCallModel({ relay, log, now, report }: InternalDeps): CallModel {
  return async (call) => {
    const {
      who,
      path,
      body,
      headers = {},
      signal,
      traceId,
      trace,
      sessionId,
      isUnguarded,
      providerKey = null,
      isRound,
      inServiceOf,
      proven,
      hopesForUsage,
      route,
    } = call;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const requestId = newId<string>();
    const sent: SentHeaders = {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(bytes.byteLength),
    };
    const entry = log.open({
      id: requestId,
      traceId: traceId ?? requestId,
      method: 'POST',
      path: `/v1${path}`,
      route,
      clientAddress: '',
      startedAt: now(),
      startedMono: performance.now(),
      isInternal: true,
      ...(trace && { headers: { traceparent: trace.traceparent, tracestate: trace.tracestate ?? '' } }),
    });
    entry.organisationId = who.organisationId;
    entry.workspaceId = who.workspaceId;
    entry.apiKeyId = who.keyId;
    entry.userId = who.userId;
    entry.workspaceSlug = who.workspaceSlug;
    entry.keyName = keyNameOf(who);
    entry.sessionId = sessionIn(headers) ?? sessionId ?? null;
    try {
      // What was accepted before it was forbidden is not carried out any more.
      if (who.forbids) refuseForbiddenHeaders(who.forbids, headers, CHOSEN_HERE);
      return await relay({
        request: new Request(`http://gateway.invalid/v1${path}`, {
          method: 'POST',
          body: bytes as RequestInit['body'],
          signal,
        }),
        headers: sent,
        stamp: { 'x-gateway-request-id': requestId, 'x-request-id': requestId },
        endpoint: ENDPOINTS.get(path) ?? 'proxy',
        path,
        search: '',
        principal: who,
        providerKey,
        readsModel: true,
        isUnguarded,
        isRound,
        inServiceOf,
        isWork: true,
        proven,
        hopesForUsage,
        log: entry,
      });
    } catch (error) {
      const failure = asGatewayError(error, requestId);
      if (failure.code === 'internal_error') report(requestId, error);
      const failedBy = error instanceof UpstreamFailure ? 'provider' : 'gateway';
      entry.close({ status: failure.status, failedBy: signal.aborted ? 'client' : failedBy, errorCode: failure.code });
      return replyWithError(failure, { dialect: clientDialectOf(undefined, `/v1${path}`, sent), requestId });
    }
  };
}
