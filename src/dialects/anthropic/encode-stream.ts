import type { ReplyContext, StreamEncoder } from '../dialect.ts';
import { cutOff } from '../failure.ts';
import { mergedUsage } from '../fold.ts';
import type { Failure, Finish, Part, ReplyEvent, ReplyHead, TokenUsage } from '../ir.ts';
import { Losses } from '../losses.ts';
import type { ServerSentEvent } from '../sse.ts';
import { encodeError } from './errors.ts';
import { emptyMessage, encodeFinish, encodeUsage, replyBlock } from './reply.ts';
import { sealed } from './signature.ts';

type PartEvent = Extract<ReplyEvent, { index: number }>;

const sse = (type: string, members: object): ServerSentEvent => ({
  event: type,
  data: JSON.stringify({ type, ...members }),
});

/**
 * Here one block is open at a time, so a part that starts early waits until those before it have ended. The first event
 * waits for the first part, because it may then tell the usage.
 */
export class AnthropicStreamEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  #head: ReplyHead = {};
  #hasStarted = false;
  #hasEnded = false;
  #usage: TokenUsage = {};
  #serviceTier: string | undefined;
  #finish: Finish | undefined;
  #open: { readonly index: number; readonly block: number; readonly part: Part } | null = null;
  #blocks = 0;
  readonly #waiting = new Map<number, PartEvent[]>();
  /** Parts that answers here cannot have. */
  readonly #skipped = new Set<number>();

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  push(event: ReplyEvent): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    switch (event.type) {
      case 'start':
        this.#head = event.head;
        this.#serviceTier = event.head.serviceTier;
        return [];
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        this.#serviceTier = event.serviceTier ?? this.#serviceTier;
        return [];
      case 'finish':
        if (event.choice === 0) this.#finish = event.finish;
        return event.choice === 0 ? this.#started() : [];
      case 'error':
        return this.#fail(event.failure);
      default:
        return event.choice === 0 ? [...this.#started(), ...this.#part(event)] : [];
    }
  }

  end(): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    if (!this.#finish) return this.#fail(cutOff());
    this.#hasEnded = true;
    const usage = encodeUsage(this.#usage, this.#serviceTier);
    const { service_tier, inference_geo, speed, cache_creation, ...totals } = usage;
    const counts = cache_creation ? { ...totals, cache_creation } : totals;
    return [
      ...this.#started(),
      ...this.#rest(),
      sse('message_delta', {
        delta: { ...encodeFinish(this.#finish), container: this.#head.ext?.anthropic?.container ?? null },
        usage: counts,
      }),
      sse('message_stop', {}),
    ];
  }

  #fail(failure: Failure): ServerSentEvent[] {
    this.#hasEnded = true;
    return [{ event: 'error', data: JSON.stringify(encodeError(failure).body) }];
  }

  #started(): ServerSentEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const usage = encodeUsage(this.#usage, this.#serviceTier);
    const message = { ...emptyMessage(this.#head, this.#context), ...this.#head.ext?.anthropic, usage };
    return [sse('message_start', { message })];
  }

  #part(event: PartEvent): ServerSentEvent[] {
    if (this.#skipped.has(event.index)) return [];
    if (this.#open && this.#open.index !== event.index) {
      const waiting = this.#waiting.get(event.index);
      if (waiting) waiting.push(event);
      else this.#waiting.set(event.index, [event]);
      return [];
    }
    if (event.type === 'part-start') return this.#startBlock(event.index, event.part);
    if (!this.#open) return [];
    if (event.type === 'part-end') return [...this.#stop(event.end), ...this.#next()];
    return event.delta.text ? [this.#delta(this.#open.block, this.#open.part, event.delta.text)] : [];
  }

  /** Ends the blocks that the provider's stream has not ended. */
  #rest(): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    while (this.#open || this.#waiting.size > 0)
      events.push(...(this.#open ? this.#stop(undefined) : []), ...this.#next());
    return events;
  }

  #next(): ServerSentEvent[] {
    if (this.#waiting.size === 0) return [];
    const index = Math.min(...this.#waiting.keys());
    const events = this.#waiting.get(index)!;
    this.#waiting.delete(index);
    return events.flatMap((event) => this.#part(event));
  }

  #startBlock(index: number, part: Part): ServerSentEvent[] {
    const content_block = replyBlock(part, '', new Losses('anthropic'));
    if (!content_block) {
      this.#skipped.add(index);
      return [];
    }
    const block = this.#blocks++;
    this.#open = { index, block, part };
    return [sse('content_block_start', { index: block, content_block })];
  }

  #delta(index: number, part: Part, text: string): ServerSentEvent {
    const delta =
      part.type === 'tool-call'
        ? { type: 'input_json_delta', partial_json: text }
        : part.type === 'reasoning'
          ? { type: 'thinking_delta', thinking: text }
          : { type: 'text_delta', text };
    return sse('content_block_delta', { index, delta });
  }

  #stop(end: Extract<PartEvent, { type: 'part-end' }>['end']): ServerSentEvent[] {
    const { block: index } = this.#open!;
    this.#open = null;
    const events: ServerSentEvent[] = [];
    const piece = (delta: object) => events.push(sse('content_block_delta', { index, delta }));
    if (end?.signature !== undefined)
      piece({ type: 'signature_delta', signature: sealed(end.signature, end.signedBy) });
    const citations = end?.ext?.anthropic?.citations;
    if (Array.isArray(citations)) for (const citation of citations) piece({ type: 'citations_delta', citation });
    return [...events, sse('content_block_stop', { index })];
  }
}
