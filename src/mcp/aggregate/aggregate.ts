import { fail, GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { headerOf } from '../../http/headers.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { readMetadata } from '../../relay/receive.ts';
import type { Changes } from '../../storage/changes.ts';
import { type Caller, type CallerDeps, checkAgain, findCommonCaller, loggedAs } from '../caller/caller.ts';
import { withChallenge } from '../caller/challenge.ts';
import { mismatch, type ReadMessage, readMessages, refused } from '../message/message.ts';
import { RPC, RpcError } from '../message/rpc-error.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { McpPolicy } from '../relay/policy-port.ts';
import type { Sessions } from '../relay/sessions.ts';
import { commonResource } from '../server/resources.ts';
import type { McpServer } from '../server/server.ts';
import { type CallingDeps, createCalling } from './calling.ts';
import { createChannels } from './channels.ts';
import { type Client, type Json, type Relay, sendVia } from './conversation.ts';
import { createLists, type FindChannel, LISTS, type ListMethod, type ServerStatus } from './lists.ts';

export interface AggregateDeps extends CallerDeps, Omit<CallingDeps, 'channels' | 'lists'> {
  readonly relay: Relay;
  readonly servers: { inWorkspace(id: WorkspaceId): Promise<readonly McpServer[]> };
  readonly sessions: Sessions;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly policy: Pick<McpPolicy, 'isOpen'>;
  readonly version: string;
}

/** A message, and all that is known of the client that sent it. */
interface ClientRequest {
  readonly client: Client;
  readonly message: ReadMessage & { readonly method: string };
  readonly body: Uint8Array;
  readonly isNewer: boolean;
  /** Those that this caller can be let in at without another credential. */
  readonly servers: readonly McpServer[];
  /** The others of the workspace. */
  readonly closed: readonly McpServer[];
  readonly find: FindChannel;
}

const MOST_BYTES = 4 << 20;
/** The newest first. */
const OLDER_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];
const UNSUPPORTED_VERSION = -32_022;
const METHOD_NOT_FOUND = -32_601;
const CAPABILITIES = { tools: {}, prompts: {}, resources: {}, completions: {} };
const ROUTED = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete']);
/** Whose sessions these are, beside those of servers. */
const COMMON = { id: 'all servers' };
const CREDENTIAL_HEADERS = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];

