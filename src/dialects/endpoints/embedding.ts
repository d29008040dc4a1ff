import type { Dropped } from '../dialect.ts';
import { Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { present } from '../json.ts';
import { type Asked, hint, need } from './endpoint.ts';
import { asBase64 } from './lifted-vectors.ts';

/** A call of /embeddings, read. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly texts: readonly string[];
  readonly dimensions?: number;
  /** Members that OpenAI does not have: the provider may. */
  readonly rest: JsonObject;
  readonly dropped: readonly Dropped[];
}

export function readEmbedding(request: JsonObject): EmbeddingRequest {
  const fields = new Fields(request, '');
  const model = fields.string('model');
  const input = textsIn(fields.take('input'));
  // The gateway writes either format itself, whatever the provider sends.
  fields.oneOf('encoding_format', ['float', 'base64']);
  const dimensions = fields.integer('dimensions', 1);
  const user = fields.optionalString('user');
  return present<EmbeddingRequest>({
    model,
    texts: input ?? [],
    dimensions,
    rest: fields.rest() ?? {},
    dropped: [
      ...(input ? [] : [need('input', 'it takes text, not numbers of tokens')]),
      ...(user === undefined ? [] : [hint('user', 'it does not ask who the user is')]),
    ],
  });
}

/** Null: these are numbers of tokens. */
function textsIn(input: unknown): readonly string[] | null {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return fault('input', 'a text or a list of at least one', input);
  const first: unknown = input[0];
  if (typeof first === 'number' || Array.isArray(first)) return null;
  return input.map((text, index) =>
    typeof text === 'string' ? text : fault(`input[${index}]`, 'a string', text as unknown),
  );
}

export interface Embedded {
  readonly vectors: unknown;
  readonly model?: string;
  /** Absent where the provider does not count: a made-up number would end up in bills and budgets. */
  readonly tokens?: number;
}

/** OpenAI's answer, with as many vectors as there were inputs. */
export function embeddingReply({ vectors, model, tokens }: Embedded, { request }: Asked): JsonObject {
  const wanted = Array.isArray(request.input) ? request.input.length : 1;
  const found = Array.isArray(vectors) ? vectors : [];
  if (found.length !== wanted || !found.every(isVector))
    throw new FramingError(`${wanted} vectors were asked for and ${found.length} came`);
  return present({
    object: 'list',
    data: found.map((vector: readonly number[], index) => ({
      object: 'embedding',
      index,
      embedding: request.encoding_format === 'base64' ? asBase64(vector) : vector,
    })),
    model: model ?? request.model,
    usage: tokens === undefined ? undefined : { prompt_tokens: tokens, total_tokens: tokens },
  });
}

const isVector = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && typeof value[0] === 'number';
