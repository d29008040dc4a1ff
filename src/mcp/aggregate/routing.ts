import { findMembers, splice } from '../../core/json-bytes.ts';
import type { ReadMessage } from '../message/message.ts';
import type { McpServer } from '../server/server.ts';
import { exposedName, mayExpose, plainName, plainUri } from '../tools/names.ts';
import { type Client, isObject, type Json, type Message } from './conversation.ts';
import { failureOf } from './failure.ts';
import type { FindChannel, Lists } from './lists.ts';

/** What a request is for: a server, and what the server itself calls the thing. */
export interface Route {
  readonly server: McpServer;
  readonly message: Message;
}

/** Where a request names what it is for, from the top of its parameters. */
interface NamedTarget {
  readonly path: readonly string[];
  readonly kind: 'tools/list' | 'prompts/list' | 'uri';
  readonly value: string;
}

/** The request as its server knows it; null when no server of the caller has such a thing. */
export async function routeOf(
  {
    id,
    method,
    params,
    body,
  }: Pick<ReadMessage, 'id' | 'params'> & { readonly method: string; readonly body: Uint8Array },
  servers: readonly McpServer[],
  {
    lists,
    client,
    find,
  }: { readonly lists: Pick<Lists, 'listOf'>; readonly client: Client; readonly find: FindChannel },
): Promise<Route | null> {
  const target = targetIn(method, params);
  if (!target) return null;
  const found = target.kind === 'uri' ? ofUri(target.value, servers) : await ofName(target, servers);
  if (!found) return null;
  const changed = replaced(body, ['params', ...target.path], JSON.stringify(found.name));
  return {
    server: found.server,
    message: { method, name: method === 'completion/complete' ? null : found.name, body: changed },
  };

  async function ofName({ kind, value }: NamedTarget, all: readonly McpServer[]) {
    const plain = plainName(
      value,
      all.map(({ slug }) => slug),
    );
    if (plain && !plain.isDoubtful) return { server: all.find(({ slug }) => slug === plain.slug)!, name: plain.name };
    const matches: { server: McpServer; name: string }[] = [];
    for (const server of all.filter(({ slug }) => mayExpose(slug, value))) {
      const listed = lists.listOf(server, client, find, kind as 'tools/list');
      const { items } = await listed.catch((error) => {
        throw failureOf(error, server.slug, id);
      });
      for (const { name } of items)
        if (typeof name === 'string' && exposedName(server.slug, name) === value) matches.push({ server, name });
    }
    // Two that go by the same name: neither is sure to be the one that is meant.
    return matches.length === 1 ? matches[0]! : null;
  }
}

function ofUri(value: string, servers: readonly McpServer[]) {
  const plain = plainUri(value);
  const server = plain && servers.find(({ slug }) => slug === plain.slug);
  return plain && server ? { server, name: plain.uri } : null;
}

function targetIn(method: string, params: Json): NamedTarget | null {
  const text = (value: unknown, target: Omit<NamedTarget, 'value'>) =>
    typeof value === 'string' ? { ...target, value } : null;
  switch (method) {
    case 'tools/call':
      return text(params.name, { path: ['name'], kind: 'tools/list' });
    case 'prompts/get':
      return text(params.name, { path: ['name'], kind: 'prompts/list' });
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return text(params.uri, { path: ['uri'], kind: 'uri' });
    case 'completion/complete': {
      const ref = isObject(params.ref) ? params.ref : {};
      return ref.type === 'ref/prompt'
        ? text(ref.name, { path: ['ref', 'name'], kind: 'prompts/list' })
        : text(ref.uri, { path: ['ref', 'uri'], kind: 'uri' });
    }
    default:
      return null;
  }
}

/** The message with another value in one place; every other byte stays. The place is there: it was read before. */
export function replaced(body: Uint8Array, path: readonly string[], json: string): Uint8Array {
  const [name, ...rest] = path;
  const [member] = findMembers(body, name!, 1);
  if (!member) return body;
  if (rest.length === 0) return splice(body, member, json);
  const inner = replaced(body.subarray(member.start, member.end), rest, json);
  return splice(body, member, Buffer.from(inner).toString());
}
