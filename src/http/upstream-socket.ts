import { ClientWebSocket, type SocketRequest } from './client/websocket.ts';
import { type EgressPolicy, withTls } from './egress.ts';

export { type ClientWebSocket, SocketRefused, type WebSocketUser } from './client/websocket.ts';

/** The one way out for WebSockets: through the same egress policy as every request. */
export type DialSocket = (request: SocketRequest) => Promise<ClientWebSocket>;

export const createDialSocket =
  (egress: EgressPolicy): DialSocket =>
  async (request) => {
    const destination = await egress.admit(request.url);
    return new ClientWebSocket(request.tls ? withTls(destination, request.tls) : destination, request).open();
  };
