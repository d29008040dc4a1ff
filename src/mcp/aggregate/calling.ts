import { GatewayError } from '../../core/errors.ts';
import type { Sealer } from '../../crypto/seal.ts';
import { json } from '../../http/reply.ts';
import { type ReadMessage, refused } from '../message/message.ts';
import { RPC, RpcError } from '../message/rpc-error.ts';
import { META, STATELESS } from '../message/versions.ts';
import { withoutStatus } from '../relay/refusal.ts';
import type { McpServer } from '../server/server.ts';
import { connectionAnswer } from '../upstream-oauth/connect-prompt.ts';
import { connectUrl } from '../upstream-oauth/user-tokens.ts';
import type { Channels } from './channels.ts';
import {
  type Channel,
  type Client,
  isEventStream,
  isObject,
  type Json,
  type Relay,
  sendVia,
  wantsUser,
} from './conversation.ts';
import { failureOf } from './failure.ts';
import { holdLog } from './held-log.ts';
import type { FindChannel, Lists } from './lists.ts';
import { eventWith, listenTo, serverEvents } from './resuming.ts';
import { mapAnswer, withExposedUris, withoutSession } from './rewriting.ts';
import { type Route, replaced, routeOf } from './routing.ts';
import type { Translator } from './server-events.ts';

export interface CallingDeps {
  readonly relay: Relay;
  readonly channels: Pick<Channels, 'forget'>;
  readonly lists: Pick<Lists, 'listOf'>;
  readonly sealer: Sealer;
  readonly translator: Translator;
  readonly publicUrl: () => string;
  readonly version: string;
  readonly now: () => number;
}

/** A request for something of one server. */
export interface RoutedRequest {
  readonly client: Client;
  readonly message: ReadMessage & { readonly method: string };
  readonly body: Uint8Array;
  readonly isNewer: boolean;
  readonly servers: readonly McpServer[];
  readonly find: FindChannel;
}

const STATE_MS = 3_600_000;

/** Carries a request to the one server it is for, under the name that the server knows, and the answer back. */
export function createCalling(deps: CallingDeps) {
  const { relay, channels, lists, sealer, now } = deps;
  const stateContext = (server: McpServer, { caller }: Client) => `state ${server.id}\n${caller.id}`;

  /** What a server wants to see again comes back to the same server, from the same caller. */
  const sealState = (server: McpServer, client: Client, state: string): string =>
    sealer.seal('mcp-session', stateContext(server, client), JSON.stringify({ state, until: now() + STATE_MS }));
  const openState = (server: McpServer, { client, message }: RoutedRequest): string | null => {
    const { requestState } = message.params;
    if (typeof requestState !== 'string') return null;
    try {
      const opened = JSON.parse(sealer.open('mcp-session', stateContext(server, client), requestState));
      if (opened.until > now()) return opened.state;
    } catch {
      // Made for another server or caller, or not made by this gateway.
    }
    throw refused('requestState is not what this address gave out for it', RPC.invalidParams, message.id);
  };

  const bodyFor = (request: RoutedRequest, { server, message }: Route, channel: Channel): Uint8Array => {
    const state = request.isNewer ? openState(server, request) : null;
    const body =
      state === null ? message.body : replaced(message.body, ['params', 'requestState'], JSON.stringify(state));
    return channel.kind === 'stateless' && !request.isNewer ? withMeta(body, deps.version) : body;
  };

  const send = async (request: RoutedRequest, route: Route, channel: Channel): Promise<Carried> => {
    const { client } = request;
    const message = { ...route.message, body: bodyFor(request, route, channel) };
    const ending = new AbortController();
    const signal = AbortSignal.any([client.call.request.signal, ending.signal]);
    const { log, release } = holdLog(client.call.log);
    const asking = { ...client, call: { ...client.call, log } };
    const sending = { server: route.server, client: asking, channel, message, signal, isQuiet: false };
    const response = await sendVia(relay, sending).catch((error) => {
      release();
      throw error;
    });
    return { response, channel, release, signal, end: () => ending.abort() };
  };

  const carried = async (request: RoutedRequest, route: Route): Promise<Carried> => {
    const { client, find, message } = request;
    const found = () =>
      find(route.server, client).catch((error) => {
        throw wantsUser(error) ? error : failureOf(error, route.server.slug, message.id);
      });
    const channel = await found();
    const first = await send(request, route, channel);
    if (channel.kind === 'stateless' || channel.id === null || first.response.status !== 404) return first;
    // A session that the server has forgotten has carried nothing out: the same goes into a new one.
    await first.response.body?.cancel();
    channels.forget(route.server, client);
    return send(request, route, await found());
  };

  const changeFor =
    ({ client, isNewer }: RoutedRequest, server: McpServer) =>
    (message: Json): Json => {
      const result = message.result as Json;
      if (result.resultType === 'input_required') {
        if (!isNewer) return { ...message, result: UNASKABLE };
        const { requestState } = result;
        if (typeof requestState !== 'string') return message;
        return { ...message, result: { ...result, requestState: sealState(server, client, requestState) } };
      }
      const next = withExposedUris(server.slug, result);
      return next === result ? message : { ...message, result: next };
    };

  /** A stream of a server goes on until it has brought the answer. */
  const streamed = (request: RoutedRequest, { server }: Route, carrying: Carried): ReadableStream<Uint8Array> => {
    const { client, message } = request;
    const { response, channel, signal, release, end } = carrying;
    const spoken = { server, client, channel };
    const translate = deps.translator(spoken, changeFor(request, server));
    let isOver = false;
    const resume = (lastEventId: string | null) => listenTo(relay, spoken, { lastEventId, signal });
    const events = serverEvents(response, { resume, isOver: () => isOver || channel.kind === 'stateless', signal });
    const missing = () => {
      const error = new GatewayError('mcp_answer_missing', [server.slug]);
      return eventWith(new RpcError(error, { id: message.id, code: error.status }).body());
    };
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            for (;;) {
              const { done, value } = await events.next();
              if (done) {
                if (!isOver && !signal.aborted) controller.enqueue(missing());
                release();
                return controller.close();
              }
              const { bytes, isAnswer } = translate(value);
              isOver ||= isAnswer;
              if (bytes) return controller.enqueue(bytes);
            }
          } catch (error) {
            end();
            release();
            throw error;
          }
        },
        cancel() {
          end();
          release();
        },
      },
      { highWaterMark: 0 },
    );
  };

  const answered = async (request: RoutedRequest, route: Route): Promise<Response> => {
    const carrying = await carried(request, route);
    const { body, isNewer } = request;
    // To clients without sessions these two say what is wrong with their request.
    const isLeading = (status: number) => isNewer && (status === 400 || status === 404);
    const response = await withoutStatus(carrying.response, { body, isKeptAlive: true, isLeading }, route.server.slug);
    if (response.status === 200 && isEventStream(response)) {
      const { status, headers } = withoutSession(response);
      return new Response(streamed(request, route, { ...carrying, response }), { status, headers });
    }
    carrying.release();
    return mapAnswer(response, changeFor(request, route.server));
  };

  return async (request: RoutedRequest): Promise<Response> => {
    const { client, message, body, servers, find } = request;
    const route = await routeOf({ ...message, body }, servers, { lists, client, find });
    if (!route) throw unknownTarget(message);
    try {
      return await answered(request, route);
    } catch (error) {
      const told = wantsUser(error) && connectionTold(request, route.server, deps.publicUrl());
      if (!told) throw error;
      client.call.log.close({ status: 200, failedBy: 'gateway', errorCode: 'mcp_connection_required' });
      return json(told);
    }
  };
}

