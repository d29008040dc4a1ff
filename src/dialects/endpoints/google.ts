import { decodeError } from '../gemini/errors.ts';
import type { JsonObject } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present } from '../json.ts';
import { embeddingReply, readEmbedding } from './embedding.ts';
import { type EndpointCodec, need } from './endpoint.ts';
import { imageReply, picturesIn, ratioOf, readImage } from './image.ts';
import { readRerank, rerankReply } from './rerank.ts';

/** `google.text-embedding-005` and `models/gemini-embedding-001` are names of the same kind. */
const plainName = (model: string): string => model.replace(/^(?:models\/|google\.)/, '');

const inGemini = (model: string): string => `/models/${encodeURIComponent(plainName(model))}`;
const inVertex = (model: string): string => `/publishers/google/models/${encodeURIComponent(plainName(model))}`;

/** Models of other houses, and own endpoints, have their own formats on Vertex. */
const foreign = (model: string) =>
  /^(?:anthropic|meta|mistralai|endpoints)\./.test(model)
    ? [need('model', 'only models of Google have this endpoint here')]
    : [];

/** One request per text: several texts in one request would become one vector. */
export const geminiEmbed: EndpointCodec = {
  encode: (request) => {
    const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
    const { task_type, ...more } = rest;
    const shared = present({ taskType: task_type, outputDimensionality: dimensions, ...more });
    const name = plainName(model);
    return {
      path: `${inGemini(model)}:batchEmbedContents`,
      body: {
        requests: texts.map((text) => ({ model: `models/${name}`, content: { parts: [{ text }] }, ...shared })),
      },
      dropped,
    };
  },
  decode: ({ json }, asked) => {
    const { embeddings, usageMetadata } = objectIn(json);
    return embeddingReply(
      {
        vectors: objectsIn(embeddings).map(({ values }) => values),
        tokens: countIn(objectIn(usageMetadata).promptTokenCount),
      },
      asked,
    );
  },
  decodeError,
};

const isMultimodal = (model: unknown): boolean => String(model).includes('multimodalembedding');

export const vertexEmbed: EndpointCodec = {
  encode: (request) => {
    const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
    const { task_type, taskType, title, ...parameters } = rest;
    const about = present({ task_type: task_type ?? taskType, title });
    const size = isMultimodal(model) ? { dimension: dimensions } : { outputDimensionality: dimensions };
    return {
      path: `${inVertex(model)}:predict`,
      body: {
        instances: texts.map((text) => (isMultimodal(model) ? { text } : { content: text, ...about })),
        parameters: present({ ...size, ...parameters }),
      },
      dropped: [...dropped, ...foreign(model)],
    };
  },
  decode: ({ json }, asked) => {
    const predictions = objectsIn(objectIn(json).predictions);
    const vectors = predictions.map(({ embeddings, textEmbedding }) => objectIn(embeddings).values ?? textEmbedding);
    const counts = predictions.flatMap(({ embeddings }) => {
      const { statistics } = objectIn(embeddings);
      return countIn(objectIn(statistics).token_count) ?? [];
    });
    const isCounted = counts.length === predictions.length;
    const tokens = isCounted ? counts.reduce((sum, count) => sum + count, 0) : undefined;
    return embeddingReply(present({ vectors, tokens }), asked);
  },
  decodeError,
};

const IMAGEN_RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'];

const imagen = (address: (model: string) => string): EndpointCodec => ({
  encode: (request) => {
    const { model, prompt, n, size, rest, dropped } = readImage(request, { gives: 'b64_json', several: true });
    const { ratio, ...said } = ratioOf(size, IMAGEN_RATIOS);
    const isImagen = plainName(model).startsWith('imagen');
    return {
      path: `${address(model)}:predict`,
      body: {
        instances: [{ prompt }],
        // Without a number Google makes four, OpenAI's clients expect one.
        parameters: present({ sampleCount: n ?? 1, aspectRatio: ratio, ...rest }),
      },
      dropped: [
        ...dropped,
        ...said.dropped,
        ...(isImagen ? [] : [need('model', 'only Imagen models draw here; Gemini models draw in a chat')]),
      ],
      changed: said.changed,
    };
  },
  decode: ({ json }, asked) => {
    const predictions = objectsIn(objectIn(json).predictions);
    const made = predictions.filter(({ bytesBase64Encoded }) => bytesBase64Encoded !== undefined);
    return imageReply(
      made.flatMap(({ bytesBase64Encoded, prompt }) =>
        picturesIn(bytesBase64Encoded).map((picture) => ({
          ...picture,
          ...(typeof prompt === 'string' && { revised_prompt: prompt }),
        })),
      ),
      asked,
    );
  },
  decodeError,
});

export const geminiImages: EndpointCodec = imagen(inGemini);
export const vertexImages: EndpointCodec = imagen(inVertex);

/** Google's ranking service; it stands beside Vertex and takes the same credential. */
export const vertexRerank: EndpointCodec = {
  encode: (request) => {
    const { model, query, texts, topN, rest, dropped } = readRerank(request);
    return {
      path: '/rankingConfigs/default_ranking_config:rank',
      body: present({
        ...rest,
        model: plainName(model),
        query,
        topN,
        records: texts.map((content, index) => ({ id: String(index), content })),
        ignoreRecordDetailsInResponse: true,
      }),
      dropped,
    };
  },
  decode: ({ json }, asked) =>
    rerankReply(
      {
        results: objectsIn(objectIn(json).records).map(({ id, score }) => ({ index: countIn(Number(id)), score })),
      },
      asked,
    ),
  decodeError,
};

/** Tokens of a message to Claude on Vertex; its answer has Anthropic's shape already. */
export const vertexCountTokens: EndpointCodec = {
  encode: (request) => {
    const model = typeof request.model === 'string' ? request.model : '';
    const isClaude = model.startsWith('anthropic.');
    return {
      path: '/publishers/anthropic/models/count-tokens:rawPredict',
      body: { ...request, model: model.replace(/^anthropic\./, '') },
      dropped: isClaude ? [] : [need('model', 'only models of Anthropic (anthropic.…) count tokens here')],
    };
  },
  decode: ({ json }): JsonObject => (isObject(json) ? json : {}),
  decodeError,
};
