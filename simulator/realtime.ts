import { digest } from './exchange.ts';
import { type Faults, faultsIn } from './faults.ts';
import { isObject, type JsonObject } from './json.ts';
import { Refusal } from './refusal.ts';
import { type Reply, replyTo, tokensFor } from './reply.ts';

/** The client's end of a WebSocket. */
export interface SimulatedLine {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** Ends without a goodbye. */
  cut(): void;
}

interface Item extends JsonObject {
  readonly id: string;
  readonly type: string;
}

/** A response under way. */
interface Speaking {
  readonly id: string;
  isCancelled: boolean;
}

export const SILENCE = /^A*={0,2}$/;
export const PAUSE_EVERY = 32;

/** What responses have taken, for those who compare: the last of them. */
export const finishedResponses: { readonly model: string; readonly tokens: number }[] = [];
const MOST_FINISHED = 1_000;

export function finished(model: string, tokens: number): void {
  if (finishedResponses.length >= MOST_FINISHED) finishedResponses.shift();
  finishedResponses.push({ model, tokens });
}

/**
 * OpenAI's Realtime API on one WebSocket. What is "heard" in sound is its bytes, read as text; what is spoken is text as bytes.
 * Sound that is all zero is silence: with server VAD it ends what was said, and the answer follows by itself.
 */
export class SimulatedRealtime {
  readonly #line: SimulatedLine;
  readonly #items: Item[] = [];
  readonly #speaking = new Map<string, Speaking>();
  readonly #session: JsonObject;
  #heard = '';
  #made = 0;
  /** Its sound goes another way. */
  readonly #isCall: boolean;

