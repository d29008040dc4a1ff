import { embed } from './embedding.ts';
import { type Call, checkCredential, decoded, type Exchange, fixed, json, jsonBody, type Vendor } from './exchange.ts';
import { FileShelf, MOST_BYTES, type StoredFile } from './files.ts';
import { TuningJobs } from './fine-tuning.ts';
import { charactersIn, isObject, type JsonObject, objectIn, objectsIn, textIn, textOfContent } from './json.ts';
import { Refusal } from './refusal.ts';
import { jsonParts, type Prompt, type Reply, replyTo, tokensFor } from './reply.ts';
import type { ServerSentEvent } from './sse.ts';

const MODELS = ['gpt-5', 'gpt-5-mini', 'gpt-4o', 'gpt-4o-mini', 'text-embedding-3-small', 'text-embedding-3-large'];
const MODELS_CREATED_AT = 1_735_689_600;

const MOST_CHOICES = 128;
const MOST_INPUTS = 2048;

/** Each simulator has its own files, so the format is made once per simulator. */
export function createOpenAI(): Vendor {
  const files = new FileShelf();
  const tuning = new TuningJobs(files);
  return {
    requestIdHeader: 'x-request-id',
    errorBody: ({ status, message, code, param }) => ({
      error: { message, type: errorType(status), param, code: code ?? errorCode(status) },
    }),
    read(call) {
      const { method, path } = call;
      if (method === 'POST') {
        if (path === '/chat/completions') return readChat(call);
        if (path === '/completions') return readCompletion(call);
        if (path === '/embeddings') return readEmbeddings(call);
        if (path === '/responses/input_tokens') return readCount(call);
      }
      if (method === 'GET' && path === '/models') return fixed({ object: 'list', data: MODELS.map(model) });
      if (method === 'GET' && path.startsWith('/models/')) {
        return fixed(model(decoded(path.slice('/models/'.length))));
      }
      if (path.startsWith('/fine_tuning/')) return tuning.read(call);
      return path === '/files' || path.startsWith('/files/') ? readFiles(call, files) : null;
    },
  };
}

/** How many tokens the input of a response would have. */
async function readCount(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  checkRequest(call, body);
  const count = tokensFor(charactersIn(body.instructions) + charactersIn(body.input) + charactersIn(body.tools));
  return { said: '', answer: () => json({ object: 'response.input_tokens', input_tokens: count }) };
}

// Every name is served, so every name is also a model that can be looked up.
const model = (id: string) => ({ id, object: 'model', created: MODELS_CREATED_AT, owned_by: 'simulator' });

const errorType = (status: number): string =>
  status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error';

const errorCode = (status: number): string | null =>
  status === 429 ? 'rate_limit_exceeded' : status === 401 ? 'invalid_api_key' : null;

/** The fields that each body must have, and how many choices it wants. */
function checkRequest(call: Call, body: JsonObject): { model: string; choices: number } {
  const name = textIn(body.model);
  if (!name) throw new Refusal(400, 'The field model is missing; it must be a string.', { param: 'model' });
  checkCredential(call, name, ['authorization', 'api-key']);
  const choices = body.n ?? 1;
  if (typeof choices !== 'number' || !Number.isInteger(choices) || choices < 1 || choices > MOST_CHOICES) {
    throw new Refusal(400, `The field n must be a whole number from 1 to ${MOST_CHOICES}.`, { param: 'n' });
  }
  return { model: name, choices };
}

async function readChat(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const { model, choices } = checkRequest(call, body);
  const prompt = chatPrompt(body);
  const id = call.id();
  const head = { id: `chatcmpl-${id}`, created: seconds(call.now), model };
  const inputTokens = tokensFor(charactersIn(body.messages) + charactersIn(body.tools));
  return {
    said: prompt.said,
    answer(faults) {
      const reply = replyTo(prompt, faults);
      const chat: Chat = { head, id, reply, choices, inputTokens };
      if (body.stream !== true) return json(chatCompletion(chat));
      const includeUsage = objectIn(body.stream_options).include_usage === true;
      return { body: { type: 'events', events: chatChunks(chat, includeUsage) } };
    },
  };
}

interface Chat {
  readonly head: { readonly id: string; readonly created: number; readonly model: string };
  readonly id: string;
  readonly reply: Reply;
  readonly choices: number;
  readonly inputTokens: number;
}

function chatPrompt(body: JsonObject): Prompt {
  const messages = objectsIn(body.messages);
  const last = messages.at(-1);
  if (!last || messages.length !== (body.messages as unknown[]).length) {
    throw new Refusal(400, 'The field messages must be a list of at least one message.', { param: 'messages' });
  }
  const said = textOfContent(messages.findLast((message) => message.role === 'user')?.content);
  const functions = objectsIn(body.tools).map((tool) => objectIn(tool.function));
  const tools = functions.flatMap(({ name }) => textIn(name) ?? []);
  const choice = body.tool_choice;
  const named = isObject(choice) ? textIn(objectIn(choice.function).name) : undefined;
  return {
    said,
    toolResult: last.role === 'tool' ? textOfContent(last.content) : undefined,
    tools: choice === 'none' ? [] : tools,
    forced: choice === 'required' ? tools : named === undefined ? undefined : [named],
    argumentsOf: (tool) => functions.find(({ name }) => name === tool)?.parameters,
    oneCallAtMost: body.parallel_tool_calls === false,
    json: wantedJson(objectIn(body.response_format)),
  };
}

