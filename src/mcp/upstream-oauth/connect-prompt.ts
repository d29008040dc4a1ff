import { GatewayError } from '../../core/errors.ts';
import { sha256 } from '../../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import { isStateless, META } from '../message/versions.ts';

/** A message of JSON-RPC, and what came with it. */
export interface AskedMessage {
  /** Null where it was too large to be read. */
  readonly body: Uint8Array | null;
  readonly headers: SentHeaders;
}

type Values = Readonly<Record<string, unknown>>;

/** The first version in which a request may be answered by asking the user to open an address. */
const ASKING_SINCE = '2025-11-25';
const URL_ELICITATION_REQUIRED = -32_042;
/** What may be answered by a question since 2026-07-28. */
const ASKABLE = new Set(['tools/call', 'prompts/get', 'resources/read']);

/**
 * An error that a user can mend, as a client shows it to its user. Null for every other error, and where there is no
 * request to answer: notifications, streams, and what cannot be read get it as any other error.
 */
export function connectionAnswer(error: unknown, asked: AskedMessage): Values | null {
  if (!(error instanceof GatewayError) || error.code !== 'mcp_connection_required') return null;
  const request = requestIn(asked.body);
  if (!request) return null;
  const answered = { jsonrpc: '2.0', id: request.id };
  const said = { message: error.message, url: String(error.facts[1]) };
  return { ...answered, ...outcomeOf(request, versionOf(request, asked.headers), said, error) };
}

interface AskedRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Values;
}

function outcomeOf(
  request: AskedRequest,
  version: string | null,
  { message, url }: { message: string; url: string },
  { status, code }: GatewayError,
): Values {
  const isModern = isStateless(version);
  const question = { mode: 'url', message, url };
  if (isModern && ASKABLE.has(request.method) && opensAddresses(request.params)) {
    const inputRequests = { connect: { method: 'elicitation/create', params: question } };
    return { result: { resultType: 'input_required', inputRequests } };
  }
  if (!isModern && version !== null && version >= ASKING_SINCE) {
    const elicitations = [{ ...question, elicitationId: sha256(url).slice(0, 32) }];
    return { error: { code: URL_ELICITATION_REQUIRED, message, data: { elicitations } } };
  }
  if (request.method === 'tools/call') {
    const content = [{ type: 'text', text: message }];
    return { result: { ...(isModern && { resultType: 'complete' }), content, isError: true } };
  }
  return { error: { code: status, message, data: { code, url } } };
}

/** Whether the client says that it can show its user an address. */
function opensAddresses(params: Values): boolean {
  const capabilities = valuesIn(valuesIn(params._meta)[`${META}/clientCapabilities`]);
  const { url } = valuesIn(capabilities.elicitation);
  return url !== null && typeof url === 'object';
}

function versionOf({ method, params }: AskedRequest, headers: SentHeaders): string | null {
  const inBody = method === 'initialize' ? params.protocolVersion : valuesIn(params._meta)[`${META}/protocolVersion`];
  return headerOf(headers, 'mcp-protocol-version') ?? (typeof inBody === 'string' ? inBody : null);
}

function requestIn(body: Uint8Array | null): AskedRequest | null {
  let value: unknown;
  try {
    value = body && JSON.parse(new TextDecoder().decode(body));
  } catch {
    return null;
  }
  const { id, method, params } = valuesIn(value);
  if ((typeof id !== 'string' && typeof id !== 'number') || typeof method !== 'string') return null;
  return { id, method, params: valuesIn(params) };
}

const valuesIn = (value: unknown): Values =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Values) : {};