/** A request under way. */
interface Carried {
  readonly response: Response;
  readonly channel: Channel;
  readonly signal: AbortSignal;
  /** Lets the entry in the log close. */
  release(): void;
  /** The client does not listen any more. */
  end(): void;
}

/** What the server would have said through its own address. */
function connectionTold({ client, body }: RoutedRequest, { slug }: McpServer, publicUrl: string): Json | null {
  const link = connectUrl(publicUrl, slug);
  const error = new GatewayError('mcp_connection_required', [slug, link, 'none is connected yet']);
  return connectionAnswer(error, { body, headers: client.call.headers });
}

export function unknownTarget({ method, params, id }: RoutedRequest['message']) {
  const ref = isObject(params.ref) ? params.ref : {};
  const named = params.name ?? params.uri ?? ref.name ?? ref.uri;
  const shown = typeof named === 'string' ? JSON.stringify(named.slice(0, 128)) : 'what was asked for';
  const error = new GatewayError('mcp_capability_unavailable', [KINDS[method] ?? 'Resource', shown]);
  // By `uri` and nothing else clients know that it is the resource that is missing.
  const data = method === 'resources/read' ? { uri: named } : undefined;
  return new RpcError(error, { id, code: RPC.invalidParams, ...(data && { data }) });
}
const KINDS: Readonly<Record<string, string>> = { 'tools/call': 'Tool', 'prompts/get': 'Prompt' };

const UNASKABLE = {
  content: [{ type: 'text', text: 'The tool asks for input that this client cannot give. Use a newer client.' }],
  isError: true,
};

/** A message of an older client, as a server of the newer version takes it. */
function withMeta(body: Uint8Array, version: string): Uint8Array {
  const message = JSON.parse(new TextDecoder().decode(body)) as { params?: Json };
  const params = message.params ?? {};
  const _meta = {
    ...(isObject(params._meta) && params._meta),
    [`${META}/protocolVersion`]: STATELESS,
    [`${META}/clientInfo`]: { name: 'gateway', version },
    [`${META}/clientCapabilities`]: {},
  };
  return Buffer.from(JSON.stringify({ ...message, params: { ...params, _meta } }));
}
