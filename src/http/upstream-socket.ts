import { ClientWebSocket, type SocketRequest } from './client/websocket.ts';
import type { EgressPolicy } from './egress.ts';

export { type ClientWebSocket, SocketRefused, type WebSocketUser } from './client/websocket.ts';

/** The one way out for WebSockets: through the same egress policy as every request. */
export type DialSocket = (request: SocketRequest) => Promise<ClientWebSocket>;

export const createDialSocket =
  (egress: EgressPolicy): DialSocket =>
  async (request) =>
    new ClientWebSocket(await egress.admit(request.url), request).open();
