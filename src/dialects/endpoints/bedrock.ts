import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { countIn, objectIn, objectsIn, present } from '../json.ts';
import { INPUT_TYPE, inputTypeAdded, vectorsIn } from './cohere.ts';
import { embeddingReply, readEmbedding } from './embedding.ts';
import { type EncodedCall, type EndpointCodec, need } from './endpoint.ts';
import { imageReply, picturesIn, ratioOf, readImage } from './image.ts';
import { readRerank, readResults, rerankReply } from './rerank.ts';
import { STABILITY_RATIOS } from './stability.ts';

/** The foundation model's own name: without the region of a profile, and out of an ARN that names it. */
const nameOf = (model: unknown): string =>
  String(model)
    .replace(/^arn:.*\//, '')
    .replace(/^(?:us|us-gov|eu|apac|au|ca|jp|global)\./, '');

const invoke = (model: string): string => `/model/${encodeURIComponent(model)}/invoke`;

const unknownModel = (kind: string) => need('model', `it is none of the ${kind} whose format is known here`);

export const bedrockEmbed: EndpointCodec = {
  encode: (request) => {
    const name = nameOf(request.model);
    if (name.startsWith('cohere.embed')) return encodeCohere(request);
    const call = encodeTitan(request, name);
    if (name.startsWith('amazon.titan-embed')) return call;
    return { ...call, dropped: [unknownModel('embedding models (amazon.titan-embed…, cohere.embed…)')] };
  },
  decode: ({ json, headers }, asked) => {
    const body = objectIn(json);
    const isCohere = nameOf(asked.request.model).startsWith('cohere.');
    const tokens = isCohere
      ? countIn(Number(headers['x-amzn-bedrock-input-token-count'] ?? Number.NaN))
      : countIn(body.inputTextTokenCount);
    return embeddingReply(
      present({ vectors: isCohere ? vectorsIn(body.embeddings) : [body.embedding], tokens }),
      asked,
    );
  },
};

function encodeCohere(request: JsonObject): EncodedCall {
  const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
  return {
    path: invoke(model),
    body: present({ input_type: INPUT_TYPE, output_dimension: dimensions, ...rest, texts }),
    dropped,
    changed: inputTypeAdded(rest),
  };
}

function encodeTitan(request: JsonObject, name: string): EncodedCall {
  const { model, texts, dimensions, rest, dropped } = readEmbedding(request);
  const size = name.includes('embed-image')
    ? { embeddingConfig: dimensions && { outputEmbeddingLength: dimensions } }
    : { dimensions };
  const several = texts.length > 1 ? [need('input', 'Titan models embed one text per call')] : [];
  return {
    path: invoke(model),
    body: present({ ...size, ...rest, inputText: texts[0] }),
    dropped: [...dropped, ...several],
  };
}

/** Amazon's and Cohere's models take the same body; Cohere's wants to know which of its versions. */
export const bedrockRerank: EndpointCodec = {
  encode: (request) => {
    const { model, query, texts, topN, wishes, rest, dropped } = readRerank(request, ['max_tokens_per_doc']);
    const version = nameOf(model).startsWith('cohere.') ? { api_version: 2 } : {};
    return {
      path: invoke(model),
      body: present({ ...version, ...rest, ...wishes, query, documents: texts, top_n: topN }),
      dropped,
    };
  },
  decode: ({ json }, asked) => rerankReply(readResults(json), asked),
};

export const bedrockImages: EndpointCodec = {
  encode: (request) => {
    const name = nameOf(request.model);
    if (name.startsWith('stability.')) return encodeStability(request);
    const call = encodeAmazon(request);
    if (/^amazon\.(?:titan-image|nova-canvas)/.test(name)) return call;
    return {
      ...call,
      dropped: [unknownModel('image models (amazon.titan-image…, amazon.nova-canvas…, stability.…)')],
    };
  },
  decode: ({ json }, asked) => {
    const { images, artifacts, error } = objectIn(json);
    if (typeof error === 'string' && error !== '') throw new FramingError(error);
    return imageReply(picturesIn(images ?? objectsIn(artifacts).map(({ base64 }) => base64)), asked);
  },
};

function encodeStability(request: JsonObject): EncodedCall {
  const { model, prompt, size, rest, dropped } = readImage(request, {
    gives: 'b64_json',
    several: false,
    takes: ['output_format'],
  });
  const { ratio, ...said } = ratioOf(size, STABILITY_RATIOS);
  return {
    path: invoke(model),
    body: present({ aspect_ratio: ratio, ...rest, prompt }),
    dropped: [...dropped, ...said.dropped],
    changed: said.changed,
  };
}

function encodeAmazon(request: JsonObject): EncodedCall {
  const { model, prompt, n, size, rest, dropped } = readImage(request, {
    gives: 'b64_json',
    several: true,
    takes: ['quality'],
  });
  const { negative_prompt, quality, seed, cfg_scale, ...more } = rest;
  return {
    path: invoke(model),
    body: {
      taskType: 'TEXT_IMAGE',
      ...more,
      textToImageParams: present({ text: prompt, negativeText: negative_prompt }),
      imageGenerationConfig: present({
        numberOfImages: n ?? 1,
        width: size?.width,
        height: size?.height,
        // OpenAI's `hd` is Amazon's `premium`.
        quality: quality === 'hd' ? 'premium' : quality,
        seed,
        cfgScale: cfg_scale,
      }),
    },
    dropped,
  };
}

/** CountTokens takes a whole call, and a whole call of Claude has an output limit, which changes no count. */
export const bedrockCountTokens: EndpointCodec = {
  encode: (request) => {
    const { model, ...message } = request;
    const name = nameOf(model);
    const budget = countIn(objectIn(message.thinking).budget_tokens) ?? 0;
    const whole = { anthropic_version: 'bedrock-2023-05-31', max_tokens: budget + 1, ...message };
    return {
      // Profiles of several regions are not known there.
      path: `/model/${encodeURIComponent(name)}/count-tokens`,
      body: { input: { invokeModel: { body: Buffer.from(JSON.stringify(whole)).toString('base64') } } },
      dropped: name.startsWith('anthropic.')
        ? []
        : [need('model', 'only models of Anthropic (anthropic.…) count tokens here')],
    };
  },
  decode: ({ json }) => {
    const tokens = countIn(objectIn(json).inputTokens);
    if (tokens === undefined) throw new FramingError('the answer holds no inputTokens');
    return { input_tokens: tokens };
  },
};
