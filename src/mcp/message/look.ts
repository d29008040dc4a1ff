import { findMembers } from '../../core/json-bytes.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';

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
