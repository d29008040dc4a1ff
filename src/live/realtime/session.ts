import { GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { asGatewayError } from '../../http/reply.ts';
import type { Line, SocketSide } from '../../http/socket.ts';
import type { WebSocketUser } from '../../http/upstream-socket.ts';
import type { RealtimeLine } from '../../relay/realtime.ts';
import { Inbox } from './inbox.ts';
import { Responses } from './responses.ts';
import type { Frame, Turn } from './turn.ts';

/** The codes with which a line is closed (RFC 6455 section 7.4.1). */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const NO_STATUS = 1005;
const ABNORMAL = 1006;
const UNREADABLE = 1007;
const POLICY = 1008;
const FAILED = 1011;
const TRY_LATER = 1013;
/** The most that a goodbye may say, in bytes. */
const LONGEST_REASON = 120;
/** What may wait for a provider that does not read. */
const MOST_WAITING = 8 << 20;
/** How long a provider has to say what a response took that was cancelled. */
const LAST_WORD_MS = 5_000;
/** A key that was revoked, or whose user has gone, is noticed within so long. */
const IDENTIFY_MS = 2_000;
const PING_MS = 30_000;
const UNAUTHENTICATED = 401;
const UNREADABLE_FRAME = new Set(['invalid_request', 'body_too_large', 'invalid_model']);

export interface SessionDeps {
  /** Who is calling, now. Throws 401. */
  readonly identify: () => Promise<Principal>;
  readonly lifeMs: number;
  readonly idleMs: number;
  /** For measuring, in milliseconds. */
  readonly clock: () => number;
  /** Called when it is over. */
  readonly over: () => void;
  /** Called when the provider is left, or has gone: nothing is heard of it any more. */
  readonly parted?: () => void;
  /** Unforeseen failures, for the operator. */
  readonly report: (error: unknown) => void;
}

/** How client and provider speak with each other: a dialect. */
export interface Talk {
  /** Said to a provider, it ends the response under way. */
  readonly cancel: string;
  /** The client listens. */
  begin(): void;
  /** What the client says, frame by frame. A promise keeps those after it waiting. */
  hear(frame: Frame): void | Promise<void>;
  /** What the provider says. */
  answer(message: Frame): void;
  /** A guardrail has denied what was said, or what was answered. */
  denied(error: unknown, turn: Turn | null): void;
  /** An error as the dialect says it; `cause` is the client's name for what it is about. Null: it has no words for errors. */
  words(failure: GatewayError, cause: unknown): string | null;
}

/**
 * A conversation in real time: what a client and a provider say to each other passes byte for byte. Sound is not read; what
 * begins or ends a response is, and each response is a call of its own, admitted before it begins and settled when it is done.
 */
export class RealtimeSession implements SocketSide {
  readonly responses: Responses;
  readonly #deps: SessionDeps;
  readonly #talk: Talk;
  readonly #inbox: Inbox;
  readonly #openedAt: number;
  #provider: RealtimeLine | null;
  #line: Line | null = null;
  #heardAt: number;
  #identifiedAt: number;
  #pingedAt: number;
  #isIdentifying = false;
  #isLeaving = false;
  #isOver = false;
  #lastWord: ReturnType<typeof setTimeout> | null = null;

  /** `provider` listens already; null: it is asked when the client has said whom it wants. */
  constructor(deps: SessionDeps, provider: RealtimeLine | null, talk: (session: RealtimeSession) => Talk) {
    this.#deps = deps;
    this.#provider = provider;
    this.#openedAt = deps.clock();
    this.#heardAt = this.#openedAt;
    this.#identifiedAt = this.#openedAt;
    this.#pingedAt = this.#openedAt;
    this.responses = new Responses({
      line: () => this.#provider!,
      identify: deps.identify,
      pass: (frame) => this.pass(frame),
      denied: (error, turn) => this.#talk.denied(error, turn),
      exceeded: (error, turn) => this.exceeded(error, turn),
      ended: () => this.rest(),
    });
    this.#inbox = new Inbox(
      (frame) => this.#talk.hear(frame),
      (error) => this.refuse(error),
    );
    this.#talk = talk(this);
  }

  get #socket() {
    return this.#provider?.socket;
  }

  opened(line: Line): void {
    this.#line = line;
    this.#talk.begin();
  }

  /** The provider is heard from now on. */
  connect(provider: RealtimeLine, first: Frame | null): void {
    this.#provider = provider;
    // The client may have gone meanwhile.
    if (!this.#line || this.#isOver) return void this.#leaveProvider(GOING_AWAY);
    if (first !== null) this.send(first);
    provider.socket.begin(this.#hearing);
  }

  received(frame: Frame): void {
    this.#heardAt = this.#deps.clock();
    if (this.#isLeaving) this.#tell(new GatewayError('shutting_down', []));
    else if (!this.#inbox.add(frame)) this.#end(new GatewayError('too_many_turns', [Inbox.MOST, 'frames']), POLICY);
  }

  drained(): void {
    if (!this.responses.isAdmitting) this.resume();
  }

  /** The client has gone. What the provider says of the responses that are under way is still heard: it is what they took. */
  closed(): void {
    this.#deps.over();
    this.#line = null;
    this.#part(GOING_AWAY);
  }

  /** The process stops: responses under way may end. */
  leave(): void {
    this.#isLeaving = true;
    this.rest();
  }

  /** Called now and then. */
  look(): void {
    const { clock, lifeMs, idleMs } = this.#deps;
    const now = clock();
    if (!this.#line) return;
    if (now - this.#openedAt >= lifeMs)
      return void this.#end(
        new GatewayError('websocket_connection_limit_reached', [Math.round(lifeMs / 60_000)]),
        NORMAL,
      );
    if (this.responses.isIdle && now - this.#heardAt >= idleMs) return void this.#line.close(GOING_AWAY, 'idle');
    this.responses.look();
    if (now - this.#pingedAt >= PING_MS) {
      this.#pingedAt = now;
      this.#socket?.ping();
    }
    if (now - this.#identifiedAt >= IDENTIFY_MS && !this.#isIdentifying) void this.#identifyAnew(now);
  }

  identify(): Promise<Principal> {
    return this.#deps.identify();
  }

  async #identifyAnew(now: number): Promise<void> {
    this.#isIdentifying = true;
    try {
      await this.#deps.identify();
      this.#identifiedAt = now;
    } catch (error) {
      const failure = asGatewayError(error, '');
      if (failure.status === UNAUTHENTICATED) this.#end(failure, POLICY);
    }
    this.#isIdentifying = false;
  }

  /** To the provider. */
  send(frame: Frame): void {
    const socket = this.#socket;
    socket?.send(frame);
    if (socket && socket.waiting > MOST_WAITING)
      this.#end(new GatewayError('upstream_failed', ['The provider', 'it does not take what is said']), TRY_LATER);
  }

  /** The provider is not heard until `resume`. */
  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  readonly #hearing: WebSocketUser = {
    received: (message) => {
      this.#heardAt = this.#deps.clock();
      this.#talk.answer(message);
    },
    drained: () => {},
    closed: (code, reason) => this.#lost(code, reason),
  };

  /** A limit is reached: no further word. */
  exceeded(error: unknown, turn: Turn | null): void {
    turn?.stop(error);
    this.#end(asGatewayError(error, ''), POLICY, error);
  }

  /** To the client. */
  pass(message: Frame): void {
    // Behind a goodbye nothing is heard, and what is lost there must not cut it short.
    if (this.#isOver) return;
    const sent = this.#line?.send(message);
    if (sent === 'waits') this.pause();
    else if (sent === 'lost') this.#line?.cut();
  }

  /** The client is told, and the conversation goes on, unless the caller is not known any more, or the dialect has no words. */
  refuse(error: unknown, cause: unknown = null): void {
    const failure = asGatewayError(error, '');
    if (failure.status === UNAUTHENTICATED) this.#end(failure, POLICY, error);
    else if (!this.#tell(failure, cause, error)) this.#end(failure, codeFor(failure));
  }

  #tell(failure: GatewayError, cause: unknown = null, error: unknown = null): boolean {
    if (failure.code === 'internal_error') this.#deps.report(error);
    const words = this.#talk.words(failure, cause);
    if (words !== null) this.pass(words);
    return words !== null;
  }

  /** The last thing that the client hears is why. */
  #end(failure: GatewayError, code: number, error: unknown = null): void {
    if (!this.#line || this.#isOver) return;
    const isTold = this.#tell(failure, null, error) || code === POLICY || code === NORMAL;
    this.#isOver = true;
    this.#line.close(code, isTold ? failure.code : shortened(`${failure.code}: ${failure.message}`));
    this.#part(NORMAL);
  }

  /** Closes when the process stops and nothing is under way. */
  rest(): void {
    if (!this.responses.isIdle) return;
    if (this.#lastWord) this.#hangUp();
    else if (this.#isLeaving) this.#line?.close(GOING_AWAY, 'shutting_down');
  }

  /** Leaves the provider; what is under way is cancelled, and heard to its end. */
  #part(code: number): void {
    if (this.#lastWord) return;
    this.#inbox.close();
    if (this.responses.isIdle) return void this.#leaveProvider(code);
    for (const _ of this.responses.running) this.#socket?.send(this.#talk.cancel);
    this.#lastWord = setTimeout(() => this.#hangUp(), LAST_WORD_MS);
    this.#socket?.resume();
  }

  #hangUp(): void {
    if (this.#lastWord) clearTimeout(this.#lastWord);
    this.responses.close();
    this.#leaveProvider(NORMAL);
  }

  #leaveProvider(code: number): void {
    this.#socket?.close(code, '');
    this.#deps.parted?.();
  }

  /** The provider has gone, and the client hears of it as the provider said it. */
  #lost(code: number, reason: string): void {
    if (this.#lastWord) clearTimeout(this.#lastWord);
    this.responses.close();
    this.#deps.parted?.();
    if (!this.#line) return;
    if (code !== ABNORMAL && code !== NO_STATUS) return void this.#line.close(code, reason.slice(0, LONGEST_REASON));
    if (code === NO_STATUS) return void this.#line.close(NORMAL, '');
    const failure = new GatewayError('upstream_failed', ['The provider', 'its WebSocket broke off']);
    this.#line.close(FAILED, this.#tell(failure) ? '' : failure.code);
  }
}

/** How a line is closed whose dialect has no words for what is wrong. */
const codeFor = ({ code, status }: GatewayError): number => {
  if (UNREADABLE_FRAME.has(code)) return UNREADABLE;
  return status >= 500 ? FAILED : POLICY;
};

/** No character is cut in two. */
function shortened(text: string): string {
  let reason = text.slice(0, LONGEST_REASON);
  while (Buffer.byteLength(reason) > LONGEST_REASON || !reason.isWellFormed()) reason = reason.slice(0, -1);
  return reason;
}
