import { fail, GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import type { RealtimeLine } from '../../relay/realtime.ts';
import { clientMessage, memberOf, type ServerMessage, serverMessage, soundIn } from './gemini-frames.ts';
import type { RealtimeSession, Talk } from './session.ts';
import { type Frame, TEXT_PER_TOKEN, Turn, type TurnFacts } from './turn.ts';

/** Characters of sound in base64 that are a token: heard at 16 kHz, spoken at 24 kHz, 25 tokens a second. */
const HEARD_PER_TOKEN = 1_700;
const SPOKEN_PER_TOKEN = 2_560;
/** Whatever a client adds to the conversation interrupts the model. */
const CANCEL = JSON.stringify({ clientContent: { turnComplete: false } });
/** What the log keeps of what was said before a turn. */
const MOST_CONTENTS = 200;
const MOST_TEXT = 16 << 20;
const ALL_MODELS = 'models/';
/** As Vertex AI names them; project and place are those of the virtual key. */
const VERTEX_MODELS = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/models\//;
const OTHER_MODELS = /^(?:models|tunedModels)\//;
/** Settings of a conversation, in which nothing is said. */
const SETTINGS =
  /^(?:model|realtime_?input_?config|session_?resumption|context_?window_?compression|(?:in|out)put_?audio_?transcription|proactivity|explicit_?vad_?signal|history_?config)$/i;
const MEDIA = ['audio', 'video', 'media', 'mediaChunks'];
const SIGNALS = ['activityStart', 'activityEnd', 'audioStreamEnd', 'text'];
const INPUTS = new Set(
  [...MEDIA, ...SIGNALS].flatMap((name) => [name, name.replace(/[A-Z]/g, (at) => `_${at.toLowerCase()}`)]),
);

/** Opens the conversation with the model of that name. A response: the provider's refusal. */
export type OpenLine = (model: string) => Promise<RealtimeLine | Response>;

/**
 * A conversation as Gemini's Live API has it. What its model says from its first word to the end of its turn, or to a call of a
 * tool, is one response. The dialect has no errors: what may not be ends the conversation, and the goodbye says why.
 */
export class GeminiTalk implements Talk {
  readonly cancel = CANCEL;
  readonly #session: RealtimeSession;
  readonly #open: OpenLine;
  #line: RealtimeLine | null = null;
  #mostOutput: number | null = null;
  /** What was said since the last turn. */
  #contents: JsonObject[] = [];
  #text = 0;
  #sound = 0;
  /** What was heard, as the provider wrote it down. */
  #heard = '';
  /** Tokens that the next turn will read again. */
  #context = 0;
  #turns = 0;
  /** The turn under way. */
  #current: Current | null = null;
  /** Messages that wait until a turn is admitted. */
  #waiting: Frame[] | null = null;

  constructor(session: RealtimeSession, open: OpenLine) {
    this.#session = session;
    this.#open = open;
  }

  begin(): void {}

  words(): null {
    return null;
  }

  denied(error: unknown): void {
    this.#session.refuse(error);
  }

  hear(frame: Frame): void | Promise<void> {
    const media = this.#line && typeof frame === 'string' ? soundIn(frame) : null;
    if (media !== null) {
      this.#sound += media;
      return this.#session.send(frame);
    }
    const { kind, name, value } = clientMessage(frame);
    if (!this.#line) {
      if (kind !== 'setup') fail('invalid_request', 'setup', 'has to be the first message');
      return this.#setUp(value, frame);
    }
    // What guardrails have looked at goes out as it was read.
    const send = (made: JsonObject) =>
      this.#session.send(this.#line!.isGuarded ? JSON.stringify({ [name]: made }) : frame);
    switch (kind) {
      case 'setup':
        return fail('invalid_request', 'setup', 'was given already');
      case 'clientContent':
        return this.#say(value, send);
      case 'toolResponse':
        return this.#giveResult(value, send);
      case 'realtimeInput':
        return this.#input(value, send);
      case 'contextUpdate':
        return this.#judged(value, []).then(({ rest }) => send(rest));
    }
  }

  answer(message: Frame): void {
    if (this.#waiting) return void this.#waiting.push(message);
    const said = serverMessage(message);
    const { responses } = this.#session;
    this.#heard += said.heard;
    const begins = said.isOutput || (said.isComplete && said.usage !== null);
    if (!this.#current && begins && !this.#begin()) {
      if (said.isOutput) return void this.#expect(message);
    }
    const current = this.#current;
    if (current && this.#listen(current, said)) return void this.#over(current, message);
    if (!said.isOfAnswer || !responses.hold(message)) this.#session.pass(message);
  }

  /** True: with this message the turn is over. */
  #listen(current: Current, { isOutput, text, sound, calls, isComplete, usage }: ServerMessage): boolean {
    const { turn } = current;
    current.usage = usage ?? current.usage;
    if (isOutput) {
      current.text += text;
      current.calls.push(...calls);
      const called = calls.length > 0 ? JSON.stringify(calls).length : 0;
      this.#session.responses.says(turn, text.length + called, sound);
      if (current.text.length > MOST_TEXT)
        this.#session.exceeded(new GatewayError('body_too_large', [MOST_TEXT]), turn);
      // The model may go on beside a call that it does not wait for.
      current.isCalling = calls.length > 0;
    }
    // Until its result is there, a call is the last word; what is judged first has to be heard now.
    return isComplete || (current.isCalling && (usage !== null || turn.held !== null));
  }

  #begin(): boolean {
    const id = String(this.#turns);
    if (!this.#session.responses.begin(id)) return false;
    this.#turns++;
    const turn = this.#session.responses.turnOf(id)!;
    this.#current = { id, turn, text: '', calls: [], isCalling: false, usage: null };
    return true;
  }

  #over(current: Current, frame: Frame | null): void {
    const { id, text, calls, turn, usage } = current;
    this.#current = null;
    const parts = [...(text === '' ? [] : [{ text }]), ...calls.map((functionCall) => ({ functionCall }))];
    const usageMetadata = usage ?? counted(turn);
    const { totalTokenCount } = usageMetadata;
    if (typeof totalTokenCount === 'number') this.#context = totalTokenCount;
    const response = {
      candidates: [{ content: { role: 'model', parts }, index: 0 }],
      usageMetadata,
      modelVersion: this.#line!.model,
    };
    this.#session.responses.over(id, response, frame);
    if (this.#heard !== '') void this.#judgeHeard();
    this.#session.rest();
  }

  /** The model speaks by itself. Nothing of it is heard until that is admitted. */
  #expect(first: Frame): void {
    this.#waiting = [first];
    this.#session.pause();
    const goOn = () => {
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const message of waiting) this.answer(message);
    };
    this.#session.responses
      .admit(new Turn(this.#facts()))
      .then(goOn, (error) => {
        this.#waiting = null;
        this.#session.exceeded(error, null);
      })
      .finally(() => this.#session.resume());
  }

  /** What was written down of the client's words after the model had begun. */
  async #judgeHeard(): Promise<void> {
    if (!this.#line!.isGuarded) return;
    const text = this.#heard;
    this.#heard = '';
    try {
      await this.#judged({}, [{ role: 'user', parts: [{ text }] }]);
    } catch (error) {
      this.#session.refuse(error);
    }
  }

  async #setUp(setup: JsonObject, frame: Frame): Promise<void> {
    const { model } = setup;
    if (typeof model !== 'string' || model === '') fail('invalid_request', 'setup.model', 'is missing; give models/…');
    const generation = memberOf(setup, 'generationConfig', 'setup');
    const most = isObject(generation) ? memberOf(generation, 'maxOutputTokens', 'setup.generationConfig') : null;
    const bare = model.replace(VERTEX_MODELS, '');
    const line = await this.#open(bare.startsWith(ALL_MODELS) ? bare.slice(ALL_MODELS.length) : bare);
    if (line instanceof Response) throw await refusalOf(line);
    this.#line = line;
    try {
      const named = line.setupModel ?? (OTHER_MODELS.test(line.model ?? '') ? line.model : ALL_MODELS + line.model);
      const { rest, isChanged } = await this.#judged(setup, []);
      const isSame = !isChanged && named === model && !line.isGuarded;
      this.#text += JSON.stringify(setup).length;
      this.#mostOutput = typeof most === 'number' && most > 0 ? most : null;
      this.#session.connect(line, isSame ? frame : JSON.stringify({ setup: { ...rest, model: named } }));
    } catch (error) {
      line.socket.close(1000, '');
      throw error;
    }
  }

  async #say(content: JsonObject, send: Send): Promise<void> {
    const completes = memberOf(content, 'turnComplete', 'clientContent') ?? false;
    if (typeof completes !== 'boolean') fail('invalid_request', 'clientContent.turnComplete', 'must be true or false');
    const { turns = [] } = content;
    if (!Array.isArray(turns)) fail('invalid_request', 'clientContent.turns', 'must be a list');
    const { contents } = await this.#judged({}, turns as JsonObject[]);
    this.#note(contents);
    if (completes) await this.#admit();
    send(content.turns === undefined ? content : { ...content, turns: contents });
  }

  async #giveResult(given: JsonObject, send: Send): Promise<void> {
    const name = given.function_responses === undefined ? 'functionResponses' : 'function_responses';
    const results = memberOf(given, 'functionResponses', 'toolResponse');
    if (!Array.isArray(results)) fail('invalid_request', 'toolResponse.functionResponses', 'must be a list');
    const current = this.#current;
    // No word of what the call took has come, and the next turn begins.
    if (current?.isCalling) this.#over(current, null);
    const parts = results.map((functionResponse: unknown) => ({ functionResponse }));
    const { contents } = await this.#judged({}, [{ role: 'user', parts }]);
    this.#note(contents);
    if (!this.#session.responses.isExpecting) await this.#admit();
    const judged = contents[0]!.parts as { functionResponse: unknown }[];
    send({ ...given, [name]: judged.map(({ functionResponse }) => functionResponse) });
  }

  async #input(input: JsonObject, send: Send): Promise<void> {
    const unknown = Object.keys(input).find((name) => !INPUTS.has(name));
    if (unknown !== undefined) fail('invalid_request', `realtimeInput.${unknown}`, 'is not known');
    for (const name of MEDIA) this.#sound += (JSON.stringify(memberOf(input, name, 'realtimeInput')) ?? '').length;
    const { text } = input;
    if (text !== undefined && typeof text !== 'string') fail('invalid_request', 'realtimeInput.text', 'must be a text');
    const ends = memberOf(input, 'activityEnd', 'realtimeInput') !== undefined;
    if (text === undefined) {
      if (ends && !this.#session.responses.isExpecting) await this.#admit();
      return send(input);
    }
    const { contents } = await this.#judged({}, [{ role: 'user', parts: [{ text }] }]);
    this.#note(contents);
    if (!this.#session.responses.isExpecting) await this.#admit();
    const [part] = contents[0]!.parts as { text: string }[];
    send({ ...input, text: part!.text });
  }

  /** Lets guardrails look at what is about to be said. */
  async #judged(
    given: JsonObject,
    contents: readonly JsonObject[],
  ): Promise<{ rest: JsonObject; contents: readonly JsonObject[]; isChanged: boolean }> {
    const line = this.#line!;
    const as = { rest: given, contents, isChanged: false };
    if (!line.isGuarded) return as;
    const said = Object.entries(given).filter(([name]) => !SETTINGS.test(name));
    const judged = await line.judge(await this.#session.identify(), { ...Object.fromEntries(said), contents });
    if (!judged) return as;
    const { model: _, contents: changed, ...rest } = judged;
    return { rest: { ...given, ...rest }, contents: changed as JsonObject[], isChanged: true };
  }

  #note(contents: readonly JsonObject[]): void {
    if (contents.length === 0) return;
    this.#text += JSON.stringify(contents).length;
    // What guardrails have judged already is not judged again.
    if (this.#line!.isGuarded) return;
    for (const content of contents) if (this.#contents.length < MOST_CONTENTS) this.#contents.push(content);
  }

  #admit(): Promise<void> {
    return this.#session.responses.admit(new Turn(this.#facts()));
  }

  #facts(): TurnFacts {
    const heard = this.#heard === '' ? [] : [{ role: 'user', parts: [{ text: this.#heard }] }];
    const inputTokens =
      this.#context + Math.ceil(this.#text / TEXT_PER_TOKEN) + Math.ceil(this.#sound / HEARD_PER_TOKEN);
    const body = { contents: [...this.#contents, ...heard] };
    this.#contents = [];
    this.#heard = '';
    this.#text = 0;
    this.#sound = 0;
    return {
      frame: null,
      cause: null,
      inputTokens,
      mostOutput: this.#mostOutput,
      spokenPerToken: SPOKEN_PER_TOKEN,
      body,
    };
  }
}

type Send = (made: JsonObject) => void;

interface Current {
  readonly id: string;
  readonly turn: Turn;
  text: string;
  readonly calls: unknown[];
  /** The last that was said is a call of a tool. */
  isCalling: boolean;
  /** As the provider said it last. */
  usage: JsonObject | null;
}

/** What a turn took of which the provider says nothing: by the length of what was said. */
function counted({ soFar }: Turn): JsonObject {
  const { inputTokens: promptTokenCount, outputTokens: responseTokenCount, totalTokens: totalTokenCount } = soFar;
  return { promptTokenCount, responseTokenCount, totalTokenCount };
}

async function refusalOf(response: Response): Promise<GatewayError> {
  const said = (await response.text()).replace(/\s+/g, ' ').slice(0, 80);
  return new GatewayError('upstream_failed', ['The provider', `${response.status} ${said}`]);
}
