import { GatewayError } from '../core/errors.ts';
import { asGatewayError } from '../http/reply.ts';
import type { Line, SocketSide } from '../http/socket.ts';
import { failureEvent, inLane } from './events.ts';
import { laneIn, parseFrame, readTurn, type Turn } from './frame.ts';
import { play, type TurnDeps } from './turn.ts';

/** Lanes that have something to do. Turns of different lanes run at the same time. */
const MOST_LANES = 16;
const MOST_WAITING = 32;
const MOST_WAITING_BYTES = 32 << 20;
/** Errors that wait for a client that does not read. */
const MOST_UNHEARD = 64;
const UNAUTHENTICATED = 401;

/** The codes with which a line is closed (RFC 6455 section 7.4.1). */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const POLICY = 1008;

export interface ConnectionDeps extends TurnDeps {
  readonly lifeMs: number;
  readonly idleMs: number;
  /** For measuring, in milliseconds. */
  readonly clock: () => number;
  /** Called when it is over. */
  readonly over: () => void;
  /** Unforeseen failures, for the operator. */
  readonly report: (error: unknown) => void;
}

/** Why no further turn begins, and how the line is closed when the last one has ended. */
interface End {
  readonly error: GatewayError;
  readonly code: number;
  /** Whether the client hears the error as the last thing. */
  readonly isTold: boolean;
}

/**
 * One client's WebSocket for the Responses API. Each frame is a turn; turns of one lane are done one after the other, and
 * each is a call of its own. Whatever the client sends is answered, or the line is closed.
 */
export class ResponsesConnection implements SocketSide {
  readonly #deps: ConnectionDeps;
  readonly #openedAt: number;
  /** The turns that wait, by lane; a lane that is here has one under way. */
  readonly #lanes = new Map<string, Turn[]>();
  readonly #running = new Set<AbortController>();
  #line: Line | null = null;
  #heardAt: number;
  #waiting = 0;
  #waitingBytes = 0;
  #unheard = 0;
  #drain: PromiseWithResolvers<void> | null = null;
  #end: End | null = null;

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    this.#openedAt = deps.clock();
    this.#heardAt = this.#openedAt;
  }

  opened(line: Line): void {
    this.#line = line;
  }

  received(frame: string | Uint8Array): void {
    this.#heardAt = this.#deps.clock();
    let lane = '';
    try {
      if (this.#end) throw this.#end.error;
      if (typeof frame !== 'string')
        throw new GatewayError('invalid_request', ['frame', 'is binary; send JSON as a text']);
      const bytes = Buffer.from(frame);
      const members = parseFrame(frame, bytes);
      lane = laneIn(members);
      this.#take(readTurn(members, bytes));
    } catch (error) {
      this.#tell(error, lane);
    }
  }

  drained(): void {
    this.#drain?.resolve();
    this.#drain = null;
  }

  closed(): void {
    this.#line = null;
    this.#lanes.clear();
    for (const turn of this.#running) turn.abort();
    this.drained();
    this.#deps.memory.clear();
    this.#deps.over();
  }

  leave(): void {
    this.#finish({ error: new GatewayError('shutting_down', []), code: GOING_AWAY, isTold: false });
  }

  /** Called now and then: ends what has lived for long enough, or waits for too long. */
  look(): void {
    const { clock, lifeMs, idleMs } = this.#deps;
    const now = clock();
    if (now - this.#openedAt >= lifeMs) {
      const error = new GatewayError('websocket_connection_limit_reached', [Math.round(lifeMs / 60_000)]);
      this.#finish({ error, code: NORMAL, isTold: true });
    } else if (this.#lanes.size === 0 && now - this.#heardAt >= idleMs) this.#line?.close(GOING_AWAY, 'idle');
  }

  #take(turn: Turn): void {
    const bytes = turn.body.byteLength;
    const waiting = this.#lanes.get(turn.lane);
    if (!waiting && this.#lanes.size >= MOST_LANES)
      throw new GatewayError('too_many_turns', [MOST_LANES, 'lanes with turns']);
    if (waiting && this.#waiting >= MOST_WAITING) throw new GatewayError('too_many_turns', [MOST_WAITING, 'turns']);
    if (waiting && this.#waitingBytes + bytes > MOST_WAITING_BYTES)
      throw new GatewayError('too_many_turns', [MOST_WAITING_BYTES, 'bytes of turns']);
    if (waiting) {
      waiting.push(turn);
      this.#waiting++;
      this.#waitingBytes += bytes;
    } else {
      this.#lanes.set(turn.lane, []);
      void this.#runLane(turn);
    }
  }

  /** Plays a turn, and those of its lane that wait for it. */
  async #runLane(first: Turn): Promise<void> {
    const { lane } = first;
    for (let turn: Turn | undefined = first; turn && this.#line; turn = this.#next(lane)) {
      const stop = new AbortController();
      this.#running.add(stop);
      try {
        for await (const event of play(turn, this.#deps, stop.signal))
          if (!(await this.#send(inLane(event, lane)))) break;
      } catch (error) {
        this.#tell(error, lane);
      }
      this.#running.delete(stop);
      this.#heardAt = this.#deps.clock();
    }
    this.#lanes.delete(lane);
    this.#closeAtEnd();
  }

  #next(lane: string): Turn | undefined {
    const turn = this.#lanes.get(lane)?.shift();
    if (turn) {
      this.#waiting--;
      this.#waitingBytes -= turn.body.byteLength;
    }
    return turn;
  }

  /** No further turn begins; those that wait are refused, those under way may end. */
  #finish(end: End): void {
    if (this.#end || !this.#line) return;
    this.#end = end;
    for (const [lane, waiting] of this.#lanes) for (const _ of waiting.splice(0)) this.#tell(end.error, lane);
    this.#waiting = 0;
    this.#waitingBytes = 0;
    this.#closeAtEnd();
  }

  #closeAtEnd(): void {
    const end = this.#end;
    if (!end || this.#lanes.size > 0) return;
    void this.#sayGoodbye(end);
  }

  async #sayGoodbye({ error, code, isTold }: End): Promise<void> {
    if (isTold) await this.#send(failureEvent(error));
    while (this.#drain) await this.#drain.promise;
    this.#line?.close(code, error.code);
  }

  #tell(error: unknown, lane: string): void {
    if (!this.#line) return;
    const failure = asGatewayError(error, '');
    if (failure.code === 'internal_error') this.#deps.report(error);
    if (this.#unheard >= MOST_UNHEARD) {
      this.#line.cut();
      return;
    }
    this.#unheard++;
    void this.#send(inLane(failureEvent(failure), lane)).then(() => this.#unheard--);
    // The key was revoked, or its user removed: no further frame would be heard either.
    if (failure.status === UNAUTHENTICATED) this.refused(failure);
  }

  /** The caller is not known any more. */
  refused(error: GatewayError): void {
    this.#finish({ error, code: POLICY, isTold: false });
  }

  /** Waits for a client that reads slowly, and with it the provider waits. False: there is no one to send it to. */
  async #send(text: string): Promise<boolean> {
    while (this.#drain) await this.#drain.promise;
    const sent = this.#line?.send(text) ?? 'lost';
    if (sent === 'waits') this.#drain = Promise.withResolvers();
    if (sent === 'lost') this.#line?.cut();
    return sent !== 'lost';
  }
}
