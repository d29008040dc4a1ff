import { digest } from './exchange.ts';
import { type Faults, faultsIn } from './faults.ts';
import { isObject, type JsonObject } from './json.ts';
import { finished, PAUSE_EVERY, SILENCE, type SimulatedLine } from './realtime.ts';
import { replyTo, tokensFor } from './reply.ts';

const INVALID = 1007;

/**
 * Google's Live API on one WebSocket. What is "heard" in sound is its bytes, read as text; what is spoken is text as bytes.
 * Sound that is all zero is silence: it ends what was said, and the model answers by itself.
 */
export class SimulatedLive {
  readonly #line: SimulatedLine;
  #setup: JsonObject | null = null;
  readonly #contents: JsonObject[] = [];
  /** The turn under way; another one interrupts it. */
  #speaking: { isInterrupted: boolean } | null = null;
  #ended: Promise<void> = Promise.resolve();
  #heard = '';
  #made = 0;

  /** How names of models begin. */
  readonly #models: string;

  constructor(line: SimulatedLine, models = 'models/') {
    this.#line = line;
    this.#models = models;
  }

  received(frame: string | Uint8Array): void {
    let message: unknown = null;
    try {
      message = JSON.parse(typeof frame === 'string' ? frame : Buffer.from(frame).toString());
    } catch {}
    if (!isObject(message)) return void this.#line.close(INVALID, 'Request contains an invalid argument.');
    const { setup, clientContent, toolResponse, realtimeInput } = message;
    if (isObject(setup) === (this.#setup !== null))
      return void this.#line.close(INVALID, 'setup must be the first message.');
    if (isObject(setup)) {
      if (!String(setup.model).startsWith(this.#models)) return void this.#line.close(INVALID, 'model is not found.');
      this.#setup = setup;
      return void this.#say({ setupComplete: {} });
    }
    if (isObject(clientContent)) {
      this.#interrupt();
      if (Array.isArray(clientContent.turns)) this.#contents.push(...(clientContent.turns as JsonObject[]));
      if (clientContent.turnComplete === true) this.#respond();
    } else if (isObject(toolResponse)) {
      const parts = (toolResponse.functionResponses as JsonObject[]).map((functionResponse) => ({ functionResponse }));
      this.#contents.push({ role: 'user', parts });
      this.#respond();
    } else if (isObject(realtimeInput)) this.#hear(realtimeInput);
    else this.#line.close(INVALID, 'Request contains an invalid argument.');
  }

  closed(): void {
    this.#interrupt();
  }

  #interrupt(): void {
    if (this.#speaking) this.#speaking.isInterrupted = true;
  }

  #hear({ audio, text }: JsonObject): void {
    const sound = isObject(audio) ? String(audio.data) : '';
    if (sound !== '' && !SILENCE.test(sound)) {
      this.#heard += Buffer.from(sound, 'base64').toString();
      return;
    }
    const said = typeof text === 'string' ? text : this.#heard;
    if (said === '') return;
    this.#heard = '';
    if (text === undefined && isObject(this.#setup!.inputAudioTranscription))
      this.#say({ serverContent: { inputTranscription: { text: said } } });
    this.#interrupt();
    this.#contents.push({ role: 'user', parts: [{ text: said }] });
    this.#respond();
  }

  /** One turn after the other. */
  #respond(): void {
    this.#ended = this.#ended.then(() => this.#speak());
  }

  async #speak(): Promise<void> {
    const contents = this.#contents;
    const users = contents.filter(({ role }) => role !== 'model');
    const parts = users.flatMap((content) => (Array.isArray(content.parts) ? (content.parts as JsonObject[]) : []));
    const said = String(parts.findLast(({ text }) => typeof text === 'string')?.text ?? '');
    const { functionResponse } = parts.at(-1) ?? {};
    const toolResult = isObject(functionResponse) ? JSON.stringify(functionResponse.response) : undefined;
    let faults: Faults;
    try {
      faults = faultsIn(said);
    } catch (error) {
      return void this.#line.close(INVALID, String(error).slice(0, 100));
    }
    const reply = replyTo({ said, toolResult, tools: this.#tools }, faults);
    const input = tokensFor(JSON.stringify([this.#setup!.systemInstruction ?? '', contents]).length);
    if (reply.calls.length > 0) {
      const functionCalls = reply.calls.map(({ name, input: args }) => ({ id: this.#newId(), name, args }));
      contents.push({ role: 'model', parts: functionCalls.map((functionCall) => ({ functionCall })) });
      this.#say({ toolCall: { functionCalls } });
      return void this.#say({
        usageMetadata: this.#usage(input, tokensFor(JSON.stringify(functionCalls).length), false),
      });
    }
    const generation = isObject(this.#setup!.generationConfig) ? this.#setup!.generationConfig : {};
    const isAudio = !(Array.isArray(generation.responseModalities) && generation.responseModalities.includes('TEXT'));
    const speaking = { isInterrupted: false };
    this.#speaking = speaking;
    let text = '';
    let count = 0;
    for (const piece of reply.pieces()) {
      if (faults.cut === count) return void this.#line.cut();
      if (faults.stall === count) return;
      if (faults.chunkDelayMs !== undefined) await Bun.sleep(faults.chunkDelayMs);
      else if (count % PAUSE_EVERY === 0) await Bun.sleep(0);
      if (speaking.isInterrupted) break;
      count++;
      text += piece;
      const data = Buffer.from(piece).toString('base64');
      const part = isAudio ? { inlineData: { mimeType: 'audio/pcm;rate=24000', data } } : { text: piece };
      this.#say({ serverContent: { modelTurn: { parts: [part] } } });
      if (isAudio && isObject(this.#setup!.outputAudioTranscription))
        this.#say({ serverContent: { outputTranscription: { text: piece } } });
    }
    this.#speaking = null;
    contents.push({ role: 'model', parts: [{ text }] });
    this.#say({ serverContent: speaking.isInterrupted ? { interrupted: true } : { generationComplete: true } });
    const usageMetadata = this.#usage(input, tokensFor(text.length), isAudio);
    this.#say({ serverContent: { turnComplete: true }, usageMetadata });
  }

  get #tools(): string[] {
    const tools = Array.isArray(this.#setup!.tools) ? (this.#setup!.tools as JsonObject[]) : [];
    return tools
      .flatMap(({ functionDeclarations }) => (Array.isArray(functionDeclarations) ? functionDeclarations : []))
      .map((each) => String((each as JsonObject).name));
  }

  #usage(promptTokenCount: number, responseTokenCount: number, isAudio: boolean): JsonObject {
    finished(String(this.#setup!.model).split('/').pop()!, promptTokenCount + responseTokenCount);
    return {
      promptTokenCount,
      responseTokenCount,
      totalTokenCount: promptTokenCount + responseTokenCount,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: promptTokenCount }],
      responseTokensDetails: [{ modality: isAudio ? 'AUDIO' : 'TEXT', tokenCount: responseTokenCount }],
    };
  }

  #newId(): string {
    return `function-call-${digest(`live ${this.#made++}`)}`;
  }

  #say(message: JsonObject): void {
    this.#line.send(JSON.stringify(message));
  }
}
