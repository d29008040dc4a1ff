import { embed } from './embedding.ts';
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
import { charactersIn, isObject, type JsonObject, objectIn, objectsIn, textIn, textOfContent } from './json.ts';
import { Refusal } from './refusal.ts';
import { type Prompt, type Reply, replyTo, tokensFor } from './reply.ts';

const MODELS = ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-embedding-001'];

// Also behind a longer path, as Vertex has it: /projects/p/locations/l/publishers/google/models/m:generateContent.
const METHOD_PATH = /\/(?:models|tunedModels)\/([^/:]+):(\w+)$/;

export const isGeminiPath = (path: string): boolean => METHOD_PATH.test(path);

export const gemini: Vendor = {
  errorBody: ({ status, message }) => ({ error: { code: status, message, status: statusName(status) } }),
  read(call) {
    const { method, path } = call;
    if (method === 'GET' && path === '/models') return fixed({ models: MODELS.map(model) });
    if (method === 'GET' && path.startsWith('/models/')) {
      return fixed(model(decoded(path.slice('/models/'.length))));
    }
    const [, encodedName = '', verb = ''] = METHOD_PATH.exec(path) ?? [];
    if (method !== 'POST' || verb === '') return null;
    const name = decoded(encodedName);
    checkCredential(call, name, ['x-goog-api-key', 'authorization']);
    switch (verb) {
      case 'generateContent':
        return readGenerate(call, name, 'whole');
      case 'streamGenerateContent':
        return readGenerate(call, name, call.query.get('alt') === 'sse' ? 'events' : 'array');
      case 'countTokens':
        return readCount(call);
      case 'embedContent':
        return readEmbed(call, name);
      case 'batchEmbedContents':
        return readBatchEmbed(call, name);
      default:
        return null;
    }
  },
};

const model = (id: string) => ({
  name: `models/${id}`,
  version: '001',
  displayName: id,
  description: 'A simulated model.',
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: id.includes('embedding')
    ? ['embedContent', 'countTokens']
    : ['generateContent', 'countTokens'],
});

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const statusName = (status: number): string => STATUS_NAMES[status] ?? 'UNKNOWN';

function contentsOf(body: JsonObject): JsonObject[] {
  const contents = objectsIn(body.contents);
  if (contents.length === 0 || contents.length !== (body.contents as unknown[]).length) {
    throw new Refusal(400, 'contents: a list of at least one content is required');
  }
  return contents;
}

const inputTokens = (body: JsonObject): number =>
  tokensFor(charactersIn(body.systemInstruction) + charactersIn(body.contents) + charactersIn(body.tools));

async function readCount(call: Call): Promise<Exchange> {
  const body = await jsonBody(call);
  const counted = isObject(body.generateContentRequest) ? body.generateContentRequest : body;
  const said = lastSaid(contentsOf(counted));
  return { said, answer: () => json({ totalTokens: inputTokens(counted) }) };
}

async function readGenerate(call: Call, modelVersion: string, form: 'whole' | 'events' | 'array'): Promise<Exchange> {
  const body = await jsonBody(call);
  const prompt = contentPrompt(body);
  const responseId = call.id();
  const count = Number(objectIn(body.generationConfig).candidateCount ?? 1);
  if (!Number.isInteger(count) || count < 1 || count > 8) {
    throw new Refusal(400, 'generationConfig.candidateCount: a whole number from 1 to 8 is required');
  }
  return {
    said: prompt.said,
    answer(faults) {
      const reply = replyTo(prompt, faults);
      const content = { reply, count, inputTokens: inputTokens(body), tail: { modelVersion, responseId } };
      if (form === 'whole') return json(wholeContent(content));
      const parts = contentParts(content);
      return form === 'array' ? jsonArray(parts) : { body: { type: 'events', events: events(parts), lineEnd: '\r\n' } };
    },
  };
}

/** The last text that the user wrote; contents without a role are the user's. */
function lastSaid(contents: readonly JsonObject[]): string {
  const spoken = contents.findLast(({ role, parts }) => role !== 'model' && textOfContent(parts) !== '');
  return textOfContent(spoken?.parts);
}

