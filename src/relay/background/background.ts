import { rememberCaller } from '../../auth/work-callers.ts';
import { fail } from '../../core/errors.ts';
import type { Principal, WorkCaller } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { formatSse } from '../../dialects/sse.ts';
import { headerOf } from '../../http/headers.ts';
import { asGatewayError } from '../../http/reply.ts';
import { SESSION_ID, sessionIn } from '../../http/session-id.ts';
import type { Configs } from '../../routing/configs.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Kind } from '../../work/work.ts';
import type { Workers } from '../../work/workers.ts';
import type { ModelCall, OpenCall } from '../call.ts';
import type { HostedCaller } from '../hosted/hosted-tool.ts';
import type { HostedRequest } from '../hosted/request.ts';
import type { CallModel } from '../internal.ts';
import { keptHeaders } from '../kept-headers.ts';
import type { ConversationKeeper, ResponseKeeper } from '../kept-response.ts';
import type { WorkProofs } from '../work-proofs.ts';
import { createResponseBus, type ResponseBus } from './bus.ts';
import { endResponse } from './ending.ts';
import { BackgroundExecution } from './execution.ts';
import { type BackgroundRequest, queuedResponse } from './request.ts';
import { insertEvents, pruneEvents, workOf } from './rows.ts';
import { ended, followed } from './watch.ts';

export interface BackgroundOptions {
  readonly store: Store;
  readonly workers: () => Workers;
  readonly changes: Pick<Changes, 'notify' | 'onNotify'>;
  readonly sealer: Sealer;
  readonly proofs: Pick<WorkProofs, 'prove' | 'seal' | 'open'>;
  readonly configs: Pick<Configs, 'resolve'>;
  readonly callModel: () => CallModel;
  /** Throws 401 when the caller that asked is gone or has expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  readonly responses: ResponseKeeper;
  readonly conversations: ConversationKeeper;
  /** Opens the tools of a request, on the node that runs them. */
  readonly openAgain: (request: BackgroundRequest, by: ToolUser) => Promise<HostedRequest>;
  readonly newItemId: (by: string) => string;
  readonly now: () => number;
  readonly report: (requestId: string, error: unknown) => void;
}

export type ToolUser = Pick<HostedCaller, 'who' | 'whoNow' | 'responseId' | 'headers' | 'proven' | 'signal' | 'said'>;

export interface BackgroundDeps extends BackgroundOptions {
  readonly bus: ResponseBus;
}

/** The kind of work that a response in the background is. */
export const RESPONSE = 'response';

/** They mostly wait for models: many fit on one node. */
const CONCURRENCY = 1_000;
/** Of a workspace, waiting or under way. Requests of one moment may pass it by a few. */
const MOST_UNENDED = 1_000;
/** So long can a response that has ended be heard from its beginning. */
const EVENTS_LIVE_MS = 3_600_000;
/** So long a request that cancels waits for the node that makes the response. */
const CANCELLED_MS = 10_000;
const GIVEN_UP = { code: 'server_error', message: 'Something failed inside the gateway while it made this response.' };
const KEEP_ALIVE = ': keep-alive\n\n';

/** What its calls take over from the request that asked for it. */
const KEPT_HEADERS = [
  'x-gateway-virtual-key',
  'x-gateway-config',
  'x-gateway-metadata',
  'x-gateway-request-timeout',
  'x-gateway-debug',
  'x-gateway-cache-force-refresh',
  'x-gateway-strict-open-ai-compliance',
  'x-gateway-drop-params',
];

