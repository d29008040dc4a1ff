import {
  type Answer,
  type Call,
  checkCredential,
  decoded,
  type Exchange,
  fixed,
  json,
  jsonBody,
  type Vendor,
} from './exchange.ts';
import type { Faults } from './faults.ts';
import { charactersIn, isObject, type JsonObject, objectIn, objectsIn, textIn, textOfContent } from './json.ts';
import { Refusal } from './refusal.ts';
import { jsonParts, type Prompt, type Reply, replyTo, tokensFor } from './reply.ts';
import type { ServerSentEvent } from './sse.ts';

const MODELS = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'];

export const anthropic: Vendor = {
  requestIdHeader: 'request-id',
  errorBody: ({ status, message }, requestId) => ({
    type: 'error',
    error: { type: errorType(status), message },
    request_id: requestId,
  }),
  read(call) {
    const { method, path } = call;
    if (method === 'POST' && path === '/messages') return readMessage(call);
    if (method === 'POST' && path === '/messages/count_tokens') return readCount(call);
    if (method === 'GET' && path === '/models') {
      const data = MODELS.map(model);
      return fixed({ data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) });
    }
    if (method === 'GET' && path.startsWith('/models/')) {
      return fixed(model(decoded(path.slice('/models/'.length))));
    }
    return null;
  },
};

const model = (id: string) => ({ type: 'model', id, display_name: id, created_at: '2025-01-01T00:00:00Z' });

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const errorType = (status: number): string =>
  ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');

function checkRequest(call: Call, body: JsonObject): { model: string; messages: JsonObject[] } {
  const name = textIn(body.model);
  if (!name) throw new Refusal(400, 'model: a string is required');
  checkCredential(call, name, ['x-api-key', 'authorization']);
  const messages = objectsIn(body.messages);
  if (messages.length === 0 || messages.length !== (body.messages as unknown[]).length) {
    throw new Refusal(400, 'messages: a list of at least one message is required');
  }
  return { model: name, messages };
}

const inputTokens = (body: JsonObject): number =>
  tokensFor(charactersIn(body.system) + charactersIn(body.messages) + charactersIn(body.tools));

async function readCount(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const { messages } = checkRequest(call, body);
  return { said: lastSaid(messages), answer: () => json({ input_tokens: inputTokens(body) }) };
}

async function readMessage(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const { model, messages } = checkRequest(call, body);
  if (typeof body.max_tokens !== 'number') throw new Refusal(400, 'max_tokens: a number is required');
  const prompt = messagePrompt(body, messages);
  const id = call.id();
  return { said: prompt.said, answer: (faults) => answerMessage({ prompt, body, model, id, faults }) };
}

/** The last text that the user wrote; a message that only brings tool results is none. */
function lastSaid(messages: readonly JsonObject[]): string {
  const spoken = messages.findLast((message) => message.role === 'user' && textOfContent(message.content) !== '');
  return textOfContent(spoken?.content);
}

function messagePrompt(body: JsonObject, messages: readonly JsonObject[]): Prompt {
  const results = objectsIn(messages.at(-1)?.content).filter((block) => block.type === 'tool_result');
  const described = objectsIn(body.tools);
  const tools = described.flatMap((tool) => textIn(tool.name) ?? []);
  const choice = objectIn(body.tool_choice);
  const named = choice.type === 'tool' ? textIn(choice.name) : undefined;
  const schema = objectIn(objectIn(body.output_config).format).schema;
  return {
    said: lastSaid(messages),
    toolResult: results.length > 0 ? results.map((block) => textOfContent(block.content)).join('\n') : undefined,
    tools: choice.type === 'none' ? [] : tools,
    forced: choice.type === 'any' ? tools : named === undefined ? undefined : [named],
    argumentsOf: (tool) => described.find(({ name }) => name === tool)?.input_schema,
    oneCallAtMost: choice.disable_parallel_tool_use === true,
    json: isObject(schema) ? schema : undefined,
  };
}

interface Spoken {
  readonly prompt: Prompt;
  readonly body: JsonObject;
  readonly model: string;
  readonly id: string;
  readonly faults: Faults;
}

function answerMessage({ prompt, body, model, id, faults }: Spoken): Answer {
  const reply = replyTo(prompt, faults);
  const head = { id: `msg_${id}`, type: 'message', role: 'assistant', model };
  const input = inputTokens(body);
  if (body.stream === true) return { body: { type: 'events', events: messageEvents(head, id, reply, input) } };
  const isCalling = reply.calls.length > 0;
  const text = reply.text();
  const content = isCalling ? toolUses(reply, id) : [{ type: 'text', text }];
  const characters = isCalling ? charactersIn(reply.calls) : text.length;
  return json({
    ...head,
    content,
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: usage(input, tokensFor(characters)),
  });
}

const stopReason = (reply: Reply): string => (reply.calls.length > 0 ? 'tool_use' : 'end_turn');

const toolUses = (reply: Reply, id: string) =>
  reply.calls.map(({ name, input }, index) => ({ type: 'tool_use', id: `toolu_${id}_${index}`, name, input }));

const usage = (input: number, output: number) => ({
  input_tokens: input,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: output,
  service_tier: 'standard',
});

function* messageEvents(head: JsonObject, id: string, reply: Reply, input: number): Generator<ServerSentEvent> {
  const event = (type: string, fields: JsonObject = {}): ServerSentEvent => ({
    event: type,
    data: { type, ...fields },
  });
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: usage(input, 1) };
  yield event('message_start', { message });
  let characters = charactersIn(reply.calls);
  if (reply.calls.length === 0) {
    yield event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
    yield event('ping');
    for (const text of reply.pieces()) {
      characters += text.length;
      yield event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
    }
    yield event('content_block_stop', { index: 0 });
  } else {
    for (const [index, call] of toolUses(reply, id).entries()) {
      yield event('content_block_start', { index, content_block: { ...call, input: {} } });
      if (index === 0) yield event('ping');
      yield event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: '' } });
      for (const part of jsonParts(JSON.stringify(call.input))) {
        yield event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: part } });
      }
      yield event('content_block_stop', { index });
    }
  }
  yield event('message_delta', {
    delta: { stop_reason: stopReason(reply), stop_sequence: null },
    usage: { output_tokens: tokensFor(characters) },
  });
  yield event('message_stop');
}
