import { countIn, objectIn, objectsIn, present, someTextIn } from '../json.ts';
import { embeddingReply, readEmbedding } from './embedding.ts';
import type { EndpointCodec, ProviderAnswer } from './endpoint.ts';
import { rerankWith } from './rerank.ts';

/** Providers whose embeddings are nearly OpenAI's: other names of some members, and nothing they do not know. */
interface EmbeddingWords {
  readonly path: string;
  readonly input: 'input' | 'texts';
  readonly dimensions: string;
}

const embedWith = ({ path, input, dimensions: size }: EmbeddingWords): EndpointCodec => ({
  encode: (request) => {
    const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
    return { path, body: present({ ...rest, model, [input]: texts, [size]: dimensions }), dropped };
  },
  decode: (answer, asked) => embeddingReply(vectorsOf(answer), asked),
});

/** A list of embeddings in the order of their index, or of bare vectors. */
function vectorsOf({ json }: ProviderAnswer) {
  const { data, embeddings, usage, model } = objectIn(json);
  const { prompt_tokens, total_tokens } = objectIn(usage);
  const ordered = objectsIn(data).toSorted((one, other) => Number(one.index) - Number(other.index));
  return present({
    vectors: Array.isArray(data) ? ordered.map(({ embedding }) => embedding) : embeddings,
    model: someTextIn(model),
    tokens: countIn(prompt_tokens) ?? countIn(total_tokens),
  });
}

export const voyageEmbed = embedWith({ path: '/embeddings', input: 'input', dimensions: 'output_dimension' });
export const jinaEmbed = embedWith({ path: '/embeddings', input: 'input', dimensions: 'dimensions' });
export const nomicEmbed = embedWith({ path: '/embedding/text', input: 'texts', dimensions: 'dimensionality' });
export const mistralEmbed = embedWith({ path: '/embeddings', input: 'input', dimensions: 'output_dimension' });

export const voyageRerank = rerankWith({ path: '/rerank', topN: 'top_k', takes: ['truncation'] });
/** Jina, and those who copied its rerank: Together, SiliconFlow, Fireworks, Zhipu. */
export const jinaRerank = rerankWith({ path: '/rerank', topN: 'top_n', returnsDocuments: true });
