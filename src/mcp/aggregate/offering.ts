import type { CodeRunner } from '../../core/code-runner.ts';
import { GatewayError } from '../../core/errors.ts';
import { findMembers } from '../../core/json-bytes.ts';
import { refused } from '../message/message.ts';
import { RPC, RpcError } from '../message/rpc-error.ts';
import type { McpServer } from '../server/server.ts';
import { exposedName } from '../tools/names.ts';
import { rankTools } from '../tools/ranking.ts';
import { type ToolSet, toolInSet } from '../tools/tool-set.ts';
import { unknownTarget } from './calling.ts';
import type { ClientRequest } from './client-request.ts';
import { codeTools, functionsOf, serversIn, stubsOf } from './code-tools.ts';
import { isObject, type Json } from './conversation.ts';
import { NEWER_RESULT, resultFor } from './greeting.ts';
import { LISTS, type ListMethod, type Lists, type MergedList, type ServerStatus } from './lists.ts';
import { createPrograms, type ProgramsDeps } from './programs.ts';
import { replaced } from './routing.ts';
import {
  checkCall,
  readNames,
  readSearch,
  SEARCH_TOOLS,
  summaryOf,
  toolResult,
  UnfitArguments,
} from './search-tools.ts';

export interface OfferingDeps extends Omit<ProgramsDeps, 'runner' | 'called' | 'functionsFor'> {
  readonly lists: Pick<Lists, 'merge'>;
  /** Carries a request to the server it is for. */
  readonly route: (request: ClientRequest) => Promise<Response>;
  /** Null: this gateway runs no code. */
  readonly runner: CodeRunner | null;
}

