import { fail } from '../../core/errors.ts';
import { isObject } from '../../dialects/json.ts';
import type { RealtimeLine } from '../../relay/realtime.ts';
import type { JoinedCall } from './calls.ts';
import { clientEvent, errorEvent, type RealtimeEvent, soundIn } from './event.ts';
import { CANCEL, refuseChange } from './openai.ts';
import type { RealtimeSession, Talk } from './session.ts';
import type { Frame } from './turn.ts';

/** What a response may say for itself where guardrails look at what is said: they are told of no other words of it. */
const WORDLESS = new Set([
  'conversation',
  'metadata',
  'output_modalities',
  'max_output_tokens',
  'tool_choice',
  'audio',
]);

/**
 * A client of ours on the side channel of its call. Frames pass byte for byte; the node that watches the call counts and judges
 * what comes of them.
 */
export class JoinedTalk implements Talk {
  readonly cancel = CANCEL;
  readonly words = errorEvent;
  readonly #session: RealtimeSession;
  readonly #call: JoinedCall;

  constructor(session: RealtimeSession, call: JoinedCall) {
    this.#session = session;
    this.#call = call;
  }

  begin(): void {
    this.#session.connect(lineOf(this.#call), null);
  }

  hear(frame: Frame): void {
    if (typeof frame === 'string' && soundIn(frame) !== null) return void this.#session.send(frame);
    const { isBound, isGuarded } = this.#call;
    const event = clientEvent(frame);
    this.#refuseUnseen(event);
    // What was looked at goes out as it was read: a member that is given twice has two meanings.
    this.#session.send(isBound || isGuarded ? JSON.stringify(event) : frame);
  }

  answer(message: Frame): void {
    this.#session.pass(message);
  }

  denied(error: unknown): void {
    this.#session.refuse(error);
  }

  /** What the node that watches would not be told of, or would end the call for. */
  #refuseUnseen(event: RealtimeEvent): void {
    const { isBound, isGuarded } = this.#call;
    if (isBound) refuseChange(event);
    const { type, session, response } = event;
    if (type === 'session.update' && isObject(session) && session.model !== undefined)
      fail('invalid_request', 'session.model', 'is that of the call, and cannot change');
    if (!isGuarded || type !== 'response.create' || !isObject(response)) return;
    const unseen = Object.keys(response).find((name) => !WORDLESS.has(name));
    if (unseen !== undefined)
      fail('invalid_request', `response.${unseen}`, 'cannot be judged in a call; say it as an item, or in the session');
  }
}

/** Nothing is counted on this line. */
const lineOf = ({ socket }: JoinedCall): RealtimeLine => ({
  ...{ socket, model: null, isGuarded: false, notes: {} },
  judge: async () => null,
  respond: () => Promise.reject(new Error('A side channel that was joined asks for no response.')),
});
