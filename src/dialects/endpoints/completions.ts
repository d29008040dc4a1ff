import { fail } from '../../core/errors.ts';
import type { Inbound, StreamEncoder } from '../dialect.ts';
import { fault } from '../fields.ts';
import type { JsonObject } from '../ir.ts';
import { isObject, objectIn, objectsIn, parsed, textIn } from '../json.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import type { ServerSentEvent } from '../sse.ts';

const chat = openaiChat.inbound;

/** What only a model that continues text can do. */
const OF_TEXT_MODELS = new Set(['best_of', 'echo', 'suffix', 'logprobs']);
/** As good as not given. */
const SAYS_NOTHING = new Set<unknown>([undefined, null, false, '']);

/**
 * The inbound half of OpenAI's text completions, for models that only chat: the prompt is the one message of a
 * conversation, the answer is the text. It is the chat dialect with other names around it.
 */
export const completions: Inbound = {
  decodeRequest: (body) => chat.decodeRequest(asConversation(body)),
  encodeReply: (reply, context) => {
    const { body, ...account } = chat.encodeReply(reply, context);
    return { ...account, body: asCompletion(body as unknown as JsonObject) };
  },
  encodeStream: (context): StreamEncoder => {
    const encoder = chat.encodeStream(context);
    return {
      push: (event) => encoder.push(event).flatMap(asChunk),
      end: () => encoder.end().flatMap(asChunk),
    };
  },
  encodeError: chat.encodeError,
};

function asConversation(body: unknown): JsonObject {
  if (!isObject(body)) return fault('', 'an object', body);
  const { prompt, ...given } = body;
  const rest: Record<string, unknown> = {};
  for (const name in given) {
    if (!OF_TEXT_MODELS.has(name)) rest[name] = given[name];
    else if (!SAYS_NOTHING.has(given[name]) && !(name === 'best_of' && given[name] === 1))
      fail('not_expressible', name, 'a chat model', 'only models that complete text have it');
  }
  return { ...rest, messages: [{ role: 'user', content: textOf(prompt) }] };
}

function textOf(prompt: unknown): string {
  const list = Array.isArray(prompt) ? (prompt as unknown[]) : [prompt];
  const [first] = list;
  if (list.length > 1 || typeof first === 'number' || Array.isArray(first))
    fail('not_expressible', 'prompt', 'a chat model', 'it takes one text, not several and no numbers of tokens');
  return typeof first === 'string' ? first : fault('prompt', 'a text', prompt);
}

const textId = (id: unknown): unknown => (typeof id === 'string' ? id.replace(/^chatcmpl-/, 'cmpl-') : id);

function asCompletion({ id, choices, service_tier: _, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    id: textId(id),
    object: 'text_completion',
    choices: objectsIn(choices).map(({ index, message, finish_reason }) => ({
      text: textIn(objectIn(message).content) ?? textIn(objectIn(message).refusal) ?? '',
      index,
      logprobs: null,
      finish_reason,
    })),
  };
}

/** A chunk of a chat becomes one of text; those that only open a turn say nothing here. */
function asChunk(event: ServerSentEvent): ServerSentEvent[] {
  const chunk = parsed(event.data);
  if (!isObject(chunk) || !Array.isArray(chunk.choices)) return [event];
  const { id, service_tier: _, ...rest } = chunk;
  const choices = objectsIn(chunk.choices).map(({ index, delta, finish_reason }) => ({
    text: textIn(objectIn(delta).content) ?? textIn(objectIn(delta).refusal) ?? '',
    index,
    logprobs: null,
    finish_reason,
  }));
  const isSilent = choices.length > 0 && choices.every(({ text, finish_reason }) => text === '' && !finish_reason);
  if (isSilent) return [];
  return [{ ...event, data: JSON.stringify({ ...rest, id: textId(id), object: 'text_completion', choices }) }];
}
