import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import type { RealtimeEvent } from './event.ts';
import { HEARD_PER_TOKEN, TEXT_PER_TOKEN, type TurnFacts } from './turn.ts';

/** What the log keeps of what was said before a response. */
const MOST_ITEMS = 200;

/** What is known of a conversation: its settings as the provider says them, and what was said since its last response. */
export class SessionState {
  readonly #model: string | null;
  readonly #isGuarded: boolean;
  #session: JsonObject = {};
  #items: JsonObject[] = [];
  /** Tokens that the next response will read again. */
  #context = 0;
  #text = 0;
  #sound = 0;

  constructor(model: string | null, isGuarded: boolean) {
    this.#model = model;
    this.#isGuarded = isGuarded;
  }

  /** Whether the provider answers by itself when it has heard something. */
  get answersBySelf(): boolean {
    const { input } = this.#audio;
    const detection = isObject(input) ? input.turn_detection : this.#session.turn_detection;
    return isObject(detection) && detection.create_response !== false;
  }

  get transcriptionModel(): string {
    const { input } = this.#audio;
    const transcription = isObject(input) ? input.transcription : this.#session.input_audio_transcription;
    const model = isObject(transcription) ? transcription.model : null;
    return typeof model === 'string' ? model : (this.#model ?? 'transcription');
  }

  get #audio(): JsonObject {
    return isObject(this.#session.audio) ? this.#session.audio : {};
  }

  read(event: unknown): void {
    if (isObject(event) && isObject(event.session)) this.#session = event.session;
  }

  heard(characters: number): void {
    this.#sound += characters;
  }

  said(item: JsonObject): void {
    this.#text += JSON.stringify(item).length;
    if (this.#items.length < MOST_ITEMS) this.#items.push(item);
  }

  /** A response has ended: the next one reads what this one read and said. */
  answered(usage: unknown): void {
    if (isObject(usage) && typeof usage.total_tokens === 'number') this.#context = usage.total_tokens;
  }

  /** A response that is about to begin. */
  turnFor(event: RealtimeEvent | null, frame: string | null): TurnFacts {
    const asked = isObject(event?.response) ? event.response : {};
    const own = Array.isArray(asked.input) ? (asked.input as unknown[]) : [];
    const text = this.#text + (frame?.length ?? 0);
    const { instructions } = this.#session;
    const inputTokens =
      this.#context +
      Math.ceil(text / TEXT_PER_TOKEN) +
      Math.ceil(this.#sound / HEARD_PER_TOKEN) +
      (this.#context === 0 && typeof instructions === 'string' ? Math.ceil(instructions.length / TEXT_PER_TOKEN) : 0);
    const most = asked.max_output_tokens ?? this.#session.max_output_tokens;
    const body = {
      ...(asked.instructions !== undefined && { instructions: asked.instructions }),
      ...(asked.tools !== undefined && { tools: asked.tools }),
      input: [...(this.#isGuarded ? [] : this.#items), ...own],
    };
    this.#items = [];
    this.#text = 0;
    this.#sound = 0;
    const mostOutput = typeof most === 'number' && most > 0 ? most : null;
    return { frame, cause: event?.event_id ?? null, inputTokens, mostOutput, body };
  }
}
