import { GatewayError } from '../core/errors.ts';
import type { SentHeaders } from './headers.ts';
import type { Route } from './route.ts';
import type { Match } from './router.ts';

const WEBSOCKET = /(?:^|,)\s*websocket\s*(?:\/[^,]*)?(?:,|$)/i;
/** A 426 has to say which protocol it speaks of (RFC 9110 section 15.5.22). */
const SAYS_WHICH = { upgrade: 'websocket', connection: 'upgrade' };
const PROTOCOLS = 'sec-websocket-protocol';
const VERSION = '13';
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Whether a request asks to go on as a WebSocket. Other protocols that a client offers to change to are passed over. */
export const isUpgrade = (method: string, { upgrade }: SentHeaders): boolean =>
  upgrade !== undefined && method === 'GET' && WEBSOCKET.test(upgrade);

/**
 * Finds the route of a WebSocket. Where there is none, the client is told so at once and by the status that says it: it is
 * never answered as the GET that its handshake looks like, and clients that can go on without a WebSocket do so.
 */
export function createSocketRouter(sockets: readonly Route[]) {
  const byPath = new Map(sockets.map((route) => [route.path, { route, params: {} }]));
  return (path: string, headers: SentHeaders): Match => {
    const found = byPath.get(path);
    if (!found) throw new GatewayError('upgrade_not_served', [path, [...byPath.keys()]], SAYS_WHICH);
    checkHandshake(headers);
    return found;
  };
}

/** Refuses a handshake that RFC 6455 knows no answer to. */
function checkHandshake(headers: SentHeaders): void {
  const refuse = (name: string, why: string, more = {}) => {
    throw new GatewayError('invalid_header', [name, why], more);
  };
  if (headers['sec-websocket-version'] !== VERSION)
    refuse('sec-websocket-version', `give ${VERSION}`, { 'sec-websocket-version': VERSION });
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) refuse('sec-websocket-key', 'give 16 bytes in base64');
  // One that holds a key is never agreed to, so another has to stand beside it.
  if (headers[PROTOCOLS] === '') refuse(PROTOCOLS, 'offer "realtime" beside the key, so that it can be agreed to');
}

/** Subprotocols in which browsers, which can set no header, send a key and whose it is. */
const KEY_PROTOCOL = 'openai-insecure-api-key.';
const IS_SECRET = /^openai-(?:insecure-api-key|organization|project)\./i;
const NAMES_KEY = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];

const offeredIn = (headers: SentHeaders): string[] =>
  (headers[PROTOCOLS] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** The headers of a handshake, with the key that came as a subprotocol where SDKs have it, and without it where it was. */
export function withOfferedKey(headers: SentHeaders): SentHeaders {
  const offered = offeredIn(headers);
  if (!offered.some((name) => IS_SECRET.test(name))) return headers;
  const plain = offered.filter((name) => !IS_SECRET.test(name));
  const key = offered.find((name) => name.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
  const isKeyed = NAMES_KEY.some((name) => headers[name]);
  return {
    ...headers,
    [PROTOCOLS]: plain.join(', '),
    ...(key && !isKeyed && { authorization: `Bearer ${key}` }),
  };
}

/**
 * The header that says which subprotocol is spoken. It is always said where any was offered: Bun would say the first, which may
 * hold a key. `headers` are those of `withOfferedKey`.
 */
export function spokenProtocol(offered: string | null, headers: SentHeaders, chosen: string | null): SentHeaders {
  if (offered === null || offered === '') return {};
  const plain = offeredIn(headers);
  return { [PROTOCOLS]: chosen !== null && plain.includes(chosen) ? chosen : plain[0]! };
}
