import { findMembers } from '../../core/json-bytes.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import type { RpcId } from './rpc-error.ts';

/** What a call is about, as far as a look shows. Nothing is decided by it but how often it may be sent. */
export interface MessageLook {
  /** `tools/call`. */
  readonly method: string | null;
  /** The tool, prompt or resource. */
  readonly name: string | null;
}

/** May be sent again on a connection that the server was just closing. Above all `tools/call` may not. */
const REPEATABLE = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);
const LONGEST_NAME = 256;

export const isRepeatable = ({ method }: MessageLook): boolean => method !== null && REPEATABLE.has(method);

/** From the body where it is at hand, else from the headers that mirror it since 2026-07-28. */
export function lookAt(body: Uint8Array | null, headers: SentHeaders): MessageLook {
  if (!body) return { method: headerAt(headers, 'mcp-method'), name: headerAt(headers, 'mcp-name') };
  const method = textAt(body, 'method');
  const [params] = findMembers(body, 'params', 1);
  const inside = params && body.subarray(params.start, params.end);
  return { method, name: inside ? (textAt(inside, 'name') ?? textAt(inside, 'uri')) : null };
}

/** What an answer to a message needs to know of it. */
export interface Envelope {
  /** Null: it is no request, and nothing is to be answered. */
  readonly id: RpcId;
  readonly method: string | null;
}

/** Null for a batch, and for what is no message. */
export function envelopeOf(body: Uint8Array): Envelope | null {
  const method = textAt(body, 'method');
  if (method === null) return isAnswer(body) ? { id: null, method } : null;
  const [member] = findMembers(body, 'id', 1);
  if (!member) return { id: null, method };
  try {
    const id: unknown = JSON.parse(new TextDecoder().decode(body.subarray(member.start, member.end)));
    return { id: typeof id === 'string' || typeof id === 'number' ? id : null, method };
  } catch {
    return null;
  }
}

/** Of the client, to a question of the server. */
const isAnswer = (body: Uint8Array): boolean =>
  findMembers(body, 'result', 1).length > 0 || findMembers(body, 'error', 1).length > 0;

/** A client may send headers of any length; the log holds names. */
const headerAt = (headers: SentHeaders, name: string): string | null =>
  headerOf(headers, name)?.slice(0, LONGEST_NAME) ?? null;

function textAt(bytes: Uint8Array, name: string): string | null {
  const [member] = findMembers(bytes, name, 1);
  // Six bytes for each escaped character are the most it can take.
  if (!member || member.end - member.start > LONGEST_NAME * 6) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes.subarray(member.start, member.end)));
    return typeof value === 'string' ? value.slice(0, LONGEST_NAME) : null;
  } catch {
    return null;
  }
}
