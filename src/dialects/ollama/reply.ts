import type { Encoded, ReplyContext, StreamEncoder } from '../dialect.ts';
import { cutOff } from '../failure.ts';
import { extended, mergedUsage } from '../fold.ts';
import type { Failure, Finish, JsonObject, ModelReply, Part, ReplyEvent, TokenUsage } from '../ir.ts';
import { isObject, parsed, present } from '../json.ts';
import { Losses } from '../losses.ts';
import type { ServerSentEvent } from '../sse.ts';

/** What an answer, or a piece of one, says: as a message of a chat, or as the response to a prompt. */
interface Said {
  readonly content: string;
  readonly thinking?: string;
  readonly tool_calls?: readonly JsonObject[];
}

type Write = (said: Said) => JsonObject;

const asMessage: Write = (said) => ({ message: present({ role: 'assistant', ...said }) });
const asResponse: Write = ({ content, ...rest }) => present({ response: content, ...rest });

const head = (model: string, now: number): JsonObject => ({ model, created_at: new Date(now).toISOString() });

const counts = (usage: TokenUsage | undefined): JsonObject =>
  present({ prompt_eval_count: usage?.inputTokens, eval_count: usage?.outputTokens });

const doneReason = ({ reason }: Finish): string =>
  reason === 'length' || reason === 'context-overflow' ? 'length' : 'stop';

const toolCall = ({ id, name, argsText }: Extract<Part, { type: 'tool-call' }>): JsonObject => {
  const args = parsed(argsText || '{}');
  return { id, function: { name, arguments: isObject(args) ? args : { input: argsText } } };
};

const encodeReply =
  (write: Write) =>
  (reply: ModelReply, { request, now }: ReplyContext): Encoded => {
    const losses = new Losses('ollama');
    const { parts, finish } = reply.choices[0] ?? { parts: [], finish: { reason: 'other' } as const };
    for (let index = 1; index < reply.choices.length; index++)
      losses.node({}, `choices[${index}]`, 'there is one answer per call here');
    const texts = (...types: string[]) =>
      parts.flatMap((part) => (types.includes(part.type) && 'text' in part && part.text ? [part.text] : [])).join('');
    const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [toolCall(part)] : []));
    const thinking = texts('reasoning') || undefined;
    const said = present({
      content: texts('text', 'refusal'),
      thinking,
      tool_calls: calls.length > 0 ? calls : undefined,
    });
    return losses.with({
      ...head(request.model || (reply.model ?? ''), now),
      ...write(said),
      done: true,
      done_reason: doneReason(finish),
      ...counts(reply.usage),
    });
  };

/** Each event is one line of the stream that clients get: text as it comes, calls when they are whole. */
class OllamaStreamEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #write: Write;
  readonly #open = new Map<number, Part>();
  #model: string;
  #usage: TokenUsage | undefined;
  #finish: Finish | undefined;
  #hasEnded = false;

  constructor(context: ReplyContext, write: Write) {
    this.#context = context;
    this.#write = write;
    this.#model = context.request.model;
  }

  push(event: ReplyEvent): readonly ServerSentEvent[] {
    if (this.#hasEnded || ('choice' in event && event.choice !== 0)) return [];
    switch (event.type) {
      case 'start':
        this.#model ||= event.head.model ?? '';
        return [];
      case 'usage':
        this.#usage = mergedUsage(this.#usage, event.usage);
        return [];
      case 'finish':
        this.#finish = event.finish;
        return [];
      case 'error':
        return this.#fail(event.failure);
      case 'part-start':
        this.#open.set(event.index, event.part);
        return this.#told(event.part, 'text' in event.part ? event.part.text : undefined);
      case 'part-delta': {
        const part = this.#open.get(event.index);
        if (!part) return [];
        if (part.type === 'tool-call') this.#open.set(event.index, extended(part, event.delta));
        return this.#told(part, event.delta.text);
      }
      case 'part-end': {
        const part = this.#open.get(event.index);
        this.#open.delete(event.index);
        return part?.type === 'tool-call' ? [this.#line({ content: '', tool_calls: [toolCall(part)] })] : [];
      }
    }
  }

  end(): readonly ServerSentEvent[] {
    if (this.#hasEnded) return [];
    if (!this.#finish) return this.#fail(cutOff());
    this.#hasEnded = true;
    const calls = [...this.#open.values()].flatMap((part) => (part.type === 'tool-call' ? [toolCall(part)] : []));
    const said = calls.length > 0 ? { content: '', tool_calls: calls } : { content: '' };
    return [this.#line(said, { done: true, done_reason: doneReason(this.#finish), ...counts(this.#usage) })];
  }

  #told(part: Part, text: string | undefined): ServerSentEvent[] {
    if (!text || part.type === 'tool-call') return [];
    return [this.#line(part.type === 'reasoning' ? { content: '', thinking: text } : { content: text })];
  }

  #fail(failure: Failure): ServerSentEvent[] {
    this.#hasEnded = true;
    return [{ data: JSON.stringify(encodeError(failure).body) }];
  }

  #line(said: Said, more: JsonObject = { done: false }): ServerSentEvent {
    return { data: JSON.stringify({ ...head(this.#model, this.#context.now), ...this.#write(said), ...more }) };
  }
}

export const encodeError = ({ status, message }: Failure): { status: number; body: JsonObject } => ({
  status,
  body: { error: message },
});

const answers = (write: Write) => ({
  encodeReply: encodeReply(write),
  encodeStream: (context: ReplyContext) => new OllamaStreamEncoder(context, write),
  encodeError,
});

export const messages = answers(asMessage);
export const responses = answers(asResponse);
