import type { ReplyContext, StreamEncoder } from '../dialect.ts';
import { cutOff } from '../failure.ts';
import { extended, mergedUsage } from '../fold.ts';
import type { Ext, Failure, Finish, JsonObject, Part, ReplyEvent, ReplyHead, TokenLogprob, TokenUsage } from '../ir.ts';
import { Losses } from '../losses.ts';
import type { ServerSentEvent } from '../sse.ts';
import {
  encodeLogprobs,
  encodeUsage,
  finishWord,
  NOTHING,
  promptFeedback,
  replyHead,
  replyPart,
} from './encode-reply.ts';
import { encodeError } from './errors.ts';

type PartEvent = Extract<ReplyEvent, { index: number }>;

interface ChoiceState {
  /** The part that is told; one that starts early waits until those before it have ended. */
  open: { readonly index: number; readonly part: Part } | null;
  /** The part before it, which may be the signature of a call. */
  before: Part | undefined;
  readonly waiting: Map<number, PartEvent[]>;
  finish: Finish | null;
  ext: Ext | undefined;
}

/** Text and thoughts are told as they come, calls and files when they are whole, how it ended with the last chunk. */
export class GeminiStreamEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #losses = new Losses('gemini');
  readonly #choices = new Map<number, ChoiceState>();
  #head: JsonObject;
  #usage: TokenUsage | undefined;
  #hasEnded = false;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#head = replyHead({}, context);
  }

  push(event: ReplyEvent): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    switch (event.type) {
      case 'start':
        this.#head = this.#headOf(event.head);
        return [];
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        return [];
      case 'finish': {
        const state = this.#choice(event.choice);
        state.finish = event.finish;
        state.ext = event.ext;
        return [];
      }
      case 'error':
        return this.#fail(event.failure);
      default:
        return this.#part(event);
    }
  }

  end(): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    const states = [...this.#choices].toSorted(([one], [other]) => one - other);
    if (states.length === 0 || states.some(([, { finish }]) => !finish)) return this.#fail(cutOff());
    this.#hasEnded = true;
    const rest = states.flatMap(([choice, state]) => this.#rest(choice, state));
    const finishes = states.map(([, { finish }]) => finish!);
    const feedback = promptFeedback(finishes);
    const candidates = states.map(([index, { finish, ext }]) => ({
      content: { role: 'model', parts: [NOTHING] },
      finishReason: finishWord(finish!),
      index,
      ...ext?.gemini,
    }));
    const last = {
      ...(feedback ? { promptFeedback: feedback } : { candidates }),
      ...(this.#usage && { usageMetadata: encodeUsage(this.#usage, this.#losses) }),
      ...this.#head,
    };
    return [...rest, sse(last)];
  }

  #headOf(head: ReplyHead): JsonObject {
    return { ...head.ext?.gemini, ...replyHead(head, this.#context) };
  }

  #fail(failure: Failure): ServerSentEvent[] {
    this.#hasEnded = true;
    return [sse(encodeError(failure).body)];
  }

  #choice(choice: number): ChoiceState {
    let state = this.#choices.get(choice);
    if (!state) {
      state = { open: null, before: undefined, waiting: new Map(), finish: null, ext: undefined };
      this.#choices.set(choice, state);
    }
    return state;
  }

  #part(event: PartEvent): ServerSentEvent[] {
    const state = this.#choice(event.choice);
    if (state.open && state.open.index !== event.index) {
      const waiting = state.waiting.get(event.index);
      if (waiting) waiting.push(event);
      else state.waiting.set(event.index, [event]);
      return [];
    }
    if (event.type === 'part-start') {
      const { choice, index, part } = event;
      const late = part.type === 'tool-call' ? [] : this.#unsaid(choice, state);
      state.open = { index, part };
      return isTold(part) && part.text ? [...late, this.#chunk(choice, told(part, part.text))] : late;
    }
    if (!state.open) return [];
    if (event.type === 'part-end') return [...this.#end(event.choice, state, event.end), ...this.#next(state)];
    const { text, logprobs } = event.delta;
    const { part } = state.open;
    if (isTold(part)) {
      if (!text && !logprobs) return [];
      return [this.#chunk(event.choice, told(part, text ?? ''), logprobs)];
    }
    state.open = { index: event.index, part: extended(part, event.delta) };
    return [];
  }

  /** A part that was not told piece by piece, or what only its end tells. */
  #end(choice: number, state: ChoiceState, end: Extract<PartEvent, { type: 'part-end' }>['end']): ServerSentEvent[] {
    const part = { ...state.open!.part, ...end } as Part;
    const { before } = state;
    state.open = null;
    state.before = part;
    if (part.type === 'reasoning') return this.#signed(choice, part);
    if (isTold(part)) return [];
    const made = replyPart(part, undefined, before, { path: '', losses: this.#losses });
    return made ? [this.#chunk(choice, made)] : [];
  }

  /** What looked like the signature of a call, when no call follows. */
  #unsaid(choice: number, state: ChoiceState): ServerSentEvent[] {
    const { before } = state;
    if (!before || !isCallThought(before)) return [];
    state.before = undefined;
    return this.#thought(choice, before);
  }

  #signed(choice: number, part: Extract<Part, { type: 'reasoning' }>): ServerSentEvent[] {
    // It waits for the call that it signs.
    if (isCallThought(part) || (part.signature === undefined && part.redacted === undefined)) return [];
    return this.#thought(choice, part);
  }

  #thought(choice: number, part: Part): ServerSentEvent[] {
    const made = replyPart({ ...part, text: '' } as Part, undefined, undefined, { path: '', losses: this.#losses });
    return made ? [this.#chunk(choice, made)] : [];
  }

  #next(state: ChoiceState): ServerSentEvent[] {
    if (state.waiting.size === 0) return [];
    const index = Math.min(...state.waiting.keys());
    const events = state.waiting.get(index)!;
    state.waiting.delete(index);
    return events.flatMap((event) => this.#part(event));
  }

  /** What the provider's stream has not ended. */
  #rest(choice: number, state: ChoiceState): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    while (state.open || state.waiting.size > 0)
      events.push(...(state.open ? this.#end(choice, state, undefined) : []), ...this.#next(state));
    return [...events, ...this.#unsaid(choice, state)];
  }

  #chunk(index: number, part: JsonObject, logprobs?: readonly TokenLogprob[]): ServerSentEvent {
    const result = logprobs && logprobs.length > 0 ? { logprobsResult: encodeLogprobs(logprobs) } : {};
    return sse({ candidates: [{ content: { role: 'model', parts: [part] }, index, ...result }], ...this.#head });
  }
}

const sse = (chunk: JsonObject): ServerSentEvent => ({ data: JSON.stringify(chunk) });

const isTold = (part: Part): part is Extract<Part, { type: 'text' | 'refusal' | 'reasoning' }> =>
  part.type === 'text' || part.type === 'refusal' || (part.type === 'reasoning' && part.redacted === undefined);

const told = (part: Part, text: string): JsonObject =>
  part.type === 'reasoning' ? { text, thought: true } : { text, ...part.ext?.gemini };

/** Gemini's own signature of the call behind it. */
const isCallThought = (part: Part): boolean =>
  part.type === 'reasoning' && part.redacted !== undefined && part.signedBy === 'gemini';
