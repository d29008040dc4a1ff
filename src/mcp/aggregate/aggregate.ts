import { fail, GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { McpTools } from '../../core/principal.ts';
import { headerOf } from '../../http/headers.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { readMetadata } from '../../relay/receive.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';
import { type Caller, type CallerDeps, checkAgain, findCommonCaller, loggedAs } from '../caller/caller.ts';
import { withChallenge } from '../caller/challenge.ts';
import { mismatch, readMessages, refused } from '../message/message.ts';
import { RPC, RpcError } from '../message/rpc-error.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { OpenStreams } from '../relay/open-streams.ts';
import type { McpPolicy } from '../relay/policy-port.ts';
import { isOfRequest, toldFailure } from '../relay/refusal.ts';
import { isOldTransport } from '../relay/relay.ts';
import type { Sessions } from '../relay/sessions.ts';
import { commonResource } from '../server/resources.ts';
import type { McpServer } from '../server/server.ts';
import type { ToolSet } from '../tools/tool-set.ts';
import type { ToolSets } from '../tools/tool-sets.ts';
import { createAnswering } from './answering.ts';
import { type CallingDeps, createCalling } from './calling.ts';
import { createChannels } from './channels.ts';
import type { ClientRequest } from './client-request.ts';
import { newSession, readSession, writtenSession } from './client-session.ts';
import { type Client, NO_MESSAGE, type Relay, sendVia } from './conversation.ts';
import { createEndedSessions } from './ended-sessions.ts';
import { createGreeting, OLDER_VERSIONS, resultFor } from './greeting.ts';
import { createLists, LISTS, type ListMethod } from './lists.ts';
import { checkNewer, unsupported, versionIn } from './newer-request.ts';
import { createOffering, type OfferingDeps } from './offering.ts';
import { createQuestions } from './questions.ts';
import { createTranslator } from './server-events.ts';
import { createStreams } from './streams.ts';
import { toolsWanted } from './tools-wanted.ts';
import { wantedIn } from './wanted.ts';

export interface AggregateDeps
  extends CallerDeps,
    Omit<CallingDeps, 'channels' | 'lists' | 'translator'>,
    Pick<OfferingDeps, 'runner' | 'log' | 'report'> {
  readonly relay: Relay;
  readonly servers: { inWorkspace(id: WorkspaceId): Promise<readonly McpServer[]> };
  readonly sessions: Sessions;
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'notify' | 'onNotify'>;
  readonly openStreams: OpenStreams;
  readonly policy: Pick<McpPolicy, 'isOpen'>;
  readonly version: string;
  readonly toolSets: Pick<ToolSets, 'find'>;
}

/** What an address says by itself of those who call it. */
export interface Address {
  /** What its clients get; null: as they have it elsewhere. */
  readonly shows: McpTools | null;
  /** The slug of the tool set that it serves; null: all servers. */
  readonly set: string | null;
}

const MOST_BYTES = 4 << 20;
const METHOD_NOT_FOUND = -32_601;
const ROUTED = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete']);
/** Gone from the version without sessions. */
const ROUTED_IN_SESSIONS = new Set(['resources/subscribe', 'resources/unsubscribe']);
/** What a set of tools has. */
const OF_SETS = new Set(['tools/list', 'tools/call']);
/** What every server of a session has to know. */
const TOLD_ALL = new Set(['notifications/cancelled', 'notifications/roots/list_changed']);
const LEVELS = new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);
/** Whose sessions these are, beside those of servers. */
const COMMON = { id: 'all servers' };
const CREDENTIAL_HEADERS = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];
/** Also what one of the servers does not allow is no reason to leave the others. */
const isOfOneServer = (status: number): boolean => status === 403 || isOfRequest(status);

