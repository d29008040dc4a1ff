import { GatewayError } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import { mismatch, type ReadMessage, refused } from '../message/message.ts';
import { RPC, RpcError, type RpcId } from '../message/rpc-error.ts';
import { META } from '../message/versions.ts';
import { isObject } from './conversation.ts';

const UNSUPPORTED_VERSION = -32_022;
/** What these name stands in a header, too. */
const NAMING = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** The version that a message itself says it is written in; null: it says none, as older ones. */
export function versionIn({ params }: Pick<ReadMessage, 'params'>): string | null {
  const { _meta } = params;
  const version = isObject(_meta) ? _meta[`${META}/protocolVersion`] : undefined;
  return typeof version === 'string' ? version : null;
}

/** Since 2026-07-28 each request says for itself what a session said before, and its headers say the same. */
export function checkNewer(message: ReadMessage & { readonly method: string }, headers: SentHeaders) {
  const { id, method, params, isRequest } = message;
  if (headerOf(headers, 'mcp-method') === null) throw mismatch('Mcp-Method', 'is missing', id);
  if (NAMING.has(method) && headerOf(headers, 'mcp-name') === null) throw mismatch('Mcp-Name', 'is missing', id);
  if (!isRequest) return;
  const { _meta } = params;
  if (!isObject(_meta)) throw refused('params._meta is missing', RPC.invalidParams, id);
  const said = versionIn(message);
  if (said === null) throw refused(`params._meta["${META}/protocolVersion"] is missing`, RPC.invalidParams, id);
  if (!isObject(_meta[`${META}/clientCapabilities`]))
    throw refused(`params._meta["${META}/clientCapabilities"] is missing`, RPC.invalidParams, id);
  if (said !== headerOf(headers, 'mcp-protocol-version'))
    throw mismatch('MCP-Protocol-Version', 'is not the version of the body', id);
}

export const unsupported = (id: RpcId, requested: string, supported: readonly string[]): RpcError =>
  new RpcError(new GatewayError('mcp_version_unsupported', [requested.slice(0, 40), supported.join(', ')]), {
    id,
    code: UNSUPPORTED_VERSION,
    data: { supported, requested },
  });
