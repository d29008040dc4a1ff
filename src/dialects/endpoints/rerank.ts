import type { Dropped } from '../dialect.ts';
import { Fields, fault } from '../fields.ts';
import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, someTextIn } from '../json.ts';
import { type Asked, type EndpointCodec, hint, need } from './endpoint.ts';

/** A call of /rerank, read. */
export interface RerankRequest {
  readonly model: string;
  readonly query: string;
  readonly texts: readonly string[];
  readonly topN?: number;
  /** Wishes that only some providers know, by their names in the unified shape. */
  readonly wishes: JsonObject;
  readonly rest: JsonObject;
  readonly dropped: readonly Dropped[];
}

/** `takes`: the wishes that the provider knows. */
export function readRerank(request: JsonObject, takes: readonly Wish[] = []): RerankRequest {
  const fields = new Fields(request, '');
  const documents = fields.list('documents');
  if (!documents || documents.length === 0) fault('documents', 'a list of at least one document', documents);
  fields.boolean('return_documents');
  const ranked = fields.strings('rank_fields');
  const wished = {
    max_tokens_per_doc: fields.integer('max_tokens_per_doc', 1),
    truncation: fields.boolean('truncation'),
    priority: fields.integer('priority'),
  };
  const given = WISHES.filter((wish) => wished[wish] !== undefined);
  return present<RerankRequest>({
    model: fields.string('model'),
    query: fields.string('query'),
    texts: documents!.map(textOf),
    topN: fields.integer('top_n', 1),
    wishes: Object.fromEntries(given.filter((wish) => takes.includes(wish)).map((wish) => [wish, wished[wish]])),
    rest: fields.rest() ?? {},
    dropped: [
      ...given.filter((wish) => !takes.includes(wish)).map((wish) => hint(wish, 'it has no such setting')),
      ...(ranked?.some((field) => field !== 'text')
        ? [need('rank_fields', 'only the text of a document is ranked')]
        : []),
    ],
  });
}

const WISHES = ['max_tokens_per_doc', 'truncation', 'priority'] as const;
type Wish = (typeof WISHES)[number];

function textOf(document: unknown, index: number): string {
  const text = isObject(document) ? document.text : document;
  return typeof text === 'string' ? text : fault(`documents[${index}]`, 'a text or an object with a text', document);
}

export interface Reranked {
  readonly results: readonly { readonly index?: number; readonly score: unknown }[];
  readonly id?: string;
  readonly model?: string;
  readonly searchUnits?: number;
  readonly tokens?: number;
}

/** The unified answer. Documents are the client's own: no provider needs to send them back. */
export function rerankReply({ results, id, model, searchUnits, tokens }: Reranked, asked: Asked): JsonObject {
  const { request, provider } = asked;
  const documents = request.documents as readonly unknown[];
  const usage = present({ search_units: searchUnits, total_tokens: tokens });
  return present({
    object: 'list',
    id,
    model: model ?? request.model,
    results: results.map(({ index, score }) => {
      if (index === undefined || index >= documents.length || typeof score !== 'number')
        throw new FramingError('a result names no document, or has no score');
      const document = documents[index];
      return {
        index,
        relevance_score: score,
        ...(request.return_documents === true && { document: isObject(document) ? document : { text: document } }),
      };
    }),
    usage: Object.keys(usage).length > 0 ? usage : undefined,
    provider,
  });
}

/** Most providers ask and answer in nearly the same words; these are the differences. */
export interface RerankWords {
  readonly path: string;
  readonly topN: 'top_n' | 'top_k';
  readonly takes?: readonly Wish[];
  /** Sends documents back unless it is told not to. */
  readonly returnsDocuments?: boolean;
}

export const rerankWith = ({ path, topN: limit, takes, returnsDocuments }: RerankWords): EndpointCodec => ({
  encode: (request) => {
    const { model, query, texts, topN, wishes, rest, dropped } = readRerank(request, takes);
    const echo = returnsDocuments ? { return_documents: false } : {};
    return {
      path,
      body: present({ ...rest, ...wishes, ...echo, model, query, documents: texts, [limit]: topN }),
      dropped,
    };
  },
  decode: ({ json }, asked) => rerankReply(readResults(json), asked),
});

/** `results` or `data`, with whatever the provider counts. */
export function readResults(json: unknown): Reranked {
  const body = objectIn(json);
  const list = Array.isArray(body.results) ? body.results : body.data;
  if (!Array.isArray(list)) throw new FramingError('the answer holds no results');
  const { billed_units, tokens } = objectIn(body.meta);
  const counted = objectIn(tokens ?? body.tokens);
  return present<Reranked>({
    results: objectsIn(list).map(({ index, relevance_score }) => ({ index: countIn(index), score: relevance_score })),
    id: someTextIn(body.id),
    model: someTextIn(body.model),
    searchUnits: countIn(objectIn(billed_units).search_units),
    tokens: countIn(objectIn(body.usage).total_tokens) ?? countIn(counted.input_tokens),
  });
}