/** All MCP servers of a workspace behind one address. */
export function createAggregate(deps: AggregateDeps) {
  const { relay, sessions, version } = deps;
  const channels = createChannels(deps);
  const lists = createLists({ ...deps, channels });
  const questions = createQuestions(deps);
  const ended = createEndedSessions(deps);
  const translator = createTranslator({
    questions,
    answer: ({ server, client, channel }, message) =>
      void channels.say(server, client, channel, message).catch(() => {}),
    changed: lists.changed,
  });
  const route = createCalling({ ...deps, channels, lists, translator });
  const answerQuestion = createAnswering({ relay, channels, questions });
  const greeting = createGreeting({ channels, version });
  const meta = {
    [`${META}/protocolVersion`]: STATELESS,
    [`${META}/clientInfo`]: { name: 'gateway', version },
    [`${META}/clientCapabilities`]: {},
  };

  const letIn = async (call: AnonymousCall): Promise<Caller> => {
    call.log.provider = 'mcp';
    try {
      const caller = await findCommonCaller(call.headers, deps);
      call.identify(loggedAs(caller));
      if (call.search !== '') fail('invalid_request', 'query', 'an MCP endpoint takes none; leave it out');
      return caller;
    } catch (error) {
      const hasCredential = CREDENTIAL_HEADERS.some((name) => headerOf(call.headers, name) !== null);
      throw withChallenge(error, { slug: null, publicUrl: deps.publicUrl(), hasCredential });
    }
  };

  /** A server that is closed to the caller is like one that does not exist. */
  const openServers = async ({ caller, set }: Pick<Client, 'caller' | 'set'>): Promise<readonly McpServer[]> => {
    const wanted = set && new Set(set.tools.map(({ serverId }) => serverId));
    const servers = await deps.servers.inWorkspace(caller.workspaceId);
    const all = wanted ? servers.filter(({ id }) => wanted.has(id)) : servers;
    const open = await Promise.all(all.map((server) => deps.policy.isOpen(server, caller)));
    return all.filter((_, index) => open[index]);
  };
  const entered = async (client: Client) => (await openServers(client)).filter((server) => !wantsToken(server));
  const setOf = async (caller: Caller, { set }: Address): Promise<ToolSet | null> =>
    set === null ? null : deps.toolSets.find(caller.workspaceId, set);
  const standingOf = async ({ caller, set: before }: Client): Promise<string> => {
    const set = before && (await deps.toolSets.find(caller.workspaceId, before.slug));
    const servers = (await openServers({ caller, set })).filter((server) => !wantsToken(server));
    return [set?.version, ...servers.map((server) => server.version)].join();
  };
  const offering = createOffering({ ...deps, lists, route, serversOf: entered });
  const streams = createStreams({ ...deps, channels, translator, meta, standingOf });

  const clientOf = (call: AnonymousCall, caller: Caller, spoken: string | null, set: ToolSet | null): Client => {
    const sealed = spoken === STATELESS ? null : headerOf(call.headers, 'mcp-session-id');
    const session = readSession(sealed === null ? '' : sessions.open(COMMON, caller, sealed));
    if (ended.has(session.id)) fail('mcp_session_not_found');
    const resource = commonResource(deps.publicUrl()).uri;
    const again = async () => {
      await checkAgain({ server: null, headers: call.headers, resource, caller }, deps);
      if (set) await deps.toolSets.find(caller.workspaceId, set.slug);
    };
    const { id, capabilities } = session;
    return { call, caller, again, session: id, capabilities, version: spoken ?? OLDER_VERSIONS.at(-1)!, set };
  };

  const greeted = async ({ client, message, servers, shows }: ClientRequest): Promise<Response> => {
    const session = newSession(message.params);
    const wanted = message.params.protocolVersion;
    const agreed = OLDER_VERSIONS.find((each) => each === wanted) ?? OLDER_VERSIONS[0]!;
    const { id, capabilities } = session;
    const result = await greeting.initialized(
      { ...client, session: id, capabilities, version: agreed },
      servers,
      shows,
    );
    const answer = resultFor(message.id, result);
    answer.headers.set('mcp-session-id', sessions.seal(COMMON, client.caller, writtenSession(session)));
    return answer;
  };

  /** Whether every server can be spoken to like that; those that cannot be asked at this moment do not count. */
  const isSpoken = async ({ servers, client }: Pick<ClientRequest, 'servers' | 'client'>): Promise<boolean> => {
    const verdicts = await Promise.allSettled(servers.map((server) => channels.isNewer(server, client)));
    return verdicts.every((each) => each.status === 'rejected' || each.value);
  };

  const leveled = async ({ client, message }: ClientRequest): Promise<Response> => {
    const { level } = message.params;
    if (typeof level !== 'string' || !LEVELS.has(level))
      throw refused(`params.level is none of ${[...LEVELS].join(', ')}`, RPC.invalidParams, message.id);
    await channels.level(client, level);
    return resultFor(message.id, {});
  };

  const answerOlder = async (asked: ClientRequest): Promise<Response | null> => {
    const { message } = asked;
    if (message.method === 'initialize') return greeted(asked);
    if (message.method === 'ping') return resultFor(message.id, {});
    if (message.method === 'logging/setLevel') return leveled(asked);
    return ROUTED_IN_SESSIONS.has(message.method) && !asked.client.set ? route(asked) : null;
  };

  const answerNewer = async (asked: ClientRequest): Promise<Response | null> => {
    const { client, message, servers, shows } = asked;
    if (!(await isSpoken(asked))) throw unsupported(message.id, STATELESS, OLDER_VERSIONS);
    if (message.method === 'server/discover')
      return resultFor(message.id, await greeting.discovered(client, servers, shows));
    if (message.method === 'subscriptions/listen') {
      const { toolsListChanged, ...others } = wantedIn(message);
      const wanted = { ...(toolsListChanged && { toolsListChanged }), ...(!client.set && others) };
      return streams.subscribe(client, servers, message, wanted);
    }
    return null;
  };

  const answer = async (asked: ClientRequest): Promise<Response> => {
    const { message, isNewer } = asked;
    const own = await (isNewer ? answerNewer(asked) : answerOlder(asked));
    if (own) return own;
    if (asked.client.set && !OF_SETS.has(message.method)) return unknownMethod(asked);
    if (Object.hasOwn(LISTS, message.method)) return offering.list(asked, message.method as ListMethod);
    return ROUTED.has(message.method) ? offering.call(asked) : unknownMethod(asked);
  };

  const noted = async ({ client, message }: ClientRequest): Promise<Response> => {
    if (message.method === 'notifications/cancelled') await offering.programs?.cancelled(client, message.params);
    if (TOLD_ALL.has(message.method)) await channels.tellAll(client, message.method, message.params);
    return new Response(null, { status: 202 });
  };

  const heard = async (call: AnonymousCall, caller: Caller, body: Uint8Array, address: Address): Promise<Response> => {
    const { log } = call;
    const set = await setOf(caller, address);
    const shows = toolsWanted(call, caller, set?.shows ?? address.shows);
    if (shows === 'code' && !offering.programs) fail('mcp_code_off');
    const [message, ...more] = readMessages(body, call.headers);
    if (!message || more.length > 0) throw refused('this address takes one message at a time', RPC.invalidRequest);
    log.model = message.method?.slice(0, 256) ?? null;
    log.usage = {};
    log.metadata = {
      ...readMetadata(call.headers, caller.principal.defaults.metadata),
      ...(message.method !== null && { 'mcp.method': message.method.slice(0, 256) }),
      'mcp.auth': caller.by,
    };
    const spoken = headerOf(call.headers, 'mcp-protocol-version');
    const isNewer = spoken === STATELESS;
    const client = clientOf(call, caller, spoken, set);
    const all = await openServers(client);
    if (message.method === null) return answerQuestion(client, message, body, all);
    const asked: ClientRequest = {
      client,
      message: { ...message, method: message.method },
      body,
      isNewer,
      servers: all.filter((server) => !wantsToken(server)),
      closed: all.filter(wantsToken),
      find: isNewer ? async () => ({ kind: 'stateless' }) : channels.open,
      shows,
    };
    const inBody = versionIn(message);
    if (spoken === null && inBody !== null) throw mismatch('MCP-Protocol-Version', 'is missing', message.id);
    if (spoken !== null && !isNewer && !OLDER_VERSIONS.includes(spoken)) {
      const newer = inBody !== null && (await isSpoken(asked)) ? [STATELESS] : OLDER_VERSIONS;
      throw unsupported(message.id, spoken, inBody === null ? [STATELESS, ...OLDER_VERSIONS] : newer);
    }
    if (isNewer) checkNewer(asked.message, call.headers);
    return message.isRequest ? answer(asked) : noted(asked);
  };

  return {
    async handle(call: AnonymousCall, address: Address): Promise<Response> {
      const caller = await letIn(call);
      let body: Uint8Array | null = null;
      try {
        body = await readBytes(call.request, MOST_BYTES);
        return await heard(call, caller, body, address);
      } catch (error) {
        return toldFailure(call, error, { body, isOfRequest: isOfOneServer, isKeptAlive: true });
      }
    },

    /** The client listens to what servers say by themselves. */
    async listen(call: AnonymousCall, address: Address): Promise<Response> {
      const caller = await letIn(call);
      const spoken = headerOf(call.headers, 'mcp-protocol-version');
      if (spoken === STATELESS) fail('method_not_allowed', 'GET', '/mcp', 'POST');
      const client = clientOf(call, caller, spoken, await setOf(caller, address));
      if (isOldTransport(call)) fail('mcp_transport_unsupported');
      if (client.session === '') fail('invalid_request', 'Mcp-Session-Id', 'is missing; initialize a session first');
      if (call.request.method === 'HEAD')
        return new Response(null, { headers: { 'content-type': 'text/event-stream' } });
      return streams.open(client, await entered(client));
    },

    /** The client ends its session. */
    async leave(call: AnonymousCall, address: Address): Promise<Response> {
      const caller = await letIn(call);
      const client = clientOf(call, caller, null, await setOf(caller, address));
      if (client.session !== '') {
        await ended.add(client.session);
        await offering.programs?.left(client);
      }
      await channels.closeAll(client, async (server, channel) => {
        if (channel.kind === 'stateless' || channel.id === null) return;
        const signal = AbortSignal.timeout(2_000);
        const sending = { server, client, channel, message: NO_MESSAGE, signal, isQuiet: true };
        const left = await sendVia(relay, { ...sending, method: 'DELETE' });
        await left.body?.cancel();
      });
      return new Response(null, { status: 204 });
    },
  };
}

/** A server that takes tokens of its own identity provider alone is entered at its own address. */
const wantsToken = ({ jwtValidation }: McpServer): boolean => jwtValidation?.required === true;

function unknownMethod({ client, message, isNewer }: ClientRequest): Response {
  const error = new GatewayError('mcp_method_unknown', [JSON.stringify(message.method.slice(0, 80))]);
  const told = new RpcError(error, { id: message.id, code: METHOD_NOT_FOUND });
  if (isNewer) throw told;
  // To older clients 404 says that their session is gone.
  client.call.log.close({ status: 200, failedBy: 'gateway', errorCode: error.code });
  return json(told.body());
}
