import type { Usage } from '../../core/usage.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { Incoming } from '../../http/upstream.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import { type AskedTurn, answerOf } from '../../relay/realtime.ts';

/** Characters of text per token, and of sound in base64 (24 kHz, 16 bits): spoken 20 tokens a second, heard 10. */
export const TEXT_PER_TOKEN = 4;
const SPOKEN_PER_TOKEN = 3_200;
export const HEARD_PER_TOKEN = 6_400;
/** Held for what is said, before anything is: what goes beyond it is looked at while it is said. */
const HELD_OUTPUT = 256;
/** A response that goes beyond what is held for it is looked at so often, however little it says. */
const CHECKED_EVERY_MS = 150;
/** What the provider may say of a response that is judged before the client hears it. */
const MOST_HELD = 64 << 20;

/** What is said on a line: a text, or bytes. */
export type Frame = string | Uint8Array;

export interface TurnFacts {
  /** What a client has sent to ask for it; null: the provider began it by itself. */
  readonly frame: string | null;
  /** The client's name for that event. */
  readonly cause: unknown;
  readonly inputTokens: number;
  /** The most tokens that it may say, where that is bounded. */
  readonly mostOutput: number | null;
  /** How many characters of sound are a token; absent: as many as at OpenAI. */
  readonly spokenPerToken?: number;
  /** What is judged and logged. */
  readonly body: JsonObject;
}

/** One response: from when it is asked for, or begins by itself, to its `response.done`. */
export class Turn {
  readonly facts: TurnFacts;
  readonly abort = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<string>();
  /** As the provider calls it. */
  id: string | null = null;
  asked: AskedTurn | null = null;
  /** Events that wait for the verdict; null: they pass as they come. */
  held: Frame[] | null = null;
  isOver = false;
  /** Why it is cancelled; null: it is not. */
  stopped: unknown = null;
  /** As the provider ended it. */
  said: string | null = null;
  #heldBytes = 0;
  #text = 0;
  #sound = 0;
  #checkedUpTo = HELD_OUTPUT;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isChecking = false;

  constructor(facts: TurnFacts) {
    this.facts = facts;
    // Both may fail before anyone waits for them.
    this.#done.promise.catch(() => {});
    this.#started.promise.catch(() => {});
  }

  get expects(): { inputTokens: number; outputTokens: number } {
    const { inputTokens, mostOutput } = this.facts;
    return { inputTokens, outputTokens: Math.min(mostOutput ?? HELD_OUTPUT, HELD_OUTPUT) };
  }

  get #spokenTokens(): number {
    return Math.ceil(this.#sound / (this.facts.spokenPerToken ?? SPOKEN_PER_TOKEN));
  }

  get #saidTokens(): number {
    return Math.ceil(this.#text / TEXT_PER_TOKEN) + this.#spokenTokens;
  }

  /** Whether it has said more than was looked at, or was looked at too long ago. */
  get isBeyond(): boolean {
    const said = this.#saidTokens;
    if (said > this.#checkedUpTo) return true;
    return said > HELD_OUTPUT && performance.now() - this.#checkedAt >= CHECKED_EVERY_MS;
  }

  /** What it has taken so far, as far as that can be told from what was said. */
  get soFar(): Usage {
    const spoken = this.#spokenTokens;
    const outputTokens = this.#saidTokens;
    const { inputTokens } = this.facts;
    return {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(spoken > 0 && { audioOutputTokens: spoken }),
    };
  }

  /** It may run. The answer comes when it is over. */
  begin(asked: AskedTurn): Promise<Incoming> {
    this.asked = asked;
    if (asked.isJudged) this.held = [];
    this.#started.resolve();
    return Promise.resolve(answerOf(200, { 'content-type': 'application/json' }, () => this.#done.promise));
  }

  /** Resolves when it may run. */
  started(failed: Promise<unknown>): Promise<unknown> {
    return Promise.race([this.#started.promise, failed]);
  }

  hold(frame: Frame): boolean {
    this.#heldBytes += frame.length;
    if (this.#heldBytes > MOST_HELD) return false;
    this.held!.push(frame);
    return true;
  }

  /** So many characters of text and of sound more. */
  says(text: number, sound: number): void {
    this.#text += text;
    this.#sound += sound;
  }

  /** Looks whether it still fits into its limits. Throws where it does not. */
  async check(): Promise<void> {
    const { asked, soFar } = this;
    if (!asked || this.#isChecking || this.isOver) return;
    this.#isChecking = true;
    this.#checkedAt = performance.now();
    try {
      await asked.check(soFar);
      this.#checkedUpTo = soFar.outputTokens! + HELD_OUTPUT / 2;
    } finally {
      this.#isChecking = false;
    }
  }

  /** It does not go on; what it took is counted when the provider has said it. */
  stop(error: unknown): void {
    this.stopped ??= error;
    this.held = null;
  }

  /** The provider has ended it and said what it took. */
  done(response: JsonObject): void {
    if (this.isOver) return;
    this.isOver = true;
    this.said = JSON.stringify(response);
    this.#done.resolve(this.said);
  }

  /** It ended otherwise. What was said is counted. */
  broken(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.asked?.took(this.soFar);
    const failure = error ?? new UpstreamFailure(LOST);
    this.#started.reject(failure);
    this.#done.reject(failure);
  }

  /** The provider has ended it because the gateway had it cancelled. */
  refused(error: unknown, usage: Usage | null): void {
    if (this.isOver) return;
    this.isOver = true;
    this.asked?.took(usage ?? this.soFar);
    this.#done.reject(error);
  }
}

const LOST = {
  host: 'the provider',
  phase: 'body',
  kind: 'broken',
  sent: 'maybe',
  why: 'its WebSocket ended before the response did',
} as const;
