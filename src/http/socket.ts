/** The client's end of a WebSocket, as our side of it uses it. */
export interface Line {
  /** `waits`: it was taken, and what follows should wait until `drained`. `lost`: too much waits already, or it is over. */
  send(message: string | Uint8Array): 'sent' | 'waits' | 'lost';
  /** Says goodbye; what was sent before still arrives. */
  close(code: number, reason: string): void;
  /** Ends at once, whatever waits. */
  cut(): void;
}

/** Our side of a WebSocket. The server tells it what happens, in this order: opened, anything, closed. */
export interface SocketSide {
  opened(line: Line): void;
  /** A text, or bytes where the client sent a binary frame. */
  received(frame: string | Uint8Array): void;
  /** The client has taken what waited. */
  drained(): void;
  closed(): void;
  /** The process stops: what is under way may end, and then this side closes the line. */
  leave(): void;
}

/** What the handler of a socket's route answers: the request goes on as a WebSocket. */
export class Upgrade {
  readonly side: SocketSide;
  /** Which of the subprotocols that the client offered is spoken. Null: the first that holds no key. */
  readonly protocol: string | null;

  constructor(side: SocketSide, protocol: string | null = null) {
    this.side = side;
    this.protocol = protocol;
  }
}