/** Responses that are made while no client waits: leased work, which goes on elsewhere when its node dies. */
export function createBackground(options: BackgroundOptions) {
  const bus = createResponseBus(options.changes);
  const deps: BackgroundDeps = { ...options, bus };
  const { store, workers, sealer, proofs, configs, responses, now } = deps;
  const watching = { store, bus };

  const kind: Kind = {
    name: RESPONSE,
    concurrency: CONCURRENCY,
    backoff: { firstMs: 250, mostMs: 5_000 },
    run: (lease) => new BackgroundExecution(lease, deps).carryOut(),
    failed: (db, { ref }) => endResponse(db, ref, { status: 'failed', error: GIVEN_UP }, deps),
    cancelled: (db, { ref }) => endResponse(db, ref, { status: 'cancelled' }, deps),
    sweep: (db, at) => pruneEvents(db, at - EVENTS_LIVE_MS),
  };

  return {
    kind,

    /** Throws what makes a request unfit for the background, before anything of it is done. */
    check({ isWork, providerKey, headers }: OpenCall, body: JsonObject): void {
      if (body.store === false) fail('invalid_request', 'background', 'goes with store: true only; leave store out');
      if (isWork)
        fail('invalid_request', 'background', 'a request of a batch is made without its client; leave it out');
      if (providerKey !== null || headerOf(headers, 'x-gateway-provider') !== null)
        fail(
          'invalid_request',
          'background',
          'goes with a virtual key or a saved config: a credential that comes with a call is not kept',
        );
    },

    /** Takes a request that has been checked. From here on it is made whatever dies. */
    async accept(call: OpenCall, id: string, given: Omit<BackgroundRequest, 'headers'>): Promise<Response> {
      const { principal: who, log, headers: sent } = call;
      const session = sessionIn(sent);
      const headers = {
        ...(await keptHeaders(call, KEPT_HEADERS, configs)),
        ...(session !== null && { [SESSION_ID]: session }),
      };
      const proven = await proofs.prove({ who, headers: sent, kept: headers, endpoint: 'createModelResponse', log });
      const request: BackgroundRequest = { ...given, headers };
      const { body, previousId, traceId } = request;
      const keepsEvents = body.stream === true;
      const at = now();
      const response = queuedResponse(id, request, Math.floor(at / 1_000)) as JsonObject & { readonly id: string };
      await workers().accept({ kind: RESPONSE, tenant: who.workspaceId, ref: id }, async (db) => {
        await refuseTooMany(db, who.workspaceId);
        await rememberCaller(db, who, at);
        await responses.begin(db, who, {
          ...{ response, input: body.input, ...(previousId && { previousId }), ...(traceId && { traceId }) },
        });
        await db
          .insertInto('response_work')
          .values({
            response_id: id,
            workspace_id: who.workspaceId,
            api_key_id: who.keyId,
            request: sealer.seal('response', id, JSON.stringify(request)),
            proofs: proofs.seal(id, proven),
            state: null,
            state_sequence: 1,
            keeps_events: keepsEvents ? 1 : 0,
            ended_at: null,
          })
          .execute();
        const told = ['response.created', 'response.queued'].map((type, sequence_number) => ({
          ...{ type, sequence_number, response },
        }));
        if (keepsEvents) await insertEvents(db, id, told);
      });
      return keepsEvents ? stream(call, id, -1) : Response.json(response);
    },

    /** Ends a response; one that is over stays as it is. Answers when it has ended. */
    async cancel(id: string): Promise<void> {
      const work = await workOf(store.db, id);
      if (!work) return;
      await store.transaction((db) => workers().cancel(db, { kind: RESPONSE, ref: id }));
      await ended(id, CANCELLED_MS, watching);
    },

    /** What is told of a response behind a number: all of it, if the number is -1. */
    async resume(call: Pick<ModelCall, 'request' | 'stamp' | 'log'>, id: string, after: number): Promise<Response> {
      const work = await workOf(store.db, id);
      if (!work)
        fail(
          'invalid_request',
          'stream',
          'what was told of this response is not kept: it was no background response, or is over for an hour; leave stream out',
        );
      if (work.keeps_events !== 1)
        fail('invalid_request', 'stream', 'this response was asked for without stream: true; leave stream out');
      return stream(call, id, after);
    },
  };

  /** A client that leaves only stops listening. */
  function stream({ request, stamp, log }: Pick<ModelCall, 'request' | 'stamp' | 'log'>, id: string, after: number) {
    log.closesLater = true;
    const left = new AbortController();
    const signal = AbortSignal.any([request.signal, left.signal]);
    const events = followed({ id, after, signal }, watching);
    let isFirst = true;
    let last = after;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const say = (text: string) => controller.enqueue(Buffer.from(text));
          try {
            const { value, done } = await events.next();
            if (isFirst) log.firstByte();
            isFirst = false;
            if (!done && value) last = value.sequence_number;
            if (!done) return say(value ? written(value) : KEEP_ALIVE);
            log.close({ status: 200, ...(signal.aborted && { failedBy: 'client', errorCode: 'client_closed' }) });
          } catch (error) {
            const { code, message } = asGatewayError(error, stamp['x-gateway-request-id'] ?? '');
            say(written({ type: 'error', sequence_number: last + 1, code, message, param: null }));
            log.close({ status: 200, failedBy: 'gateway', errorCode: code });
          }
          controller.close();
        },
        cancel() {
          left.abort();
          log.close({ status: 200, failedBy: 'client', errorCode: 'client_closed' });
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, {
      headers: { ...stamp, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    });
  }
}

export type Background = ReturnType<typeof createBackground>;

async function refuseTooMany(db: Db, tenant: string): Promise<void> {
  const { count } = await db
    .selectFrom('work')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('kind', '=', RESPONSE)
    .where('tenant', '=', tenant)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MOST_UNENDED) fail('too_many_background_responses', MOST_UNENDED);
}

const written = (event: JsonObject): string => formatSse({ event: String(event.type), data: JSON.stringify(event) });