/** What this address offers of all servers: their lists, or the few tools by which theirs are found and called. */
export function createOffering(deps: OfferingDeps) {
  const { lists, route, runner } = deps;
  const merged = async (asked: ClientRequest, method: ListMethod): Promise<MergedList> => {
    const { servers, closed, client, find } = asked;
    const { items, statuses, connect } = await lists.merge(servers, client, find, method);
    const upstreams: Record<string, ServerStatus> = { ...statuses };
    for (const { slug } of closed) upstreams[slug] = 'auth_required';
    return { items: client.set ? inSet(client.set, items, servers) : items, statuses: upstreams, connect };
  };

  /** Carries a call on under the name that the tool has among those of all servers. */
  const called = async (asked: ClientRequest): Promise<Response> => {
    const { client, message, body, servers } = asked;
    if (!client.set) return route(asked);
    const entry = client.set.tools.find(({ name }) => name === message.params.name);
    const server = entry && servers.find(({ id }) => id === entry.serverId);
    if (!entry || !server) throw unknownTarget(message);
    const name = exposedName(server.slug, entry.tool);
    const params = { ...message.params, name };
    const targets = [{ type: 'tool' as const, name }];
    return route({
      ...asked,
      message: { ...message, params, targets },
      body: replaced(body, ['params', 'name'], JSON.stringify(name)),
    });
  };

  const answered = ({ message, isNewer }: ClientRequest, result: Json): Response =>
    resultFor(message.id, { ...result, ...(isNewer && { resultType: 'complete' }) });

  const searched = async (asked: ClientRequest): Promise<Json> => {
    const { query, server, limit } = readSearch(asked.message.params.arguments);
    const servers = server === null ? asked.servers : asked.servers.filter(({ slug }) => slug === server);
    const closed = server === null ? asked.closed : asked.closed.filter(({ slug }) => slug === server);
    const { items, statuses, connect } = await merged({ ...asked, servers, closed }, 'tools/list');
    const found = rankTools(items, query, limit);
    const missing = Object.entries(statuses).filter(([, status]) => !isGood(status));
    const { log } = asked.client.call;
    log.metadata = { ...log.metadata, 'mcp.found': String(found.length) };
    const functions = asked.shows === 'code' ? functionsOf(items, asked.servers) : null;
    return toolResult({
      tools: found.map((tool) => ({ ...summaryOf(tool), name: functions?.get(String(tool.name)) ?? tool.name })),
      ...(missing.length > 0 && { unavailable_servers: Object.fromEntries(missing) }),
      ...(Object.keys(connect).length > 0 && { connect }),
    });
  };

  const described = async (asked: ClientRequest): Promise<Json> => {
    const given = readNames(asked.message.params.arguments);
    const { items } = await merged(asked, 'tools/list');
    if (asked.shows === 'code') return toolResult(stubsOf(given, items, functionsOf(items, asked.servers)));
    const names = new Set(given);
    const tools = items.filter(({ name }) => names.has(String(name)));
    for (const { name } of tools) names.delete(String(name));
    return toolResult({ tools, ...(names.size > 0 && { not_available: [...names] }) });
  };

  /** The call that is meant, as if it had been made directly: from here on it goes the way of every other. */
  const unwrapped = (asked: ClientRequest): ClientRequest => {
    const { message, body } = asked;
    const { name, hasArguments } = checkCall(message.params.arguments);
    const inner = hasArguments ? innerArguments(body) : '{}';
    const changed = replaced(replaced(body, ['params', 'arguments'], inner), ['params', 'name'], JSON.stringify(name));
    const given = isObject(message.params.arguments) ? message.params.arguments.arguments : undefined;
    const params = { ...message.params, name, arguments: given ?? {} };
    return { ...asked, message: { ...message, params, targets: [{ type: 'tool', name }] }, body: changed };
  };

  /** The tools that a program means, as far as the caller may use them. */
  const functionsFor: ProgramsDeps['functionsFor'] = async (asked, code) => {
    const servers = asked.client.set ? asked.servers : serversIn(code, asked.servers);
    const { items, statuses } = await merged({ ...asked, servers, closed: [] }, 'tools/list');
    const functions = [...functionsOf(items, asked.servers)].map(([tool, name]) => [name, tool] as const);
    const missing = Object.entries(statuses).filter(([, status]) => !isGood(status));
    return { functions: Object.fromEntries(functions), missing: Object.fromEntries(missing) };
  };
  const programs = runner && createPrograms({ ...deps, runner, called, functionsFor });

  const OWN: Readonly<Record<string, (asked: ClientRequest) => Promise<Json>>> = {
    search_tools: searched,
    describe_tools: described,
  };

  return {
    /** Null: this gateway runs none. */
    programs,

    async list(asked: ClientRequest, method: ListMethod): Promise<Response> {
      const { message, isNewer, shows } = asked;
      if (message.params.cursor !== undefined) throw refused('this list has one page', RPC.invalidParams, message.id);
      const newer = isNewer && NEWER_RESULT;
      if (shows !== 'all' && method === 'tools/list') {
        const tools = shows === 'code' && runner ? codeTools(runner) : SEARCH_TOOLS;
        return resultFor(message.id, { tools, ...newer });
      }
      const { items, statuses, connect } = await merged(asked, method);
      const standings = Object.values(statuses);
      if (standings.length > 0 && !standings.some(isGood))
        throw new RpcError(new GatewayError('mcp_servers_unavailable', [summary(statuses)]), {
          id: message.id,
          code: 502,
          data: { upstreams: statuses, connect },
        });
      const _meta = {
        'gateway/upstreams': statuses,
        ...(Object.keys(connect).length > 0 && { 'gateway/connect': connect }),
      };
      return resultFor(message.id, { [LISTS[method].member]: items, ...newer, _meta });
    },

    async call(asked: ClientRequest): Promise<Response> {
      const { message, shows, client } = asked;
      const { name } = message.params;
      if (message.method !== 'tools/call') return route(asked);
      if (shows === 'all' || typeof name !== 'string') return called(asked);
      try {
        if (name === 'run_code' && shows === 'code' && programs) return await programs.run(asked);
        if (name === 'call_tool' && shows === 'search') return await called(unwrapped(asked));
        if (!Object.hasOwn(OWN, name)) return await called(asked);
        client.call.log.model = name;
        return answered(asked, await OWN[name]!(asked));
      } catch (error) {
        if (!(error instanceof UnfitArguments)) throw error;
        client.call.log.model = name;
        return answered(asked, toolResult(`Invalid arguments for ${name}: ${error.message}.`, true));
      }
    },
  };
}

/** Those of the set that the caller may use and the servers have. What is gone is not there. */
function inSet({ tools }: ToolSet, items: readonly Json[], servers: readonly McpServer[]): Json[] {
  const byName = new Map(items.map((item) => [item.name, item]));
  return tools.flatMap((entry) => {
    const server = servers.find(({ id }) => id === entry.serverId);
    const item = server && byName.get(exposedName(server.slug, entry.tool));
    return item ? [toolInSet(item, entry)] : [];
  });
}

const isGood = (status: ServerStatus): boolean => status === 'ok' || status === 'truncated' || status === 'stale';

/** What each did, for people. */
const summary = (statuses: Readonly<Record<string, ServerStatus>>): string =>
  Object.entries(statuses)
    .map(([slug, status]) => `${slug} (${status})`)
    .join(', ');

/** As they were sent, byte for byte; the message has been read, and has each of these members once. */
function innerArguments(body: Uint8Array): string {
  let part = body;
  for (const name of ['params', 'arguments', 'arguments']) {
    const [member] = findMembers(part, name, 1);
    part = part.subarray(member!.start, member!.end);
  }
  return Buffer.from(part).toString();
}
