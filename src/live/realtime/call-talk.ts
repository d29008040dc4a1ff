import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import type { RealtimeLine } from '../../relay/realtime.ts';
import { parsed } from '../events.ts';
import { typeOf } from './event.ts';
import { CANCEL, OpenAiTalk } from './openai.ts';
import type { RealtimeSession } from './session.ts';
import type { Frame, Turn } from './turn.ts';

const SPOKEN = /_transcript\.delta$/;
/** Speech has about 15 characters a second, and a second of sound is 64,000 characters of base64. */
const SOUND_PER_CHARACTER = 64_000 / 15;
const HEARD_PER_MS = 64;
const ADDED = new Set(['conversation.item.added', 'conversation.item.created']);
/** What a provider changes of a session by itself. */
const NOT_SETTINGS = new Set(['id', 'object', 'expires_at', 'client_secret']);

/**
 * The side channel of a call whose sound goes past the gateway. Client and provider speak with each other, and what they say is
 * told here when it was said: nothing can be held back, so what may not be ends the call.
 */
export class CallTalk extends OpenAiTalk {
  protected override readonly isHeard = false;
  readonly #isBound: boolean;
  readonly #bound = Promise.withResolvers<void>();
  #settings: JsonObject | null = null;
  #model: unknown = null;
  #judged = '';
  #speechBeganAt: number | null = null;

  /** `session` is what the provider was told; `frozen`, that its client cannot change it. */
  constructor(own: RealtimeSession, line: RealtimeLine, session: JsonObject, frozen: JsonObject | null) {
    super(own, line, frozen);
    this.#isBound = frozen !== null;
    this.#judged = wordsOf(session);
    this.state.read({ session });
    if (!frozen) this.#bound.resolve();
  }

  /** Resolves when the provider has confirmed the session that the call is bound to. */
  get bound(): Promise<void> {
    return this.#bound.promise;
  }

  override answer(message: Frame): void {
    if (typeof message !== 'string') return;
    const type = typeOf(message);
    if (type === 'session.updated' || type === 'session.created') this.#settled(parsed(message));
    else if (type === 'input_audio_buffer.speech_started') this.#speechBeganAt = numberIn(message, 'audio_start_ms');
    else if (type === 'input_audio_buffer.speech_stopped') this.#heardUntil(numberIn(message, 'audio_end_ms'));
    else if (ADDED.has(type ?? '')) void this.#added(parsed(message));
    super.answer(message);
  }

  /** The client hears it from the provider. */
  protected override passOn(): void {}

  override denied(error: unknown, turn: Turn | null): void {
    this.#end(error, turn);
  }

  protected override notAdmitted(error: unknown): void {
    this.#end(error, null);
  }

  /** What is spoken is not told here, only what it says; where both are told, it counts once. */
  protected override count(turn: Turn, type: string, characters: number, isSound: boolean): void {
    if (isSound) return;
    const isSpoken = SPOKEN.test(type);
    const sound = isSpoken ? Math.ceil(characters * SOUND_PER_CHARACTER) : 0;
    this.session.responses.says(turn, isSpoken ? 0 : characters, sound);
  }

  #end(error: unknown, turn: Turn | null): void {
    this.session.send(CANCEL);
    this.session.exceeded(error, turn);
  }

  #heardUntil(end: number | null): void {
    if (end !== null && this.#speechBeganAt !== null)
      this.state.heard(Math.max(0, end - this.#speechBeganAt) * HEARD_PER_MS);
    this.#speechBeganAt = null;
  }

  /** The settings as they are from now on, whichever side changed them. */
  #settled(event: unknown): void {
    const session = isObject(event) && isObject(event.session) ? event.session : {};
    const { model = null } = session;
    this.#model ??= model;
    if (model !== this.#model)
      return void this.#end(
        new GatewayError('invalid_request', ['session.model', 'cannot change; place another call']),
        null,
      );
    // The gateway's own update comes first: the client has no answer to its offer yet.
    const settings = Object.fromEntries(Object.entries(session).filter(([name]) => !NOT_SETTINGS.has(name)));
    if (this.#isBound && isObject(event) && event.type === 'session.updated') {
      this.#settings ??= settings;
      this.#bound.resolve();
      if (!Bun.deepEquals(settings, this.#settings))
        return void this.#end(new GatewayError('session_bound', ['session.update']), null);
    }
    const words = wordsOf(session);
    if (!this.line.isGuarded || words === this.#judged) return;
    this.#judged = words;
    const { instructions = null, tools = null } = session;
    void this.#judge({ instructions, tools, input: [] });
  }

  /** What the client has put into the conversation as text. Speech is judged by its transcript. */
  async #added(event: unknown): Promise<void> {
    const item = isObject(event) && isObject(event.item) ? event.item : {};
    if (item.role === 'assistant' || item.type === 'function_call') return;
    if (!this.line.isGuarded) return this.state.said(item);
    if (hasText(item)) await this.#judge({ input: [item] });
  }

  async #judge(said: JsonObject): Promise<void> {
    try {
      const changed = await this.line.judge(await this.session.identify(), said);
      if (changed) throw new GatewayError('not_changeable', []);
    } catch (error) {
      this.#end(error, null);
    }
  }
}

const wordsOf = ({ instructions = null, tools = null }: JsonObject): string => JSON.stringify([instructions, tools]);

const hasText = ({ content, output }: JsonObject): boolean =>
  typeof output === 'string' ||
  (Array.isArray(content) &&
    content.some((part) => isObject(part) && typeof part.text === 'string' && part.text !== ''));

function numberIn(frame: string, name: string): number | null {
  const event = parsed(frame);
  const value = isObject(event) ? event[name] : null;
  return typeof value === 'number' ? value : null;
}
