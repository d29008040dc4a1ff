import type { CallLog, Outcome } from '../../core/call-log.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Sealer } from '../../crypto/seal.ts';
import { json } from '../../http/reply.ts';
import { type ReadMessage, refused } from '../message/message.ts';
import { RPC, RpcError } from '../message/rpc-error.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { McpServer } from '../server/server.ts';
import { connectionAnswer } from '../upstream-oauth/connect-prompt.ts';
import { connectUrl } from '../upstream-oauth/user-tokens.ts';
import type { Channels } from './channels.ts';
import { type Channel, type Client, isObject, type Json, type Relay, sendVia, wantsUser } from './conversation.ts';
import type { FindChannel, Lists } from './lists.ts';
import { mapAnswer, withExposedUris } from './rewriting.ts';
import { type Route, replaced, routeOf } from './routing.ts';

export interface CallingDeps {
  readonly relay: Relay;
  readonly channels: Pick<Channels, 'forget'>;
  readonly lists: Pick<Lists, 'listOf'>;
  readonly sealer: Sealer;
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

  const send = (request: RoutedRequest, route: Route, channel: Channel, log: CallLog): Promise<Response> => {
    const { client } = request;
    const message = { ...route.message, body: bodyFor(request, route, channel) };
    const { signal } = client.call.request;
    const sending = {
      server: route.server,
      client: { ...client, call: { ...client.call, log } },
      channel,
      message,
      signal,
    };
    return sendVia(relay, { ...sending, isQuiet: false });
  };

  const carried = async (request: RoutedRequest, route: Route): Promise<Response> => {
    const { client, find } = request;
    const { log } = client.call;
    const channel = await find(route.server, client);
    if (channel.kind === 'stateless' || channel.id === null) return send(request, route, channel, log);
    // A session that the server has forgotten has carried nothing out: the same goes into a new one.
    const first = await send(request, route, channel, withoutMissing(log));
    if (first.status !== 404) return first;
    await first.body?.cancel();
    channels.forget(route.server, client);
    return send(request, route, await find(route.server, client), log);
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

  return async (request: RoutedRequest): Promise<Response> => {
    const { client, message, body, servers, find } = request;
    const route = await routeOf({ ...message, body }, servers, { lists, client, find });
    if (!route) throw unknownTarget(message);
    try {
      return await mapAnswer(await carried(request, route), changeFor(request, route.server));
    } catch (error) {
      const told = wantsUser(error) && connectionTold(request, route.server, deps.publicUrl());
      if (!told) throw error;
      client.call.log.close({ status: 200, failedBy: 'gateway', errorCode: 'mcp_connection_required' });
      return json(told);
    }
  };
}

/** What the server would have said through its own address. */
function connectionTold({ client, body }: RoutedRequest, { slug }: McpServer, publicUrl: string): Json | null {
  const link = connectUrl(publicUrl, slug);
  const error = new GatewayError('mcp_connection_required', [slug, link, 'none is connected yet']);
  return connectionAnswer(error, { body, headers: client.call.headers, link });
}

function unknownTarget({ method, params, id }: RoutedRequest['message']) {
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

/** The same log, for an attempt whose 404 is not the end. */
const withoutMissing = (log: CallLog): CallLog =>
  new Proxy(log, {
    get: (entry, name) => {
      if (name === 'close') return (outcome: Outcome) => outcome.status !== 404 && entry.close(outcome);
      const value: unknown = Reflect.get(entry, name, entry);
      return typeof value === 'function' ? value.bind(entry) : value;
    },
    set: (entry, name, value) => Reflect.set(entry, name, value, entry),
  });