/** All MCP servers of a workspace behind one address. */
export function createAggregate(deps: AggregateDeps) {
  const { relay, sessions, version } = deps;
  const channels = createChannels(deps);
  const lists = createLists({ ...deps, channels });
  const route = createCalling({ ...deps, channels, lists });
  const serverInfo = { name: 'gateway', version };

  const letIn = async (call: AnonymousCall): Promise<Caller> => {
    try {
      return await findCommonCaller(call.headers, deps);
    } catch (error) {
      const hasCredential = CREDENTIAL_HEADERS.some((name) => headerOf(call.headers, name) !== null);
      throw withChallenge(error, { slug: null, publicUrl: deps.publicUrl(), hasCredential });
    }
  };

  /** A server that is closed to the caller is like one that does not exist. */
  const openServers = async (caller: Caller): Promise<readonly McpServer[]> => {
    const all = await deps.servers.inWorkspace(caller.workspaceId);
    const open = await Promise.all(all.map((server) => deps.policy.isOpen(server, caller)));
    return all.filter((_, index) => open[index]);
  };

  const clientOf = (call: AnonymousCall, caller: Caller, spoken: string | null): Client => {
    const sealed = spoken === STATELESS ? null : headerOf(call.headers, 'mcp-session-id');
    const session = sealed === null ? '' : sessions.open(COMMON, caller, sealed);
    const resource = commonResource(deps.publicUrl()).uri;
    const again = () => checkAgain({ server: null, headers: call.headers, resource, caller }, deps);
    return { call, caller, again, session, version: spoken ?? OLDER_VERSIONS.at(-1)! };
  };

  const greeting = ({ client, message }: ClientRequest): Response => {
    const wanted = message.params.protocolVersion;
    const protocolVersion = OLDER_VERSIONS.find((each) => each === wanted) ?? OLDER_VERSIONS[0]!;
    const answer = resultFor(message, { protocolVersion, capabilities: CAPABILITIES, serverInfo });
    answer.headers.set('mcp-session-id', sessions.seal(COMMON, client.caller, crypto.randomUUID()));
    return answer;
  };

  const discovered = ({ message }: ClientRequest): Response =>
    resultFor(message, {
      ...NEWER_RESULT,
      supportedVersions: [STATELESS],
      capabilities: CAPABILITIES,
      _meta: { [`${META}/serverInfo`]: serverInfo },
    });

  const listed = async (asked: ClientRequest, method: ListMethod): Promise<Response> => {
    const { message, servers, closed, client, find, isNewer } = asked;
    if (message.params.cursor !== undefined) throw refused('this list has one page', RPC.invalidParams, message.id);
    const { items, statuses, connect } = await lists.merge(servers, client, find, method);
    const upstreams: Record<string, ServerStatus> = { ...statuses };
    for (const { slug } of closed) upstreams[slug] = 'auth_required';
    const isEmptied = Object.values(upstreams).length > 0 && !Object.values(upstreams).some(isGood);
    if (isEmptied)
      throw new RpcError(new GatewayError('mcp_servers_unavailable', [summary(upstreams)]), {
        id: message.id,
        code: 502,
        data: { upstreams, connect },
      });
    const meta = {
      'gateway/upstreams': upstreams,
      ...(Object.keys(connect).length > 0 && { 'gateway/connect': connect }),
    };
    return resultFor(message, { [LISTS[method].member]: items, ...(isNewer && NEWER_RESULT), _meta: meta });
  };

  /** Whether every server can be spoken to like that; those that cannot be asked at this moment do not count. */
  const isSpoken = async ({ servers, client }: ClientRequest): Promise<boolean> => {
    const verdicts = await Promise.allSettled(servers.map((server) => channels.isNewer(server, client)));
    return verdicts.every((each) => each.status === 'rejected' || each.value);
  };

  const answer = async (asked: ClientRequest): Promise<Response> => {
    const { message, isNewer } = asked;
    const { method } = message;
    if (isNewer && !(await isSpoken(asked))) throw unsupported(asked, STATELESS, OLDER_VERSIONS);
    if (method === 'initialize' && !isNewer) return greeting(asked);
    if (method === 'ping' && !isNewer) return resultFor(message, {});
    if (method === 'server/discover' && isNewer) return discovered(asked);
    if (Object.hasOwn(LISTS, method)) return listed(asked, method as ListMethod);
    if (ROUTED.has(method)) return route(asked);
    return unknownMethod(asked);
  };

  const noted = async ({ client, message }: ClientRequest): Promise<Response> => {
    // The request that is no longer wanted may be under way at any of them; the others know of none.
    if (message.method === 'notifications/cancelled') await channels.tellAll(client, message.method, message.params);
    return new Response(null, { status: 202 });
  };

  return {
    async handle(call: AnonymousCall): Promise<Response> {
      const { log } = call;
      log.provider = 'mcp';
      const caller = await letIn(call);
      call.identify(loggedAs(caller));
      if (call.search !== '') fail('invalid_request', 'query', 'an MCP endpoint takes none; leave it out');
      const body = await readBytes(call.request, MOST_BYTES);
      const [message, ...more] = readMessages(body, call.headers);
      if (!message || more.length > 0) throw refused('this address takes one message at a time', RPC.invalidRequest);
      log.model = message.method?.slice(0, 256) ?? null;
      log.usage = {};
      log.metadata = {
        ...readMetadata(call.headers, caller.principal.defaults.metadata),
        ...(message.method !== null && { 'mcp.method': message.method.slice(0, 256) }),
        'mcp.auth': caller.by,
      };
      // An answer to a question that the gateway has not asked.
      if (message.method === null) return new Response(null, { status: 202 });
      const spoken = headerOf(call.headers, 'mcp-protocol-version');
      const isNewer = spoken === STATELESS;
      const client = clientOf(call, caller, spoken);
      const all = await openServers(caller);
      const asked: ClientRequest = {
        client,
        message: { ...message, method: message.method },
        body,
        isNewer,
        servers: all.filter((server) => !server.jwtValidation?.required),
        closed: all.filter((server) => server.jwtValidation?.required),
        find: isNewer ? async () => ({ kind: 'stateless' }) : channels.open,
      };
      if (spoken !== null && !isNewer && !OLDER_VERSIONS.includes(spoken))
        throw unsupported(asked, spoken, [STATELESS, ...OLDER_VERSIONS]);
      if (isNewer && headerOf(call.headers, 'mcp-method') === null)
        throw mismatch('Mcp-Method', 'is missing', message.id);
      return message.isRequest ? answer(asked) : noted(asked);
    },

    /** The client ends its session. */
    async leave(call: AnonymousCall): Promise<Response> {
      call.log.provider = 'mcp';
      const caller = await letIn(call);
      call.identify(loggedAs(caller));
      const client = clientOf(call, caller, null);
      await channels.closeAll(client, async (server, channel) => {
        if (channel.kind === 'stateless' || channel.id === null) return;
        const message = { method: 'DELETE', name: null, body: new Uint8Array() };
        const signal = AbortSignal.timeout(2_000);
        const ended = await sendVia(relay, { server, client, channel, message, signal, isQuiet: true, isEnd: true });
        await ended.body?.cancel();
      });
      return new Response(null, { status: 204 });
    },
  };
}

/** Lists are the caller's own, and put together anew. */
const NEWER_RESULT = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

const isGood = (status: ServerStatus): boolean => status === 'ok' || status === 'truncated';

const resultFor = ({ id }: ReadMessage, result: Json): Response => json({ jsonrpc: '2.0', id, result });

const unsupported = ({ message }: ClientRequest, requested: string, supported: readonly string[]): RpcError =>
  new RpcError(new GatewayError('mcp_version_unsupported', [requested.slice(0, 40), supported.join(', ')]), {
    id: message.id,
    code: UNSUPPORTED_VERSION,
    data: { supported, requested },
  });

function unknownMethod({ client, message, isNewer }: ClientRequest): Response {
  const error = new GatewayError('mcp_method_unknown', [JSON.stringify(message.method.slice(0, 80))]);
  const told = new RpcError(error, { id: message.id, code: METHOD_NOT_FOUND });
  if (isNewer) throw told;
  // To older clients 404 says that their session is gone.
  client.call.log.close({ status: 200, failedBy: 'gateway', errorCode: error.code });
  return json(told.body());
}

/** What each did, for people. */
const summary = (statuses: Readonly<Record<string, ServerStatus>>): string =>
  Object.entries(statuses)
    .map(([slug, status]) => `${slug} (${status})`)
    .join(', ');
