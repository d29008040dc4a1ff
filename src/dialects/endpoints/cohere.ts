import type { Changed } from '../dialect.ts';
import { countIn, isObject, objectIn, present } from '../json.ts';
import { embeddingReply, readEmbedding } from './embedding.ts';
import type { EndpointCodec } from './endpoint.ts';
import { rerankWith } from './rerank.ts';

/** Cohere demands to know what the vectors are for, and OpenAI's clients do not say. */
export const INPUT_TYPE = 'search_document';

export const inputTypeAdded = (rest: object): readonly Changed[] =>
  'input_type' in rest ? [] : [{ path: 'input_type', how: `${INPUT_TYPE} added, Cohere demands one` }];

export const cohereEmbed: EndpointCodec = {
  encode: (request) => {
    const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
    return {
      path: '/embed',
      body: present({
        input_type: INPUT_TYPE,
        embedding_types: ['float'],
        output_dimension: dimensions,
        ...rest,
        model,
        texts,
      }),
      dropped,
      changed: inputTypeAdded(rest),
    };
  },
  decode: ({ json }, asked) => {
    const { embeddings, meta } = objectIn(json);
    const { billed_units } = objectIn(meta);
    return embeddingReply(
      present({ vectors: vectorsIn(embeddings), tokens: countIn(objectIn(billed_units).input_tokens) }),
      asked,
    );
  },
};

/** A list, or lists by type: floats, unless the client asked for another type. */
export const vectorsIn = (embeddings: unknown): unknown =>
  isObject(embeddings) ? (embeddings.float ?? Object.values(embeddings).find(Array.isArray)) : embeddings;

export const cohereRerank: EndpointCodec = rerankWith({
  path: '/rerank',
  topN: 'top_n',
  takes: ['max_tokens_per_doc', 'priority'],
});