  /** `call` is the session of a call, as it was placed. */
  constructor(line: SimulatedLine, model: string, now: number, call: JsonObject | null = null) {
    this.#line = line;
    this.#isCall = call !== null;
    this.#session = {
      type: 'realtime',
      object: 'realtime.session',
      id: `sess_${digest(`${model} ${now}`)}`,
      model,
      output_modalities: ['audio'],
      instructions: '',
      tools: [],
      tool_choice: 'auto',
      max_output_tokens: 'inf',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: null,
          turn_detection: { type: 'server_vad', create_response: true, interrupt_response: true },
        },
        output: { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'marin' },
      },
    };
    if (call) this.#apply(call);
    this.#say('session.created', { session: this.#session });
  }

  received(frame: string | Uint8Array): void {
    try {
      const event: unknown = typeof frame === 'string' ? JSON.parse(frame) : null;
      if (!isObject(event) || typeof event.type !== 'string') throw new Refusal(400, 'Every event needs a type.');
      this.#act(event.type, event);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#say('error', { error: { type: 'invalid_request_error', code: 'invalid_event', message, param: null } });
  }

  closed(): void {
    for (const each of this.#speaking.values()) each.isCancelled = true;
  }

  #act(type: string, event: JsonObject): void {
    switch (type) {
      case 'session.update':
        return void this.#update(isObject(event.session) ? event.session : {});
      case 'input_audio_buffer.append':
        return void this.#hear(String(event.audio ?? ''));
      case 'input_audio_buffer.commit':
        if (this.#heard === '') throw new Refusal(400, 'The buffer is empty.');
        return void this.#commit();
      case 'input_audio_buffer.clear':
        this.#heard = '';
        return void this.#say('input_audio_buffer.cleared', {});
      case 'conversation.item.create':
        return void this.#add(isObject(event.item) ? event.item : {});
      case 'conversation.item.delete':
        return void this.#delete(String(event.item_id));
      case 'conversation.item.truncate':
        return void this.#say('conversation.item.truncated', {
          item_id: event.item_id,
          content_index: 0,
          audio_end_ms: 0,
        });
      case 'response.create':
        return void this.#respond(isObject(event.response) ? event.response : {}).catch((error) => this.#refuse(error));
      case 'response.cancel':
        return void this.#cancel();
      default:
        throw new Refusal(400, `Unknown event "${type}".`);
    }
  }

  #update(change: JsonObject): void {
    this.#apply(change);
    this.#say('session.updated', { session: this.#session });
  }

  #apply(change: JsonObject): void {
    const { audio, ...rest } = change;
    const own = this.#session.audio as JsonObject;
    const given = isObject(audio) ? audio : {};
    const audioNow = {
      input: { ...(own.input as JsonObject), ...(isObject(given.input) ? given.input : {}) },
      output: { ...(own.output as JsonObject), ...(isObject(given.output) ? given.output : {}) },
    };
    Object.assign(this.#session, rest, { audio: audioNow });
  }

  get #input(): JsonObject {
    return (this.#session.audio as JsonObject).input as JsonObject;
  }

  #hear(audio: string): void {
    const detection = this.#input.turn_detection;
    if (!SILENCE.test(audio)) {
      if (this.#heard === '' && isObject(detection))
        this.#say('input_audio_buffer.speech_started', { audio_start_ms: 0, item_id: this.#newId('item') });
      this.#heard += Buffer.from(audio, 'base64').toString('utf8');
      return;
    }
    if (this.#heard === '' || !isObject(detection)) return;
    this.#say('input_audio_buffer.speech_stopped', { audio_end_ms: 0, item_id: '' });
    this.#commit();
    if (detection.create_response !== false) void this.#respond({}).catch((error) => this.#refuse(error));
  }

  #commit(): void {
    const transcript = this.#heard;
    this.#heard = '';
    const id = this.#newId('item');
    const item: Item = { id, type: 'message', role: 'user', content: [{ type: 'input_audio', transcript }] };
    this.#say('input_audio_buffer.committed', { previous_item_id: this.#items.at(-1)?.id ?? null, item_id: id });
    this.#add(item);
    if (!isObject(this.#input.transcription)) return;
    const tokens = tokensFor(transcript.length);
    const usage = { type: 'tokens', input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
    const completed = { item_id: id, content_index: 0, transcript, usage };
    this.#say('conversation.item.input_audio_transcription.completed', completed);
  }

  #add(given: JsonObject): void {
    const item = {
      status: 'completed',
      ...given,
      id: given.id ?? this.#newId('item'),
      object: 'realtime.item',
    } as unknown;
    const previous_item_id = this.#items.at(-1)?.id ?? null;
    this.#items.push(item as Item);
    this.#say('conversation.item.added', { previous_item_id, item });
    this.#say('conversation.item.done', { previous_item_id, item });
  }

  #delete(id: string): void {
    const at = this.#items.findIndex((item) => item.id === id);
    if (at < 0) throw new Refusal(404, `No item "${id}".`);
    this.#items.splice(at, 1);
    this.#say('conversation.item.deleted', { item_id: id });
  }

  #cancel(): void {
    if (this.#speaking.size === 0) throw new Refusal(400, 'No response is under way.');
    for (const each of this.#speaking.values()) each.isCancelled = true;
  }

  async #respond(asked: JsonObject): Promise<void> {
    const id = this.#newId('resp');
    const speaking: Speaking = { id, isCancelled: false };
    this.#speaking.set(id, speaking);
    const input = Array.isArray(asked.input) ? (asked.input as JsonObject[]) : this.#items;
    const said = textOf(input.findLast(({ role }) => role === 'user'));
    const last = input.at(-1);
    const toolResult = last?.type === 'function_call_output' ? String(last.output) : undefined;
    const tools = ((asked.tools ?? this.#session.tools) as JsonObject[]).map(({ name }) => String(name));
    let faults: Faults;
    try {
      faults = faultsIn(said);
    } catch (error) {
      this.#speaking.delete(id);
      throw error;
    }
    const modalities = (asked.output_modalities ?? this.#session.output_modalities) as string[];
    const response = {
      object: 'realtime.response',
      id,
      status: 'in_progress',
      status_details: null,
      output: [] as JsonObject[],
      conversation_id: asked.conversation === 'none' ? null : 'conv_simulated',
      output_modalities: modalities,
      max_output_tokens: asked.max_output_tokens ?? this.#session.max_output_tokens,
      metadata: asked.metadata ?? null,
      usage: null as JsonObject | null,
    };
    this.#say('response.created', { response });
    const inputText = `${this.#session.instructions}${input.map(textOf).join('')}`;
    const spoken = await this.#speak(speaking, replyTo({ said, toolResult, tools }, faults), faults, modalities);
    this.#speaking.delete(id);
    if (spoken === null) return;
    const isAudio = modalities.includes('audio') && spoken.item?.type === 'message';
    const output = spoken.characters === 0 ? 0 : tokensFor(spoken.characters);
    const inputTokens = tokensFor(inputText.length);
    if (spoken.item) {
      response.output.push(spoken.item);
      if (asked.conversation !== 'none') this.#items.push(spoken.item as Item);
    }
    const hasFailed = faults.status !== undefined && faults.status >= 400;
    response.status = hasFailed ? 'failed' : speaking.isCancelled ? 'cancelled' : 'completed';
    response.usage = {
      total_tokens: inputTokens + output,
      input_tokens: inputTokens,
      output_tokens: output,
      input_token_details: { text_tokens: inputTokens, audio_tokens: 0, image_tokens: 0, cached_tokens: 0 },
      output_token_details: { text_tokens: isAudio ? 0 : output, audio_tokens: isAudio ? output : 0 },
    };
    finished(String(this.#session.model), inputTokens + output);
    const done = hasFailed
      ? {
          ...response,
          status_details: { type: 'failed', error: { type: 'server_error', code: String(faults.status) } },
        }
      : response;
    this.#say('response.done', { response: done });
    this.#say('rate_limits.updated', { rate_limits: [] });
  }

  /** What was said of a reply until its end, or until it was cancelled; null: the line has gone. */
  async #speak(
    speaking: Speaking,
    reply: Reply,
    faults: Faults,
    modalities: readonly string[],
  ): Promise<{ item: JsonObject | null; characters: number } | null> {
    const { id: response_id } = speaking;
    if (faults.status !== undefined && faults.status >= 400) return { item: null, characters: 0 };
    const item_id = this.#newId('item');
    const at = { response_id, item_id, output_index: 0 };
    const [call] = reply.calls;
    if (call) {
      const item = {
        id: item_id,
        object: 'realtime.item',
        type: 'function_call',
        status: 'completed',
        name: call.name,
        call_id: `call_${digest(item_id)}`,
        arguments: JSON.stringify(call.input),
      };
      this.#say('response.output_item.added', { response_id, output_index: 0, item: { ...item, arguments: '' } });
      this.#say('response.function_call_arguments.delta', { ...at, call_id: item.call_id, delta: item.arguments });
      this.#say('response.function_call_arguments.done', { ...at, call_id: item.call_id, arguments: item.arguments });
      this.#say('response.output_item.done', { response_id, output_index: 0, item });
      return { item, characters: item.arguments.length };
    }
    const isAudio = modalities.includes('audio');
    const message = (text: string, status: string) => ({
      id: item_id,
      object: 'realtime.item',
      type: 'message',
      status,
      role: 'assistant',
      content: [isAudio ? { type: 'output_audio', transcript: text } : { type: 'output_text', text }],
    });
    const part = { ...at, content_index: 0 };
    this.#say('response.output_item.added', {
      response_id,
      output_index: 0,
      item: { ...message('', 'in_progress'), content: [] },
    });
    let text = '';
    let count = 0;
    for (const piece of reply.pieces()) {
      if (faults.cut === count) {
        this.#line.cut();
        return null;
      }
      if (faults.stall === count) return null;
      if (faults.chunkDelayMs !== undefined) await Bun.sleep(faults.chunkDelayMs);
      else if (count % PAUSE_EVERY === 0) await Bun.sleep(0);
      if (speaking.isCancelled) break;
      count++;
      text += piece;
      if (isAudio) {
        this.#say('response.output_audio_transcript.delta', { ...part, delta: piece });
        if (!this.#isCall)
          this.#say('response.output_audio.delta', { ...part, delta: Buffer.from(piece).toString('base64') });
      } else this.#say('response.output_text.delta', { ...part, delta: piece });
    }
    if (isAudio) {
      this.#say('response.output_audio.done', part);
      this.#say('response.output_audio_transcript.done', { ...part, transcript: text });
    } else this.#say('response.output_text.done', { ...part, text });
    const item = message(text, speaking.isCancelled ? 'incomplete' : 'completed');
    this.#say('response.output_item.done', { response_id, output_index: 0, item });
    return { item, characters: text.length };
  }

  #newId(kind: string): string {
    return `${kind}_${digest(`${this.#session.id} ${this.#made++}`)}`;
  }

  #say(type: string, members: JsonObject): void {
    this.#line.send(JSON.stringify({ type, event_id: this.#newId('event'), ...members }));
  }
}

function textOf(item: JsonObject | undefined): string {
  if (!item || !Array.isArray(item.content)) return '';
  return item.content.map((part) => (isObject(part) ? String(part.text ?? part.transcript ?? '') : '')).join(' ');
}
