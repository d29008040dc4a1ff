import { GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Usage } from '../../core/usage.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import { answerOf, type RealtimeLine } from '../../relay/realtime.ts';
import { readUsage } from '../../telemetry/usage.ts';
import { parsed } from '../events.ts';
import type { Frame, Turn } from './turn.ts';

export interface ResponsesDeps {
  readonly line: () => RealtimeLine;
  readonly identify: () => Promise<Principal>;
  readonly pass: (frame: Frame) => void;
  /** What was answered may not pass. */
  readonly denied: (error: unknown, turn: Turn) => void;
  /** What was answered so far does not fit into a limit any more. */
  readonly exceeded: (error: unknown, turn: Turn) => void;
  readonly ended: () => void;
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** The responses of a conversation: those that are asked for, and those that the provider makes. */
export class Responses {
  readonly #deps: ResponsesDeps;
  /** Admitted, and not begun by the provider. */
  #awaited: Turn[] = [];
  readonly #running = new Map<string, Turn>();
  /** Those whose end the relay still waits for. */
  readonly #open = new Set<Turn>();
  #admitting = 0;
  /** Whether any of them was ever judged before it is heard. */
  #holds = false;

  constructor(deps: ResponsesDeps) {
    this.#deps = deps;
  }

  get isIdle(): boolean {
    return this.#admitting === 0 && this.#open.size === 0;
  }

  get isAdmitting(): boolean {
    return this.#admitting > 0;
  }

  /** One that the provider begins by itself is admitted already. */
  get isExpecting(): boolean {
    return this.#admitting > 0 || this.#awaited.length > 0;
  }

  get running(): Iterable<Turn> {
    return this.#running.values();
  }

  /** Resolves when it may run: it is admitted, and logged and settled when it is over. Throws where it may not. */
  async admit(turn: Turn): Promise<void> {
    const { line, identify } = this.#deps;
    this.#admitting++;
    try {
      const principal = await identify();
      this.#open.add(turn);
      const { body } = turn.facts;
      const signal = turn.abort.signal;
      const answered = line()
        .respond({ principal, body, expects: turn.expects, signal, ask: (asked) => turn.begin(asked) })
        .then((response) => response.text());
      answered.then(
        (text) => this.#passed(turn, text),
        (error) => this.#withheld(turn, error),
      );
      await turn.started(answered);
      if (turn.held) this.#holds = true;
      this.#awaited.push(turn);
    } finally {
      this.#admitting--;
    }
  }

  /** The provider begins one under that name. False: none was admitted for it. */
  begin(id: string): boolean {
    const turn = this.#awaited.shift();
    if (!turn) return false;
    turn.id = id;
    this.#running.set(id, turn);
    return true;
  }

  /** The one of that name; without a name, the only one. */
  turnOf(id: string | undefined): Turn | undefined {
    if (this.#running.size === 1) return this.#running.values().next().value;
    return id === undefined ? undefined : this.#running.get(id);
  }

  /** Counts what is said, and looks whether it still fits. */
  says(turn: Turn, text: number, sound: number): void {
    turn.says(text, sound);
    if (turn.isBeyond) this.#check(turn);
  }

  look(): void {
    for (const turn of this.#running.values()) this.#check(turn);
  }

  /** Keeps an event back whose response is judged before it is heard. */
  hold(frame: Frame): boolean {
    if (!this.#holds) return false;
    const holding = [...this.#running.values(), ...this.#awaited].find(({ held }) => held !== null);
    if (!holding) return false;
    if (!holding.hold(frame)) this.#deps.exceeded(new GatewayError('body_too_large', [64 << 20]), holding);
    return true;
  }

  /** The end of a response, as the provider says it; `frame` is what says so. */
  over(id: string, response: JsonObject, frame: Frame | null): void {
    const turn = this.#running.get(id);
    this.#running.delete(id);
    if (frame !== null) {
      if (!turn?.held || turn.stopped) this.#deps.pass(frame);
      else turn.hold(frame);
    }
    if (turn?.stopped) turn.refused(turn.stopped, usageOf(response));
    else turn?.done(response);
  }

  /** The provider says no to something. What was asked for by that event and has not begun will not begin. */
  failed(cause: unknown, why: string): void {
    const at = this.#awaited.findIndex(({ facts }) => facts.frame !== null && cause === (facts.cause ?? null));
    const [turn] = at < 0 ? [] : this.#awaited.splice(at, 1);
    turn?.refused(new GatewayError('upstream_failed', ['The provider', why.slice(0, 500)]), NOTHING);
  }

  /** What a client said, as a model wrote it down: guardrails look at it, and what it took is counted. */
  async wroteDown(event: JsonObject, model: string): Promise<void> {
    const { line, identify } = this.#deps;
    const { transcript, usage = null } = event;
    const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: String(transcript ?? '') }] };
    const answer = JSON.stringify({ object: 'response', model, output: [], usage });
    const response = await line().respond({
      principal: await identify(),
      body: { input: [said] },
      model,
      expects: { inputTokens: 0, outputTokens: 0 },
      signal: new AbortController().signal,
      ask: async () => answerOf(200, { 'content-type': 'application/json' }, async () => answer),
    });
    await response.text();
  }

  /** The provider is not heard any more. */
  close(): void {
    const left = [...this.#running.values(), ...this.#awaited];
    this.#running.clear();
    this.#awaited = [];
    for (const turn of left) {
      if (turn.stopped) turn.refused(turn.stopped, null);
      else turn.broken(null);
    }
  }

  #check(turn: Turn): void {
    if (turn.stopped) return;
    turn.check().catch((error) => {
      if (error instanceof GatewayError && !turn.isOver) this.#deps.exceeded(error, turn);
    });
  }

  /** Judged and counted: what was held back is heard. What a guardrail would rather change cannot be changed any more. */
  #passed(turn: Turn, text: string): void {
    this.#open.delete(turn);
    const { held } = turn;
    turn.held = null;
    const isChanged = held && turn.said !== null && outputOf(parsed(text)) !== outputOf(parsed(turn.said));
    if (isChanged) this.#deps.denied(new GatewayError('not_changeable', []), turn);
    else for (const frame of held ?? []) this.#deps.pass(frame);
    this.#deps.ended();
  }

  #withheld(turn: Turn, error: unknown): void {
    this.#open.delete(turn);
    const wasHeld = turn.held !== null;
    turn.held = null;
    if (wasHeld && turn.asked && !turn.stopped && error instanceof GatewayError) this.#deps.denied(error, turn);
    this.#deps.ended();
  }
}

const outputOf = (response: unknown): string =>
  JSON.stringify(isObject(response) ? (response.output ?? response.candidates ?? null) : null);

const usageOf = (response: JsonObject): Usage | null =>
  readUsage({ contentType: 'application/json', head: Buffer.from(JSON.stringify(response)), tail: null }).usage ?? null;
