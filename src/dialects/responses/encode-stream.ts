import type { ReplyContext, StreamEncoder } from '../dialect.ts';
import { cutOff } from '../failure.ts';
import { extended, mergedUsage } from '../fold.ts';
import type { Failure, Finish, Part, RefusalPart, ReplyEvent, ReplyHead, TextPart, TokenUsage } from '../ir.ts';
import { encodeError } from '../openai-chat/errors.ts';
import type { ServerSentEvent } from '../sse.ts';
import { isSaid, itemId, messageItem, partItem } from './output.ts';
import { partDelta, partDone, partStarted } from './part-events.ts';
import { emptyResponse, encodeFinish } from './reply.ts';
import { encodeUsage } from './usage.ts';
import type { OutputItem, ResponseError, ResponseReply } from './wire.ts';

type PartEvent = Extract<ReplyEvent, { index: number }>;

/** A message with its contents, or another item, which is one part. */
interface Item {
  readonly output_index: number;
  readonly item_id: string;
  readonly parts: Part[];
  open: number;
  /** Nothing can be added to it: something else has started. */
  isClosed: boolean;
  done: OutputItem | null;
}

interface Place {
  readonly item: Item;
  readonly content_index: number;
}

/**
 * Events as OpenAI tells them: a response is created, items are added to it and done, and a last event has all of it.
 * Items may be open at the same time, because each event says which one it belongs to.
 */
