import type { ReplyContext, StreamEncoder } from '../dialect.ts';
import { cutOff } from '../failure.ts';
import { mergedUsage } from '../fold.ts';
import type { Failure, JsonObject, Part, PartEnd, ReplyEvent, ReplyHead, TokenLogprob, TokenUsage } from '../ir.ts';
import { objectIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { partBlock } from './blocks.ts';
import { encodeError } from './errors.ts';
import { encodeHead, wireCall } from './reply.ts';
import { encodeUsage } from './usage.ts';
import { wireFinish, wireLogprobs } from './wire.ts';

interface OpenPart {
  readonly part: Part;
  /** The place of a call among the calls of its choice. */
  readonly call: number;
}

interface ChoiceState {
  readonly parts: Map<number, OpenPart>;
  calls: number;
  hasRefusal: boolean;
}

/** Events as chunks, ended by `[DONE]`. Parts may overlap: each chunk says which call it belongs to. */
export class ChatStreamEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #choices = new Map<number, ChoiceState>();
  #head: ReplyHead = {};
  /** What every chunk says first, as text without its last brace. Null: it has to be written anew. */
  #opening: string | null = null;
  #usage: TokenUsage | undefined;
  readonly #unfinished = new Set<number>([0]);
  #hasEnded = false;

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  push(event: ReplyEvent): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    switch (event.type) {
      case 'start':
        this.#setHead(event.head);
        return [];
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        if (event.serviceTier) this.#setHead({ ...this.#head, serviceTier: event.serviceTier });
        return [];
      case 'error':
        return this.#fail(event.failure);
      case 'finish': {
        const started = this.#started(event.choice);
        this.#unfinished.delete(event.choice);
        const { message, ...ext } = event.ext?.['openai-chat'] ?? {};
        const reason = wireFinish(event.finish.reason, this.#choices.get(event.choice)!.hasRefusal);
        return [...started, this.#chunk(event.choice, objectIn(message), { ...ext, finish_reason: reason })];
      }
      default: {
        const state = this.#choices.get(event.choice);
        if (state) return this.#part(event, state);
        return [...this.#started(event.choice), ...this.#part(event, this.#choices.get(event.choice)!)];
      }
    }
  }

  end(): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    if (this.#unfinished.size > 0) return this.#fail(cutOff());
    this.#hasEnded = true;
    const done: ServerSentEvent = { data: '[DONE]' };
    if (!this.#context.request.includeUsage || !this.#usage) return [done];
    const usage = encodeUsage(this.#usage);
    return [{ data: `${this.#opened()},"choices":[],"usage":${JSON.stringify(usage)}}` }, done];
  }

  #fail(failure: Failure): ServerSentEvent[] {
    this.#hasEnded = true;
    return [{ data: JSON.stringify(encodeError(failure).body) }];
  }

  /** The first chunk of a choice says whose turn it is. */
  #started(choice: number): ServerSentEvent[] {
    if (this.#choices.has(choice)) return [];
    this.#choices.set(choice, { parts: new Map(), calls: 0, hasRefusal: false });
    this.#unfinished.add(choice);
    return [this.#chunk(choice, { role: 'assistant', content: '', refusal: null })];
  }

  #setHead(head: ReplyHead) {
    this.#head = head;
    this.#opening = null;
  }

  #opened(): string {
    if (this.#opening === null) {
      const { choices: _, usage: __, ...told } = objectIn(this.#head.ext?.['openai-chat']);
      const opening = { ...told, ...encodeHead(this.#head, this.#context, 'chat.completion.chunk') };
      this.#opening = JSON.stringify(opening).slice(0, -1);
    }
    return this.#opening;
  }

  #chunk(index: number, delta: JsonObject, members?: JsonObject): ServerSentEvent {
    const said = { index, delta, logprobs: null, finish_reason: null };
    const choice = JSON.stringify(members ? { ...said, ...members } : said);
    const usage = this.#context.request.includeUsage ? ',"usage":null' : '';
    return { data: `${this.#opened()},"choices":[${choice}]${usage}}` };
  }

  #part(event: Extract<ReplyEvent, { index: number }>, state: ChoiceState): ServerSentEvent[] {
    if (event.type === 'part-start') return this.#startPart(event.choice, event.index, event.part, state);
    const open = state.parts.get(event.index);
    if (!open) return [];
    if (event.type === 'part-end') {
      state.parts.delete(event.index);
      return this.#endPart(event.choice, event.index, open.part, event.end);
    }
    const { text, logprobs } = event.delta;
    const delta = text ? this.#textDelta(open, event.index, text) : {};
    if (!delta || (!text && !logprobs)) return [];
    return [this.#chunk(event.choice, delta, logprobs && { logprobs: chances(open.part, logprobs) })];
  }

  #startPart(choice: number, index: number, part: Part, state: ChoiceState): ServerSentEvent[] {
    if (part.type === 'tool-call') {
      const call = state.calls++;
      state.parts.set(index, { part, call });
      return [this.#chunk(choice, { tool_calls: [{ index: call, ...wireCall(part) }] })];
    }
    if (part.type === 'refusal') state.hasRefusal = true;
    const open: OpenPart = { part, call: -1 };
    state.parts.set(index, open);
    if (part.type === 'media' || part.type === 'opaque' || (part.type === 'reasoning' && part.redacted !== undefined))
      return this.#wholeBlock(choice, index, part);
    const delta = 'text' in part && part.text ? this.#textDelta(open, index, part.text) : null;
    return delta ? [this.#chunk(choice, delta)] : [];
  }

  #wholeBlock(choice: number, index: number, part: Part): ServerSentEvent[] {
    const content_block = this.#context.isStrict ? null : partBlock(part);
    return content_block ? [this.#chunk(choice, { content_blocks: [{ index, content_block }] })] : [];
  }

  /** Null when a plain chunk has no place for it and the client wants only plain ones. */
  #textDelta({ part, call }: OpenPart, index: number, text: string): JsonObject | null {
    switch (part.type) {
      case 'text':
        return { content: text };
      case 'refusal':
        return { refusal: text };
      case 'tool-call':
        return {
          tool_calls: [
            { index: call, ...(part.custom ? { custom: { input: text } } : { function: { arguments: text } }) },
          ],
        };
      case 'reasoning':
        if (this.#context.isStrict) return this.#context.showsThoughts ? { reasoning_content: text } : null;
        return { reasoning_content: text, content_blocks: [{ index, delta: { thinking: text } }] };
      default:
        return null;
    }
  }

  #endPart(choice: number, index: number, part: Part, end: PartEnd | undefined): ServerSentEvent[] {
    if (this.#context.isStrict || part.type !== 'reasoning' || end?.signature === undefined) return [];
    const { signature, signedBy } = end;
    const signed_by = signedBy === undefined || signedBy === 'anthropic' ? {} : { signed_by: signedBy };
    return [this.#chunk(choice, { content_blocks: [{ index, delta: { signature, ...signed_by } }] })];
  }
}

const chances = (part: Part, logprobs: readonly TokenLogprob[]) =>
  part.type === 'refusal'
    ? { content: null, refusal: wireLogprobs(logprobs) }
    : { content: wireLogprobs(logprobs), refusal: null };
