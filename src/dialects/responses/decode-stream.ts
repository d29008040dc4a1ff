import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled, statusOf } from '../failure.ts';
import type { Failure, JsonObject, ReplyEvent } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, parsed, textIn } from '../json.ts';
import { decodeError } from '../openai-chat/errors.ts';
import type { ServerSentEvent } from '../sse.ts';
import { OpenItems } from './open-items.ts';
import { decodeFinish, decodeHead } from './reply.ts';
import { decodeUsage } from './usage.ts';

/**
 * Events as parts. Compatible servers leave some of them out, so each event is enough by itself: pieces are added to what
 * is there, and what an item or the last event has beyond its pieces is made up for.
 */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly #items = new OpenItems();
  #hasStarted = false;
  #isFinished = false;
  #hasFailed = false;

  push({ data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed || this.#isFinished || data.trim() === '[DONE]') return [];
    const event = parsed(data);
    if (!isObject(event)) return this.#fail(garbled('an event that is no JSON object', data.slice(0, 200)));
    if (event.type === 'error' || (event.type === undefined && isObject(event.error)))
      return this.#fail(streamError(event));
    const response = objectIn(event.response);
    if (event.type === 'response.failed') return this.#fail(failureOf(response.error, event));
    const events: ReplyEvent[] = [];
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      events.push({ type: 'start', head: decodeHead(response) });
    }
    if (event.type === 'response.completed' || event.type === 'response.incomplete') this.#finish(response, events);
    else if (!this.#item(event, events)) events.push(...this.#fail(garbled('a piece of an item that is none', event)));
    return events;
  }

  end(): readonly ReplyEvent[] {
    return this.#isFinished || this.#hasFailed ? [] : this.#fail(cutOff());
  }

  #fail(failure: Failure): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  /** False when the event does not fit to its item. */
  #item(event: JsonObject, events: ReplyEvent[]): boolean {
    const at = countIn(event.output_index) ?? 0;
    const content = countIn(event.content_index) ?? 0;
    const text = textIn(event.delta) ?? '';
    switch (event.type) {
      case 'response.output_item.added':
        this.#items.add(at, objectIn(event.item), events);
        return true;
      case 'response.output_item.done':
        this.#items.done(at, objectIn(event.item), events);
        return true;
      case 'response.content_part.added':
        return this.#items.addContent(at, content, objectIn(event.part), events);
      case 'response.output_text.delta':
        return this.#items.say({ at, content, type: 'output_text', text, logprobs: event.logprobs }, events);
      case 'response.refusal.delta':
        return this.#items.say({ at, content, type: 'refusal', text }, events);
      case 'response.content_part.done':
        return this.#items.endContent(at, content, objectIn(event.part), events);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#items.argue(at, text, events);
      case 'response.reasoning_summary_text.delta':
        return this.#items.think(at, { kind: 'summary', number: countIn(event.summary_index) ?? 0, text }, events);
      case 'response.reasoning_text.delta':
        return this.#items.think(at, { kind: 'content', number: content, text }, events);
      default:
        // What the pieces and the items say already, the states of hosted tools, and whatever the vendor invents.
        return true;
    }
  }

  #finish(response: JsonObject, events: ReplyEvent[]) {
    this.#isFinished = true;
    for (const [at, item] of objectsIn(response.output).entries()) this.#items.done(at, item, events);
    this.#items.endAll(events);
    const { serviceTier } = decodeHead(response);
    if (isObject(response.usage))
      events.push({ type: 'usage', usage: decodeUsage(response.usage), ...(serviceTier && { serviceTier }) });
    events.push({ type: 'finish', choice: 0, finish: decodeFinish(response, this.#items.said) });
  }
}

/** The facts are in a member `error`, or, as the vendor's types have it, beside the type. */
function streamError(event: JsonObject): Failure {
  const { type, sequence_number, ...flat } = event;
  return failureOf(isObject(event.error) ? event.error : flat, event);
}

function failureOf(error: unknown, raw: unknown): Failure {
  const failure = decodeError(undefined, { error: objectIn(error) });
  return { ...failure, status: statusOf(failure.kind), raw };
}
