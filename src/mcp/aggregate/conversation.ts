import { silentLog } from '../../core/call-log.ts';
import { GatewayError } from '../../core/errors.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Caller } from '../caller/caller.ts';
import { dataOf, EventCutter } from '../message/events.ts';
import { headerValue } from '../message/message.ts';
import { STATELESS } from '../message/versions.ts';
import type { AdmittedCaller } from '../relay/call.ts';
import type { McpServer } from '../server/server.ts';
import type { ToolSet } from '../tools/tool-set.ts';

/** Who asks, and in which conversation. */
export interface Client {
  readonly call: AnonymousCall;
  readonly caller: Caller;
  /** Throws when they would not be let in any more. */
  readonly again: () => Promise<void>;
  /** Of the client; empty where it has none. */
  readonly session: string;
  /** The version of the protocol that the client speaks. */
  readonly version: string;
  /** What servers may ask it, as it said when its session began. */
  readonly capabilities: Json;
  /** Null: it calls all servers. */
  readonly set: ToolSet | null;
}

/** How a server is spoken to: in a session of its own, as older servers want it, or without. */
export type Channel = SessionChannel | { readonly kind: 'stateless' };

export interface SessionChannel {
  readonly kind: 'session';
  readonly id: string | null;
  readonly version: string;
}

export type Json = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The server answered with an error of JSON-RPC. */
export class RpcRefusal extends Error {
  readonly code: number;
  readonly data: Json;

  constructor({ code, message, data }: Json) {
    super(String(message));
    this.code = Number(code);
    this.data = isObject(data) ? data : {};
  }
}

/** The server answered with something else than a message. */
export class UnusableReply extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** The server took longer than the others can wait. */
export class ServerTooSlow extends Error {
  readonly slug: string;
  readonly ms: number;

  constructor(slug: string, ms: number) {
    super(`${slug} took more than ${ms} ms`);
    this.slug = slug;
    this.ms = ms;
  }
}

const MOST_BYTES = 4 << 20;

export interface Message {
  readonly method: string;
  /** What the header mirrors; null where the method names nothing. */
  readonly name: string | null;
  readonly body: Uint8Array;
}

export type Relay = (call: AnonymousCall, admitted: AdmittedCaller) => Promise<Response>;

/** What of a client's headers speaks of its own message, and not of ours. */
const ITS_OWN = /^(?:content-.*|transfer-encoding|last-event-id|accept|mcp-.*)$/;

/** Sends a message the way every call goes, with everything that holds for the server. */
export function sendVia(
  relay: Relay,
  { server, client, channel, message, signal, isQuiet, method = 'POST', lastEventId = null }: Sending,
): Promise<Response> {
  const { call, caller, again } = client;
  const headers: Record<string, string> = {};
  for (const name in call.headers)
    if (!ITS_OWN.test(name) || isMirror(name, channel)) headers[name] = call.headers[name]!;
  const size = String(message.body.byteLength);
  Object.assign(headers, HEADERS, protocolHeaders(channel, message), { 'content-length': size });
  if (lastEventId !== null) headers['last-event-id'] = lastEventId;
  const body = method === 'POST' ? (message.body as Uint8Array<ArrayBuffer>) : null;
  const request = new Request('http://gateway/mcp', { method, headers, body, signal });
  const log = isQuiet ? silentLog() : call.log;
  return relay({ ...call, request, headers, search: '', log }, { server, caller, again });
}

export interface Sending {
  readonly server: McpServer;
  readonly client: Client;
  readonly channel: Channel;
  readonly message: Message;
  readonly signal: AbortSignal;
  /** Not what the client asked for itself, and so no entry of its own in the log. */
  readonly isQuiet: boolean;
  /** Of HTTP: says something, listens, or ends the session. */
  readonly method?: 'POST' | 'GET' | 'DELETE';
  /** Listens to what came after that event. */
  readonly lastEventId?: string | null;
}

/** Where nothing is said. */
export const NO_MESSAGE: Message = { method: '', name: null, body: new Uint8Array() };

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

/** Arguments that are mirrored in headers are the same for the server as for us. */
const isMirror = (name: string, channel: Channel): boolean =>
  channel.kind === 'stateless' && name.startsWith('mcp-param-');

function protocolHeaders(channel: Channel, { method, name }: Message): SentHeaders {
  if (channel.kind === 'stateless')
    return {
      'mcp-protocol-version': STATELESS,
      'mcp-method': method,
      ...(name !== null && { 'mcp-name': headerValue(name) }),
    };
  const isGreeting = method === 'initialize';
  return {
    ...(!isGreeting && { 'mcp-protocol-version': channel.version }),
    ...(channel.id !== null && { 'mcp-session-id': channel.id }),
  };
}

export const isEventStream = ({ headers }: Response): boolean =>
  /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');

/** The result that an answer carries; of what comes before it only questions matter, since the server waits for them. */
export async function resultOf(
  response: Response,
  onQuestion: (question: Json) => void,
): Promise<{ readonly result: Json; readonly bytes: number }> {
  const text = isEventStream(response) ? await firstAnswer(response, onQuestion) : await onlyAnswer(response);
  const message = messageIn(text);
  if (isObject(message?.error)) throw new RpcRefusal(message.error);
  if (!isObject(message?.result)) throw new UnusableReply(response.status);
  return { result: message.result, bytes: text.length };
}

async function onlyAnswer(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.byteLength;
    if (size > MOST_BYTES) throw new UnusableReply(response.status);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function firstAnswer(response: Response, onQuestion: (question: Json) => void): Promise<string> {
  const cutter = new EventCutter({ mostBytes: MOST_BYTES });
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    for (const event of cutter.push(piece)) {
      const text = dataOf(event) ?? '';
      const message = messageIn(text);
      if (message && ('result' in message || 'error' in message)) return text;
      if (message && 'id' in message && typeof message.method === 'string') onQuestion(message);
    }
  }
  return '';
}

function messageIn(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether a server cannot be used before its user has done something. */
export function wantsUser(error: unknown): boolean {
  if (error instanceof GatewayError)
    return error.code === 'mcp_connection_required' || error.code === 'mcp_user_required';
  return error instanceof RpcRefusal && (error.code === -32_042 || error.data.code === 'mcp_connection_required');
}
