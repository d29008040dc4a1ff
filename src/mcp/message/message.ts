import { GatewayError } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import type { CapabilityType } from './capability.ts';
import { RPC, RpcError, type RpcId } from './rpc-error.ts';
import { Ambiguous, carelessly, misspellingOf, strictJson } from './strict-json.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a message asks a server for. */
export interface Target {
  readonly type: CapabilityType;
  readonly name: string;
}

/** One message of a client, read so that no server can read it otherwise. */
export interface ReadMessage {
  readonly id: RpcId;
  readonly isRequest: boolean;
  readonly method: string | null;
  readonly params: Json;
  readonly targets: readonly Target[];
}

/** Batches were in this version of the protocol alone; it is also that of clients that name none. */
const WITH_BATCHES = '2025-03-26';
const MOST_IN_BATCH = 100;

const misspellsTop = misspellingOf(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const misspellsParam = misspellingOf(['name', 'uri', 'arguments', 'ref', 'cursor', '_meta', 'notifications']);
const SUBSCRIPTIONS = 'resourceSubscriptions';
const misspellsSubscriptions = misspellingOf([SUBSCRIPTIONS]);
/** Methods that are looked into: whatever else a server could take for one of them is refused. */
const LOOKED_INTO = [
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'subscriptions/listen',
];
const isLookedInto = new Set(LOOKED_INTO);
/** Under these names no method is let through that is not looked into. */
const areas = new Set(LOOKED_INTO.map((method) => method.split('/')[0]!));
const lettersOfMethods = new Set(LOOKED_INTO.map(lettersOf));

/** What is left of a name for a program that trims, unescapes, folds and takes one separator for another. */
function lettersOf(method: string): string {
  return carelessly(method).replace(/[^a-z]/g, '');
}

function isDisguised(method: string): boolean {
  if (isLookedInto.has(method)) return false;
  // No method has blanks or letters of other scripts: a server that takes it for one has made something else of it.
  if (!/^[\x21-\x7e]+$/.test(method) || method.includes('%')) return true;
  const [area = ''] = carelessly(method)
    .split(/[^a-z]+/)
    .filter(Boolean);
  return areas.has(area) || lettersOfMethods.has(lettersOf(method));
}

/** The messages of a body: one, or those of a batch. Throws a JSON-RPC error that says why it cannot be sent on. */
export function readMessages(body: Uint8Array, headers: SentHeaders): readonly ReadMessage[] {
  const type = headers['content-type'] ?? '';
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    throw new GatewayError('unsupported_media_type', [type]);
  const coding = headerOf(headers, 'content-encoding');
  if (coding !== null && coding !== 'identity')
    throw refused('it is packed, and a policy has to read it; send it as it is', RPC.invalidRequest);
  const { value } = parsed(body);
  if (!Array.isArray(value)) return [readMessage(value, headers)];
  const version = headerOf(headers, 'mcp-protocol-version');
  if (version !== null && version !== WITH_BATCHES)
    throw refused(
      `version ${version.slice(0, 20)} of the protocol has no batches; send one message`,
      RPC.invalidRequest,
    );
  if (value.length === 0 || value.length > MOST_IN_BATCH)
    throw refused(`a batch has 1 to ${MOST_IN_BATCH} messages`, RPC.invalidRequest);
  for (const name of ['mcp-method', 'mcp-name'])
    if (headerOf(headers, name) !== null) throw mismatch(name, 'cannot speak for a batch', null);
  return value.map((each) => readMessage(each, {}));
}

export const refused = (why: string, code: number, id: RpcId = null): RpcError =>
  new RpcError(new GatewayError('mcp_message_refused', [why]), { id, code });

function parsed(body: Uint8Array) {
  try {
    return strictJson(body);
  } catch (error) {
    if (error instanceof Ambiguous) throw refused(error.message, RPC.parseError);
    throw error;
  }
}

const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function readMessage(value: unknown, headers: SentHeaders): ReadMessage {
  if (!isObject(value)) throw refused('it is no JSON-RPC message', RPC.invalidRequest);
  const id = idOf(value.id);
  const refuse = (why: string, code: number = RPC.invalidRequest) => refused(why, code, id);
  const odd = Object.keys(value).find(misspellsTop);
  if (odd !== undefined) throw refuse(`${JSON.stringify(odd.slice(0, 40))} is not how that member is spelt`);
  const { method, params = {} } = value;
  if (method !== undefined && typeof method !== 'string') throw refuse('method is no text');
  if (typeof method === 'string' && isDisguised(method)) throw refuse('its method is none that a policy can judge');
  if (!isObject(params)) throw refuse('params is no object');
  const oddParam = Object.keys(params).find(misspellsParam);
  if (oddParam !== undefined) throw refuse(`params.${oddParam.slice(0, 40)} is not how that member is spelt`);
  const targets = method === undefined ? [] : targetsOf(method, params, refuse);
  checkHeaders(headers, { method: method ?? null, name: nameIn(method, params), id });
  return { id, isRequest: value.id !== undefined, method: method ?? null, params, targets };
}

function idOf(id: unknown): RpcId {
  if (id === undefined || id === null) return null;
  if (typeof id === 'string' || typeof id === 'number') return id;
  throw refused('id is neither a text nor a number', RPC.invalidRequest);
}

type Refuse = (why: string, code?: number) => RpcError;

/** What is not there is for the server to miss; what is something else could be anything to it. */
function targetsOf(method: string, params: Json, refuse: Refuse): Target[] {
  const named = (holder: Json, member: string, types: readonly CapabilityType[]): Target[] => {
    const name = holder[member];
    if (name === undefined) return [];
    if (typeof name !== 'string') throw refuse(`params.${member} is no text`, RPC.invalidParams);
    return types.map((type) => ({ type, name }));
  };
  switch (method) {
    case 'tools/call':
      return named(params, 'name', ['tool']);
    case 'prompts/get':
      return named(params, 'name', ['prompt']);
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return named(params, 'uri', ['resource']);
    case 'completion/complete': {
      const { ref = {} } = params;
      if (!isObject(ref)) throw refuse('params.ref is no object', RPC.invalidParams);
      const odd = Object.keys(ref).find(misspellsParam);
      if (odd !== undefined) throw refuse(`params.ref.${odd.slice(0, 40)} is not how that member is spelt`);
      return [...named(ref, 'name', ['prompt']), ...named(ref, 'uri', ['resource', 'resource_template'])];
    }
    case 'subscriptions/listen':
      return urisIn(params.notifications, refuse).map((name) => ({ type: 'resource', name }));
    default:
      return [];
  }
}

function urisIn(notifications: unknown, refuse: Refuse): string[] {
  if (!isObject(notifications)) return [];
  if (Object.keys(notifications).some(misspellsSubscriptions))
    throw refuse(`params.notifications.${SUBSCRIPTIONS} is not spelt like that`);
  const uris = notifications[SUBSCRIPTIONS];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

/** What `Mcp-Name` mirrors. */
function nameIn(method: unknown, { name, uri }: Json): unknown {
  if (method === 'tools/call' || method === 'prompts/get') return name;
  return method === 'resources/read' ? uri : undefined;
}

interface Mirrored {
  readonly method: string | null;
  readonly name: unknown;
  readonly id: RpcId;
}

/** Headers that say something else than the body would let a server, or a proxy before it, do something else. */
function checkHeaders(headers: SentHeaders, { method, name, id }: Mirrored) {
  const saidMethod = headerOf(headers, 'mcp-method');
  if (saidMethod !== null && saidMethod !== method) throw mismatch('Mcp-Method', 'is not the method of the body', id);
  const saidName = headerOf(headers, 'mcp-name');
  if (saidName !== null && plainValue(saidName) !== name) throw mismatch('Mcp-Name', 'is not what the body names', id);
}

export const mismatch = (header: string, why: string, id: RpcId): RpcError =>
  new RpcError(new GatewayError('mcp_header_mismatch', [header, why]), { id, code: RPC.headerMismatch });

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** A mirrored value; what a header cannot hold comes as base64. Null for base64 of no text. */
export function plainValue(value: string): string | null {
  const coded = SENTINEL.exec(value)?.[1];
  if (coded === undefined) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(coded, 'base64'));
  } catch {
    return null;
  }
}

/** The other way round. */
export const headerValue = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !SENTINEL.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;
