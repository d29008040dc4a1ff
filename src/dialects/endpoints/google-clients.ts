import type { ClientForm } from '../../core/endpoints.ts';
import { anthropic } from '../anthropic/anthropic.ts';
import type { Dropped } from '../dialect.ts';
import { type Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import { eachOf, fieldsOf, innerFields } from '../gemini/fields.ts';
import { gemini } from '../gemini/gemini.ts';
import type { Failure, JsonObject } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present } from '../json.ts';
import { hint, need } from './endpoint.ts';

/** What a client of Google's or Ollama's asks for beside chat, in the words of the endpoint that other providers have for it. */
export interface AskedForm {
  /** OpenAI's embeddings, or Anthropic's counting of tokens. */
  readonly path: string;
  readonly body: JsonObject;
  /** For Google itself, where the client's body names the model otherwise than the address does. Null: it goes as it is. */
  readonly own: JsonObject | null;
  readonly dropped: readonly Dropped[];
  /** What cannot be left out, because nothing would remain. */
  readonly indispensable?: Dropped;
  readonly encodeError: (failure: Failure) => { readonly body: JsonObject };
  /** The answer of that endpoint as the client's vendor would give it. Throws `FramingError` when it is none. */
  encode(answer: unknown): JsonObject;
}

export interface FormOptions {
  /** The provider's name for the model. */
  readonly model: string;
  /** The client's, as it stands in its address. */
  readonly named: string;
  /** Whether the provider understands what an embedding is for. */
  readonly knowsTasks: boolean;
}

export type GoogleForm = Extract<ClientForm, 'embedContent' | 'batchEmbedContents' | 'countTokens'>;

/** Reads a client's body; a fault is thrown as `invalid_request` and names the path. */
export function readGoogleForm(form: GoogleForm, body: unknown, options: FormOptions): AskedForm {
  const fields = fieldsOf(body, '');
  fields.take('model');
  if (form === 'countTokens') return readCount(fields, options);
  const isBatch = form === 'batchEmbedContents';
  const requests = isBatch
    ? (eachOf(fields, 'requests', (request) => readEmbed(request, options)) ?? fault('requests', 'a list', undefined))
    : [readEmbed(fields, options)];
  const [first] = requests;
  if (!first) return fault('requests', 'a list of at least one', []);
  const other = requests.find(({ dimensions }) => dimensions !== first.dimensions);
  if (other) fault(other.path, 'of the same outputDimensionality as the first', other.dimensions);
  const isRenamed = requests.some(({ isRenamed }) => isRenamed);
  return {
    path: '/embeddings',
    body: present({
      model: options.model,
      input: requests.map(({ text }) => text),
      dimensions: first.dimensions,
      ...(options.knowsTasks && { task_type: first.taskType, title: first.title }),
    }),
    own: isBatch && isRenamed ? renamed(fields.raw(), options.model) : null,
    dropped: requests.flatMap(({ dropped }) => dropped),
    indispensable: requests.find(({ text }) => text === '')?.dropped.find(({ matters }) => matters),
    encodeError: gemini.inbound.encodeError,
    encode: (answer) => encodeVectors(answer, isBatch, requests.length),
  };
}

/** Each request of a batch repeats the model. */
const renamed = ({ model: _, ...body }: JsonObject, name: string): JsonObject => ({
  ...body,
  requests: objectsIn(body.requests).map((request) => ({ ...request, model: `models/${name}` })),
});

function readEmbed(fields: Fields, { model, named, knowsTasks }: FormOptions) {
  const own = fields.optionalString('model');
  const isItsOwn = own === undefined || [model, named, `models/${model}`, `models/${named}`].includes(own);
  if (!isItsOwn) fault(fields.pathOf('model'), `the model of the address, ${named.slice(0, 80)}`, own);
  const content = innerFields(fields, 'content') ?? fault(fields.pathOf('content'), 'a content', undefined);
  const dropped: Dropped[] = [];
  const texts = (eachOf(content, 'parts', (part) => part) ?? []).map((part) => {
    if (!part.has('text')) dropped.push(need(part.path, 'only text is embedded here'));
    return part.optionalString('text') ?? '';
  });
  const inner = innerFields(fields, 'embedContentConfig');
  const of = (name: string) => fields.optionalString(name) ?? inner?.optionalString(name);
  const taskType = of('taskType');
  const title = of('title');
  if (!knowsTasks && taskType) dropped.push(hint(fields.pathOf('taskType'), 'it does not ask what a text is for'));
  if (!knowsTasks && title) dropped.push(hint(fields.pathOf('title'), 'texts have no title here'));
  for (const name in fields.rest()) dropped.push(hint(fields.pathOf(name), 'only Google has this member'));
  return {
    path: fields.pathOf('outputDimensionality'),
    text: texts.join('\n'),
    dimensions: fields.integer('outputDimensionality', 1) ?? inner?.integer('outputDimensionality', 1),
    taskType,
    title,
    dropped,
    isRenamed: own !== undefined && own !== `models/${model}`,
  };
}

function encodeVectors(answer: unknown, isBatch: boolean, wanted: number): JsonObject {
  const { data, usage } = objectIn(answer);
  const vectors = objectsIn(data).map(({ embedding }) => embedding);
  if (vectors.length !== wanted || !vectors.every(Array.isArray))
    throw new FramingError(`the answer has not the ${wanted} vectors that were asked for`);
  const tokens = countIn(objectIn(usage).prompt_tokens);
  const embeddings = vectors.map((values) => ({ values }));
  return {
    ...(isBatch ? { embeddings } : { embedding: embeddings[0] }),
    ...(tokens !== undefined && { usageMetadata: { promptTokenCount: tokens } }),
  };
}

/** What is counted: of a whole call, or of contents alone. */
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config'];

function readCount(fields: Fields, { model }: FormOptions): AskedForm {
  const whole = innerFields(fields, 'generateContentRequest');
  const source = whole ?? fields;
  const request = gemini.inbound.decodeRequest({ ...source.raw(), model, stream: undefined });
  const { body, dropped } = anthropic.outbound.encodeRequest({ ...request, maxOutputTokens: 1 });
  return {
    path: '/messages/count_tokens',
    body: Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED.includes(name))),
    own: whole?.has('model') ? { generateContentRequest: { ...whole.raw(), model: `models/${model}` } } : null,
    dropped: dropped.map((each) => ({ ...each, path: whole ? `generateContentRequest.${each.path}` : each.path })),
    encodeError: gemini.inbound.encodeError,
    encode: (answer) => {
      const totalTokens = isObject(answer) ? countIn(answer.input_tokens) : undefined;
      if (totalTokens === undefined) throw new FramingError('the answer does not say how many tokens there are');
      return { totalTokens };
    },
  };
}