export class ResponsesStreamEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  #head: ReplyHead = {};
  #response: ResponseReply | null = null;
  #sequence = 0;
  readonly #items: Item[] = [];
  /** By the part's index. */
  readonly #places = new Map<number, Place>();
  #usage: TokenUsage | undefined;
  #finish: Finish | undefined;
  #hasRefusal = false;
  #hasEnded = false;

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  push(event: ReplyEvent): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    switch (event.type) {
      case 'start':
        this.#head = event.head;
        return this.#started();
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        if (event.serviceTier) this.#head = { ...this.#head, serviceTier: event.serviceTier };
        return [];
      case 'finish':
        if (event.choice === 0) this.#finish = event.finish;
        return [];
      case 'error':
        return this.#fail(event.failure);
      default:
        return event.choice === 0 ? [...this.#started(), ...this.#part(event)] : [];
    }
  }

  end(): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    if (!this.#finish) return this.#fail(cutOff());
    const finish = encodeFinish(this.#finish.reason, this.#hasRefusal);
    const events = [...this.#started(), ...this.#closeAll(finish.status === 'incomplete')];
    this.#hasEnded = true;
    const response = { ...this.#whole(), ...finish };
    return [...events, this.#event(`response.${finish.status}`, { response })];
  }

  #event(type: string, members: object): ServerSentEvent {
    return { event: type, data: JSON.stringify({ type, ...members, sequence_number: this.#sequence++ }) };
  }

  #started(): ServerSentEvent[] {
    if (this.#response) return [];
    const response = emptyResponse(this.#head, this.#context);
    this.#response = response;
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })];
  }

  #whole(): ResponseReply {
    const output = this.#items.flatMap(({ done }) => done ?? []);
    const { service_tier } = emptyResponse(this.#head, this.#context);
    const tier = service_tier === undefined ? {} : { service_tier };
    return { ...this.#response!, ...tier, output, ...(this.#usage && { usage: encodeUsage(this.#usage) }) };
  }

  /**
   * The vendor's helpers throw at a member `error` only, its types have the same facts beside it, and readers of the
   * response's life wait for `response.failed`: each gets what it looks for.
   */
  #fail(failure: Failure): ServerSentEvent[] {
    this.#hasEnded = true;
    const { code = null, message, param = null } = failure;
    const error = this.#event('error', { code, message, param, ...encodeError(failure).body });
    // What was never created cannot fail.
    if (!this.#response) return [error];
    const response = { ...this.#whole(), status: 'failed', error: responseError(failure) };
    return [error, this.#event('response.failed', { response })];
  }

  #part(event: PartEvent): ServerSentEvent[] {
    if (event.type === 'part-start') return this.#start(event.index, event.part);
    const place = this.#places.get(event.index);
    if (!place) return [];
    const { item, content_index } = place;
    const part = item.parts[content_index]!;
    if (event.type === 'part-delta') {
      item.parts[content_index] = extended(part, event.delta);
      return partDelta(part, event.delta).map(([type, members]) => this.#of(place, type, members));
    }
    this.#places.delete(event.index);
    item.parts[content_index] = { ...part, ...event.end } as Part;
    return this.#endPart(place);
  }

  /** The members that say which item an event belongs to, and which of its contents. */
  #of(
    { item: { item_id, output_index, parts }, content_index }: Place,
    type: string,
    members: object,
  ): ServerSentEvent {
    return this.#event(type, { item_id, output_index, ...(isSaid(parts[0]!) && { content_index }), ...members });
  }

  #start(index: number, part: Part): ServerSentEvent[] {
    const isMessage = isSaid(part);
    if (!isMessage && !partItem(part, '', 'completed')) return [];
    if (part.type === 'refusal') this.#hasRefusal = true;
    const events: ServerSentEvent[] = [];
    let item = this.#items.at(-1);
    if (!item || item.isClosed || !isMessage) {
      if (item) events.push(...this.#close(item));
      const output_index = this.#items.length;
      item = {
        output_index,
        item_id: itemId(part, this.#response!.id, output_index),
        parts: [],
        open: 0,
        isClosed: !isMessage,
        done: null,
      };
      this.#items.push(item);
      events.push(this.#event('response.output_item.added', { output_index, item: addedItem(part, item.item_id) }));
    }
    const place: Place = { item, content_index: item.parts.length };
    item.parts.push(part);
    item.open++;
    this.#places.set(index, place);
    for (const [type, members] of partStarted(part)) events.push(this.#of(place, type, members));
    return events;
  }

  #endPart(place: Place): ServerSentEvent[] {
    const { item, content_index } = place;
    const events = partDone(item.parts[content_index]!).map(([type, members]) => this.#of(place, type, members));
    item.open--;
    return item.isClosed ? [...events, ...this.#close(item)] : events;
  }

  /** Done as soon as nothing more can come. */
  #close(item: Item, status: 'completed' | 'incomplete' = 'completed'): ServerSentEvent[] {
    item.isClosed = true;
    if (item.open > 0 || item.done) return [];
    const { output_index, item_id, parts } = item;
    const [first] = parts as [Part];
    item.done = isSaid(first)
      ? messageItem(parts as (TextPart | RefusalPart)[], item_id, status)
      : partItem(first, item_id, status)!;
    return [this.#event('response.output_item.done', { output_index, item: item.done })];
  }

  #closeAll(isIncomplete: boolean): ServerSentEvent[] {
    const events = [...this.#places].flatMap(([index, place]) => {
      this.#places.delete(index);
      return this.#endPart(place);
    });
    const last = this.#items.at(-1);
    return last ? [...events, ...this.#close(last, isIncomplete ? 'incomplete' : 'completed')] : events;
  }
}

/** An item at its beginning: nothing of what will be in it is there. */
function addedItem(part: Part, id: string): OutputItem {
  if (isSaid(part)) return { ...messageItem([part], id, 'in_progress'), content: [] };
  if (part.type === 'tool-call') return partItem({ ...part, argsText: '' }, id, 'in_progress')!;
  if (part.type === 'reasoning') return { type: 'reasoning', id, summary: [] };
  return partItem(part, id, 'in_progress')!;
}

function responseError({ kind, message }: Failure): ResponseError {
  const code =
    kind === 'rate-limit' ? 'rate_limit_exceeded' : kind === 'invalid-request' ? 'invalid_prompt' : 'server_error';
  return { code, message };
}