function contentPrompt(body: JsonObject): Prompt {
  const contents = contentsOf(body);
  const results = objectsIn(contents.at(-1)?.parts).filter((part) => isObject(part.functionResponse));
  const declared = objectsIn(body.tools).flatMap((tool) => objectsIn(tool.functionDeclarations));
  const tools = declared.flatMap(({ name }) => textIn(name) ?? []);
  const { mode, allowedFunctionNames } = objectIn(objectIn(body.toolConfig).functionCallingConfig);
  const allowed = Array.isArray(allowedFunctionNames)
    ? allowedFunctionNames.filter((name) => tools.includes(name))
    : [];
  return {
    said: lastSaid(contents),
    toolResult:
      results.length > 0
        ? results.map((part) => JSON.stringify(objectIn(part.functionResponse).response)).join('\n')
        : undefined,
    tools: mode === 'NONE' ? [] : tools,
    forced: mode !== 'ANY' ? undefined : allowed.length > 0 ? allowed : tools,
    argumentsOf: (tool) => {
      const found = declared.find(({ name }) => name === tool);
      return found?.parametersJsonSchema ?? found?.parameters;
    },
    json: wantedJson(objectIn(body.generationConfig)),
  };
}

function wantedJson({ responseMimeType, responseSchema, responseJsonSchema }: JsonObject): Prompt['json'] {
  if (responseMimeType !== 'application/json') return undefined;
  const schema = responseJsonSchema ?? responseSchema;
  return isObject(schema) ? schema : 'object';
}

interface Content {
  readonly reply: Reply;
  readonly count: number;
  readonly inputTokens: number;
  readonly tail: { readonly modelVersion: string; readonly responseId: string };
}

const functionCalls = (reply: Reply) => reply.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));

const usageMetadata = (input: number, output: number) => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: input + output,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
});

function wholeContent({ reply, count, inputTokens, tail }: Content): unknown {
  const isCalling = reply.calls.length > 0;
  const text = reply.text();
  const content = { parts: isCalling ? functionCalls(reply) : [{ text }], role: 'model' };
  const tokens = tokensFor(isCalling ? charactersIn(reply.calls) : text.length);
  return {
    candidates: Array.from({ length: count }, (_, index) => ({ content, finishReason: 'STOP', index })),
    usageMetadata: usageMetadata(inputTokens, tokens * count),
    ...tail,
  };
}

function* contentParts({ reply, count, inputTokens, tail }: Content): Generator<unknown> {
  let finishedTokens = 0;
  for (let index = 0; index < count; index += 1) {
    let characters = charactersIn(reply.calls);
    const chunk = (parts: unknown[], finishReason?: string) => ({
      candidates: [{ content: { parts, role: 'model' }, finishReason, index }],
      usageMetadata: usageMetadata(inputTokens, finishedTokens + tokensFor(characters)),
      ...tail,
    });
    for (const text of reply.pieces()) {
      characters += text.length;
      yield chunk([{ text }]);
    }
    if (reply.calls.length > 0) yield chunk(functionCalls(reply));
    yield chunk([{ text: '' }], 'STOP');
    finishedTokens += tokensFor(characters);
  }
}

function* events(parts: Iterable<unknown>) {
  for (const data of parts) yield { data };
}

const jsonArray = (parts: Iterable<unknown>): Answer => ({
  body: { type: 'pieces', pieces: arrayPieces(parts), contentType: 'application/json; charset=UTF-8' },
});

function* arrayPieces(parts: Iterable<unknown>): Generator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let before = '[';
  for (const part of parts) {
    yield encoder.encode(before + JSON.stringify(part, null, 2));
    before = '\r\n,\r\n';
  }
  yield encoder.encode('\r\n]');
}

function embeddingOf(request: JsonObject, modelName: string) {
  const text = textOfContent(objectIn(request.content).parts);
  if (text === '') throw new Refusal(400, 'content: a content with a text is required');
  const dimensions = Number(request.outputDimensionality ?? (modelName.startsWith('gemini-embedding') ? 3072 : 768));
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 4096) {
    throw new Refusal(400, 'outputDimensionality: a whole number from 1 to 4096 is required');
  }
  return { text, embedding: () => ({ values: [...embed(text, dimensions)] }) };
}

async function readEmbed(call: Call, modelName: string): Promise<Exchange> {
  const { text, embedding } = embeddingOf(await jsonBody(call), modelName);
  return { said: text, answer: () => json({ embedding: embedding() }) };
}

async function readBatchEmbed(call: Call, modelName: string): Promise<Exchange> {
  const requests = objectsIn((await jsonBody(call)).requests).map((request) => embeddingOf(request, modelName));
  const [first] = requests;
  if (!first) throw new Refusal(400, 'requests: a list of at least one request is required');
  return { said: first.text, answer: () => json({ embeddings: requests.map(({ embedding }) => embedding()) }) };
}
