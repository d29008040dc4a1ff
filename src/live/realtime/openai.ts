import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import { asGatewayError } from '../../http/reply.ts';
import type { RealtimeLine } from '../../relay/realtime.ts';
import { parsed } from '../events.ts';
import { clientEvent, errorEvent, type RealtimeEvent, soundIn, typeOf } from './event.ts';
import type { RealtimeSession, Talk } from './session.ts';
import { SessionState } from './state.ts';
import { type Frame, Turn } from './turn.ts';

export const CANCEL = JSON.stringify({ type: 'response.cancel' });
const SOUND = 'response.output_audio.delta';
const SOUND_OF_BETA = /^response\.audio\.delta$/;
const TEXT = /^response\.(?:output_text|text|output_audio_transcript|audio_transcript|function_call_arguments)\.delta$/;
const HELD = /^(?:response\.|conversation\.item\.(?!input_audio))/;
const OF_RESPONSE = /"response_id"\s*:\s*"([^"\\]+)"/;
/** Where an event says of which response it is. */
const SAID_WITHIN = 600;
/** What an event has beside its sound. */
const AROUND_SOUND = 250;

/** A conversation as OpenAI's Realtime API has it: events that say their type. */
export class OpenAiTalk implements Talk {
  readonly cancel = CANCEL;
  readonly words = errorEvent;
  /** Whether the client hears the provider through the gateway. */
  protected readonly isHeard: boolean = true;
  protected readonly session: RealtimeSession;
  protected readonly line: RealtimeLine;
  protected readonly state: SessionState;
  readonly #frozen: JsonObject | null;

  /** `frozen` is what the conversation is bound to, and its client cannot change; null: it is the client's. */
  constructor(session: RealtimeSession, line: RealtimeLine, frozen: JsonObject | null) {
    this.session = session;
    this.line = line;
    this.#frozen = frozen;
    this.state = new SessionState(line.model, line.isGuarded);
  }

  begin(): void {
    const first = this.#frozen && JSON.stringify({ type: 'session.update', session: this.#frozen });
    this.session.connect(this.line, first);
  }

  hear(frame: Frame): void | Promise<void> {
    const sound = typeof frame === 'string' ? soundIn(frame) : null;
    if (sound !== null) {
      this.state.heard(sound);
      return this.session.send(frame as string);
    }
    const event = clientEvent(frame);
    // What guardrails have looked at goes out as it was read: a member that is given twice has two meanings.
    const text = this.line.isGuarded ? JSON.stringify(event) : (frame as string);
    if (this.#frozen) refuseChange(event);
    if (event.type === 'response.create') return this.#ask(event, text);
    if (event.type === 'conversation.item.create') return this.#addItem(event, text);
    if (event.type === 'session.update') return this.#update(event, text);
    this.session.send(text);
  }

  answer(message: Frame): void {
    const { responses } = this.session;
    if (typeof message !== 'string') return void this.session.pass(message);
    const type = typeOf(message);
    switch (type) {
      case 'session.created':
      case 'session.updated':
        this.state.read(parsed(message));
        break;
      case 'input_audio_buffer.committed':
        if (this.state.answersBySelf) this.#expect();
        break;
      case 'response.created':
        if (!responses.begin(idOf(parsed(message)))) this.#expect(parsed(message));
        break;
      case 'response.done':
        return void this.#done(parsed(message), message);
      case 'conversation.item.input_audio_transcription.completed':
        void this.#wroteDown(parsed(message));
        break;
      case 'error':
        this.#failed(parsed(message));
        break;
      default:
        if (type?.startsWith('response.')) this.#said(type, message);
    }
    this.passOn(type, message);
  }

  /** To the client, when it may hear it. */
  protected passOn(type: string | null, message: string): void {
    if (!HELD.test(type ?? '') || !this.session.responses.hold(message)) this.session.pass(message);
  }

  denied(error: unknown, turn: Turn | null): void {
    if (turn === null) for (const _ of this.session.responses.running) this.session.send(CANCEL);
    this.session.refuse(error, turn?.facts.cause);
  }

  async #ask(event: RealtimeEvent, text: string): Promise<void> {
    const turn = new Turn(this.state.turnFor(event, text));
    try {
      await this.session.responses.admit(turn);
      this.session.send(text);
    } catch (error) {
      this.session.refuse(error, event.event_id);
    }
  }

