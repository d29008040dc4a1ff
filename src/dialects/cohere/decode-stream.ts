import type { StreamDecoder } from '../dialect.ts';
import { cutOff, garbled } from '../failure.ts';
import type { Failure, JsonObject, Part, ReplyEvent } from '../ir.ts';
import { isObject, objectIn, objectsIn, parsed, present, someTextIn, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';
import { decodeError, stopFailure } from './errors.ts';
import { citationExt, readCall, readLogprob, readUsage } from './reply.ts';
import { finishReason } from './wire.ts';

type Kind = 'text' | 'reasoning';

interface Open {
  readonly index: number;
  readonly isCall: boolean;
  hasText: boolean;
}

/** Blocks and calls are numbered apart here; our parts are numbered in the order they start. */
export class CohereStreamDecoder implements StreamDecoder {
  /** By where they stand there: `plan`, `content 0`, `call 1`. */
  readonly #open = new Map<string, Open>();
  readonly #citations: JsonObject[] = [];
  #parts = 0;
  #hasStarted = false;
  #isFinished = false;
  #hasFailed = false;

  push({ data }: ServerSentEvent): readonly ReplyEvent[] {
    if (this.#hasFailed || data.trim() === '[DONE]') return [];
    const event = parsed(data);
    if (!isObject(event)) return this.#fail(garbled('an event that is no JSON object', data.slice(0, 200)));
    const type = textIn(event.type);
    if (type === 'error' || (type === undefined && event.message !== undefined))
      return this.#fail(decodeError(undefined, event));
    const events = this.#event(type, event);
    if (this.#hasStarted || events.length === 0) return events;
    this.#hasStarted = true;
    return [{ type: 'start', head: {} }, ...events];
  }

  end(): readonly ReplyEvent[] {
    return this.#isFinished || this.#hasFailed ? [] : this.#fail(cutOff());
  }

  #event(type: string | undefined, event: JsonObject): ReplyEvent[] {
    const message = objectIn(objectIn(event.delta).message);
    switch (type) {
      case 'message-start':
        this.#hasStarted = true;
        return [{ type: 'start', head: present({ id: someTextIn(event.id) }) }];
      case 'content-start':
      case 'content-delta':
        return this.#content(`content ${event.index}`, objectIn(message.content), event.logprobs);
      case 'tool-plan-delta':
        return this.#text('plan', 'reasoning', textIn(message.tool_plan) ?? '');
      case 'tool-call-start':
        return this.#startCall(`call ${event.index}`, objectIn(message.tool_calls));
      case 'tool-call-delta':
        return this.#moreOfCall(`call ${event.index}`, objectIn(objectIn(message.tool_calls).function));
      case 'content-end':
        return this.#close(`content ${event.index}`);
      case 'tool-call-end':
        return this.#close(`call ${event.index}`);
      case 'citation-start':
        this.#citations.push(...(isObject(message.citations) ? [message.citations] : objectsIn(message.citations)));
        return [];
      case 'message-end':
        return this.#finish(objectIn(event.delta));
      default:
        // Ends of citations, prompts for debugging, and whatever the vendor invents.
        return [];
    }
  }

  #fail(failure: Failure): ReplyEvent[] {
    this.#hasFailed = true;
    return [{ type: 'error', failure }];
  }

  #content(key: string, { text, thinking }: JsonObject, logprobs: unknown): ReplyEvent[] {
    if (typeof thinking === 'string') return this.#text(key, 'reasoning', thinking);
    const events = this.#text(key, 'text', textIn(text) ?? '');
    const open = this.#open.get(key);
    if (!open || !isObject(logprobs)) return events;
    return [
      ...events,
      { type: 'part-delta', choice: 0, index: open.index, delta: { logprobs: [readLogprob(logprobs)] } },
    ];
  }

  /** A block begins with its first text, so that empty ones leave no trace. */
  #text(key: string, type: Kind, text: string): ReplyEvent[] {
    if (text === '') return [];
    const events: ReplyEvent[] = [];
    let open = this.#open.get(key);
    if (!open) {
      events.push(...this.#closeAll());
      open = this.#start(key, type === 'text' ? { type, text: '' } : { type }, events);
    }
    events.push({ type: 'part-delta', choice: 0, index: open.index, delta: { text } });
    return events;
  }

  #start(key: string, part: Part, events: ReplyEvent[]): Open {
    const open: Open = { index: this.#parts++, isCall: part.type === 'tool-call', hasText: false };
    this.#open.set(key, open);
    events.push({ type: 'part-start', choice: 0, index: open.index, part });
    return open;
  }

  #startCall(key: string, call: JsonObject): ReplyEvent[] {
    // The plan has no end of its own.
    const events = this.#close('plan');
    const open = this.#start(key, { ...readCall(call), argsText: '' }, events);
    return [...events, ...this.#callText(open, textIn(objectIn(call.function).arguments) ?? '')];
  }

  #moreOfCall(key: string, called: JsonObject): ReplyEvent[] {
    const open = this.#open.get(key);
    return open
      ? this.#callText(open, textIn(called.arguments) ?? '')
      : this.#fail(garbled('a piece of a call that was not started', called));
  }

  #callText(open: Open, text: string): ReplyEvent[] {
    if (text === '') return [];
    open.hasText = true;
    return [{ type: 'part-delta', choice: 0, index: open.index, delta: { text } }];
  }

  #close(key: string): ReplyEvent[] {
    const open = this.#open.get(key);
    if (!open) return [];
    this.#open.delete(key);
    const { index, isCall, hasText } = open;
    const end: ReplyEvent = { type: 'part-end', choice: 0, index };
    return isCall && !hasText ? [{ type: 'part-delta', choice: 0, index, delta: { text: '{}' } }, end] : [end];
  }

  #closeAll(): ReplyEvent[] {
    return [...this.#open.keys()].flatMap((key) => this.#close(key));
  }

  #finish(delta: JsonObject): ReplyEvent[] {
    const raw = someTextIn(delta.finish_reason);
    const failure = stopFailure(raw, someTextIn(delta.error));
    const usage: ReplyEvent[] = isObject(delta.usage) ? [{ type: 'usage', usage: readUsage(delta.usage) }] : [];
    if (failure) return [...usage, ...this.#fail(failure)];
    if (this.#isFinished) return usage;
    this.#isFinished = true;
    const ext = citationExt(this.#citations);
    const finish = raw === undefined ? ({ reason: 'other' } as const) : { reason: finishReason(raw), raw };
    return [...this.#closeAll(), ...usage, { type: 'finish', choice: 0, finish, ...(ext && { ext }) }];
  }
}