function wantedJson(format: JsonObject): Prompt['json'] {
  if (format.type === 'json_object') return 'object';
  if (format.type !== 'json_schema') return undefined;
  const schema = objectIn(format.json_schema).schema;
  if (!isObject(schema)) {
    throw new Refusal(400, 'The field response_format.json_schema.schema must be a JSON schema.', {
      param: 'response_format',
    });
  }
  return schema;
}

const toolCalls = ({ reply, id }: Chat) =>
  reply.calls.map((call, index) => ({
    id: `call_${id}_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));

function chatCompletion(chat: Chat): unknown {
  const { head, reply, choices, inputTokens } = chat;
  const isCalling = reply.calls.length > 0;
  const content = isCalling ? null : reply.text();
  const calls = isCalling ? toolCalls(chat) : undefined;
  const outputCharacters = isCalling ? charactersIn(reply.calls) : content!.length;
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message: { role: 'assistant', content, refusal: null, annotations: [], tool_calls: calls },
      logprobs: null,
      finish_reason: isCalling ? 'tool_calls' : 'stop',
    })),
    usage: usage(inputTokens, tokensFor(outputCharacters) * choices),
    service_tier: 'default',
    system_fingerprint: 'fp_simulated',
  };
}

function* chatChunks(chat: Chat, includeUsage: boolean): Generator<ServerSentEvent> {
  const { head, reply, choices, inputTokens } = chat;
  const isCalling = reply.calls.length > 0;
  let outputTokens = 0;
  const chunk = (index: number, delta: unknown, reason: string | null = null): ServerSentEvent => ({
    data: {
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      service_tier: 'default',
      system_fingerprint: 'fp_simulated',
      choices: [{ index, delta, logprobs: null, finish_reason: reason }],
      usage: includeUsage ? null : undefined,
    },
  });
  for (let index = 0; index < choices; index += 1) {
    yield chunk(index, { role: 'assistant', content: isCalling ? null : '', refusal: null });
    let characters = isCalling ? charactersIn(reply.calls) : 0;
    for (const [position, { id, type, function: called }] of toolCalls(chat).entries()) {
      const start = { index: position, id, type, function: { name: called.name, arguments: '' } };
      yield chunk(index, { tool_calls: [start] });
      for (const part of jsonParts(called.arguments)) {
        yield chunk(index, { tool_calls: [{ index: position, function: { arguments: part } }] });
      }
    }
    for (const content of reply.pieces()) {
      characters += content.length;
      yield chunk(index, { content });
    }
    yield chunk(index, {}, isCalling ? 'tool_calls' : 'stop');
    outputTokens += tokensFor(characters);
  }
  if (includeUsage) {
    const { data } = chunk(0, {});
    yield { data: { ...(data as JsonObject), choices: [], usage: usage(inputTokens, outputTokens) } };
  }
  yield { data: '[DONE]' };
}

const usage = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
});

async function readCompletion(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const { model, choices } = checkRequest(call, body);
  const prompts = inputTexts(body.prompt, 'prompt');
  if (prompts.length * choices > MOST_CHOICES) {
    throw new Refusal(400, `The prompts times n must be at most ${MOST_CHOICES}.`, { param: 'prompt' });
  }
  const head = { id: `cmpl-${call.id()}`, object: 'text_completion', created: seconds(call.now), model };
  return {
    said: prompts.at(-1) ?? '',
    answer(faults) {
      const replies = prompts
        .map((said) => replyTo({ said, tools: [] }, faults))
        .flatMap((reply) => Array.from({ length: choices }, () => reply));
      const inputTokens = tokensFor(charactersIn(prompts));
      if (body.stream === true) {
        const includeUsage = objectIn(body.stream_options).include_usage === true;
        return { body: { type: 'events', events: completionChunks(head, replies, inputTokens, includeUsage) } };
      }
      const texts = replies.map((reply) => reply.text());
      const outputTokens = texts.reduce((sum, text) => sum + tokensFor(text.length), 0);
      return json({
        ...head,
        choices: texts.map((text, index) => ({ text, index, logprobs: null, finish_reason: 'stop' })),
        usage: usage(inputTokens, outputTokens),
      });
    },
  };
}

function* completionChunks(
  head: JsonObject,
  replies: readonly Reply[],
  inputTokens: number,
  includeUsage: boolean,
): Generator<ServerSentEvent> {
  let outputTokens = 0;
  const chunk = (index: number, text: string, reason: string | null): ServerSentEvent => ({
    data: {
      ...head,
      choices: [{ text, index, logprobs: null, finish_reason: reason }],
      usage: includeUsage ? null : undefined,
    },
  });
  for (const [index, reply] of replies.entries()) {
    let characters = 0;
    for (const text of reply.pieces()) {
      characters += text.length;
      yield chunk(index, text, null);
    }
    yield chunk(index, '', 'stop');
    outputTokens += tokensFor(characters);
  }
  if (includeUsage) yield { data: { ...head, choices: [], usage: usage(inputTokens, outputTokens) } };
  yield { data: '[DONE]' };
}

/** A text, a list of texts, a list of tokens or a list of such lists. */
function inputTexts(input: unknown, param: string): string[] {
  if (typeof input === 'string') return [input];
  if (Array.isArray(input) && input.length > 0) {
    if (input.every((item) => typeof item === 'string')) return input;
    if (input.every((item) => typeof item === 'number')) return [JSON.stringify(input)];
    if (input.every(Array.isArray)) return input.map((tokens) => JSON.stringify(tokens));
  }
  throw new Refusal(400, `The field ${param} must be a text, or a list of texts or tokens.`, { param });
}

async function readEmbeddings(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const { model } = checkRequest(call, body);
  const texts = inputTexts(body.input, 'input');
  if (texts.length > MOST_INPUTS) {
    throw new Refusal(400, `The field input may have at most ${MOST_INPUTS} entries.`, { param: 'input' });
  }
  const dimensions = body.dimensions ?? (model.includes('large') ? 3072 : 1536);
  if (typeof dimensions !== 'number' || !Number.isInteger(dimensions) || dimensions < 1 || dimensions > 4096) {
    throw new Refusal(400, 'The field dimensions must be a whole number from 1 to 4096.', { param: 'dimensions' });
  }
  const tokens = tokensFor(charactersIn(texts));
  return {
    said: texts[0] ?? '',
    answer: () =>
      json({
        object: 'list',
        data: texts.map((text, index) => {
          const vector = embed(text, dimensions);
          const embedding =
            body.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
          return { object: 'embedding', index, embedding };
        }),
        model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }),
  };
}

function readFiles(call: Call, files: FileShelf): Promise<Exchange> | Exchange | null {
  const { method, path } = call;
  const [, , id, part] = path.split('/');
  if (id === undefined) {
    return method === 'POST' ? upload(call, files) : method === 'GET' ? listFiles(call, files) : null;
  }
  if (method !== 'GET' && method !== 'DELETE') return null;
  const file = files.get(id);
  if (!file) throw new Refusal(404, `No file ${id}.`, { param: 'id' });
  if (method === 'DELETE' && part === undefined) {
    files.remove(id);
    return fixed({ id, object: 'file', deleted: true });
  }
  if (method === 'GET' && part === undefined) return fixed(fileObject(file));
  if (method !== 'GET' || part !== 'content') return null;
  const { content: bytes, contentType } = file;
  return { said: '', answer: () => ({ body: { type: 'bytes', bytes, contentType } }) };
}

const fileObject = ({ id, content, created_at, filename, purpose }: StoredFile) => ({
  id,
  object: 'file',
  bytes: content.length,
  created_at,
  filename,
  purpose,
  status: 'processed',
  status_details: null,
});

async function upload(call: Call, files: FileShelf): Promise<Exchange> {
  const form = await call.request.formData().catch(() => {
    throw new Refusal(400, 'The body is not valid multipart/form-data.');
  });
  const file = form.get('file');
  const purpose = form.get('purpose');
  if (!(file instanceof Blob)) throw new Refusal(400, 'The field file is missing.', { param: 'file' });
  if (typeof purpose !== 'string') throw new Refusal(400, 'The field purpose is missing.', { param: 'purpose' });
  if (file.size > MOST_BYTES) throw new Refusal(413, `The file has ${file.size} bytes; at most ${MOST_BYTES} fit.`);
  const stored = files.add({
    created_at: seconds(call.now),
    filename: 'name' in file && typeof file.name === 'string' ? file.name : 'file',
    purpose,
    contentType: file.type || 'application/octet-stream',
    content: new Uint8Array(await file.arrayBuffer()),
  });
  return fixed(fileObject(stored));
}

function listFiles({ query }: Call, files: FileShelf): Exchange {
  const purpose = query.get('purpose');
  const all = files.newestFirst().filter((file) => purpose === null || file.purpose === purpose);
  if (query.get('order') === 'asc') all.reverse();
  const after = query.get('after');
  const from = after === null ? 0 : all.findIndex((file) => file.id === after) + 1;
  const limit = Number(query.get('limit') ?? 10_000);
  if (!Number.isInteger(limit) || limit < 1) {
    throw new Refusal(400, 'The parameter limit must be a whole number of at least 1.', { param: 'limit' });
  }
  const page = all.slice(from, from + limit);
  return fixed({
    object: 'list',
    data: page.map(fileObject),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + page.length < all.length,
  });
}

const seconds = (ms: number): number => Math.floor(ms / 1000);