  /** A text goes to the provider when it may. */
  async #addItem(event: RealtimeEvent, text: string): Promise<void> {
    const session = this.session;
    if (!isObject(event.item)) return session.send(text);
    if (!this.line.isGuarded) {
      this.state.said(event.item);
      return session.send(text);
    }
    try {
      const judged = await this.line.judge(await session.identify(), { input: [event.item] });
      const [item] = Array.isArray(judged?.input) ? judged.input : [event.item];
      session.send(judged ? JSON.stringify({ ...event, item }) : text);
    } catch (error) {
      session.refuse(error, event.event_id);
    }
  }

  /** The model was chosen, and decided about, when the conversation began. */
  async #update(event: RealtimeEvent, text: string): Promise<void> {
    const line = this.line;
    const session = isObject(event.session) ? event.session : {};
    try {
      const { model } = session;
      if (model !== undefined && model !== line.model)
        throw new GatewayError('invalid_request', ['session.model', 'cannot change; open another conversation']);
      if (line.isGuarded) {
        const { instructions = null, tools = null } = session;
        const judged = await line.judge(await this.session.identify(), { instructions, tools, input: [] });
        const changed = judged && { ...event, session: { ...session, ...changedIn(judged, session) } };
        if (changed) return this.session.send(JSON.stringify(changed));
      }
      this.session.send(text);
    } catch (error) {
      this.session.refuse(error, event.event_id);
    }
  }

  /** The provider begins a response by itself. It is not heard further until that is admitted. */
  #expect(created: unknown = null): void {
    const session = this.session;
    // One that has begun is counted, whatever else is being admitted.
    if (created === null && session.responses.isExpecting) return;
    session.pause();
    const turn = new Turn(this.state.turnFor(null, null));
    session.responses
      .admit(turn)
      .then(() => {
        if (created) session.responses.begin(idOf(created));
      })
      .catch((error) => this.notAdmitted(error))
      .finally(() => session.resume());
  }

  /** There is no room for a response that the provider makes. */
  protected notAdmitted(error: unknown): void {
    this.session.exceeded(error, null);
  }

  #said(type: string, frame: string): void {
    const isSound = type === SOUND || SOUND_OF_BETA.test(type);
    if (!isSound && !TEXT.test(type)) return;
    const { responses } = this.session;
    const turn = responses.turnOf(OF_RESPONSE.exec(frame.slice(0, SAID_WITHIN))?.[1]);
    if (!turn) return;
    if (isSound) return void this.count(turn, type, Math.max(0, frame.length - AROUND_SOUND), isSound);
    const event = parsed(frame);
    this.count(turn, type, isObject(event) && typeof event.delta === 'string' ? event.delta.length : 0, isSound);
  }

  /** So many characters more of a response were said. */
  protected count(turn: Turn, _type: string, characters: number, isSound: boolean): void {
    this.session.responses.says(turn, isSound ? 0 : characters, isSound ? characters : 0);
  }

  #done(event: unknown, frame: string): void {
    const response = responseOf(event);
    this.session.responses.over(idOf(event), { ...response, object: 'response' }, this.isHeard ? frame : null);
    this.state.answered(response.usage);
    this.session.rest();
  }

  #failed(event: unknown): void {
    const error = isObject(event) && isObject(event.error) ? event.error : {};
    const why = typeof error.message === 'string' ? error.message : 'it was refused';
    this.session.responses.failed(error.event_id ?? null, why);
  }

  /** What a client said was written down by a model of its own, which is a call like any other. */
  async #wroteDown(event: unknown): Promise<void> {
    if (!isObject(event) || (!isObject(event.usage) && !this.line.isGuarded)) return;
    try {
      await this.session.responses.wroteDown(event, this.state.transcriptionModel);
    } catch (error) {
      if (asGatewayError(error, '').code !== 'guardrail_denied') return this.session.exceeded(error, null);
      this.denied(error, null);
      this.session.send(JSON.stringify({ type: 'conversation.item.delete', item_id: event.item_id }));
    }
  }
}

const responseOf = (event: unknown): JsonObject => (isObject(event) && isObject(event.response) ? event.response : {});

const idOf = (event: unknown): string => {
  const { id } = responseOf(event);
  return typeof id === 'string' ? id : '';
};

/** What a response may say for itself in a conversation that is bound to its settings. */
const FREE = new Set(['conversation', 'metadata', 'input']);

export function refuseChange({ type, response }: RealtimeEvent): void {
  if (type === 'session.update' || type === 'transcription_session.update')
    throw new GatewayError('session_bound', [type]);
  const named = type === 'response.create' && isObject(response) ? Object.keys(response) : [];
  const other = named.find((name) => !FREE.has(name));
  if (other) throw new GatewayError('session_bound', [`response.${other}`]);
}

/** Of what guardrails have changed, the members that the client gave. */
export function changedIn(judged: JsonObject, given: JsonObject): JsonObject {
  const members: Record<string, unknown> = {};
  for (const name of ['instructions', 'tools']) if (given[name] !== undefined) members[name] = judged[name];
  return members;
}
