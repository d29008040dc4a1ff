import type { EmbeddingModel, LanguageModel } from 'ai';
import { type Actions, CITY, type Client, NO_EMBEDDINGS, PERSON, type Place, pieces } from './client.ts';

type Package = typeof import('ai');

/** The members that are used here are the same in all majors, or are told apart below. */
const LOAD: Readonly<Record<5 | 6 | 7, () => Promise<unknown>>> = {
  5: () => import('ai-5'),
  6: () => import('ai'),
  7: () => import('ai-7'),
};
type Major = keyof typeof LOAD;

interface Models {
  readonly language: LanguageModel;
  readonly embedding?: EmbeddingModel;
}

function actionsOf(ai: Package, { language: model, embedding }: Models): Actions {
  return {
    chat: async (prompt) => (await ai.generateText({ model, prompt })).text,
    stream: async (prompt) => pieces(ai.streamText({ model, prompt }).textStream, (piece) => piece),
    tools: async (prompt) => {
      const tools = { get_weather: { inputSchema: ai.jsonSchema<{ city: string }>(CITY) } };
      const [call] = (await ai.generateText({ model, prompt, tools })).toolCalls;
      return { name: call!.toolName, args: call!.input };
    },
    schema: async (prompt) => (await ai.generateObject({ model, prompt, schema: ai.jsonSchema(PERSON) })).object,
    image: async (text, data) => {
      const content = [
        { type: 'text' as const, text },
        { type: 'file' as const, data, mediaType: 'image/png' },
      ];
      return (await ai.generateText({ model, messages: [{ role: 'user', content }] })).text;
    },
    ...(embedding && {
      embeddings: async (values) => (await ai.embedMany({ model: embedding, values: [...values] })).embeddings,
    }),
  };
}

interface Flavour {
  readonly provider: string;
  readonly address: string;
  readonly without?: Client['without'];
  models(place: Place): Promise<Models>;
}

const clientOf = (major: Major, { provider, address, without, models }: Flavour): Client => ({
  name: `\`ai\` ${major}, \`${provider}\``,
  address,
  key: '`apiKey`',
  without,
  open: async (place) => actionsOf((await LOAD[major]()) as Package, await models(place)),
});

/** How a provider's package makes its models; majors differ in the name of the one that embeds. */
interface Made {
  (model: string): unknown;
  embeddingModel?(model: string): unknown;
  textEmbeddingModel?(model: string): unknown;
}

const modelsOf = (made: Made, { model, embeddingModel }: Place, embeds = true): Models => ({
  language: made(model) as LanguageModel,
  ...(embeds && {
    embedding: (made.embeddingModel ?? made.textEmbeddingModel)!.call(made, embeddingModel) as EmbeddingModel,
  }),
});

const V1 = 'baseURL: $GATEWAY/v1';
const at = ({ url, key }: Place, path = '/v1') => ({ baseURL: `${url}${path}`, apiKey: key });

type Factory = (settings: { baseURL: string; apiKey: string; name: string }) => Made;

/** The packages of one major version, by the factory that each exports. */
interface Packages {
  readonly openai: () => Promise<{ createOpenAI: unknown }>;
  readonly anthropic: () => Promise<{ createAnthropic: unknown }>;
  readonly google: () => Promise<{ createGoogleGenerativeAI: unknown }>;
  readonly compatible: () => Promise<{ createOpenAICompatible: unknown }>;
}

const flavours = ({ openai, anthropic, google, compatible }: Packages): readonly Flavour[] => [
  {
    provider: '@ai-sdk/openai',
    address: V1,
    models: async (place) => {
      const create = (await openai()).createOpenAI as Factory;
      return modelsOf(create({ ...at(place), name: 'openai' }), place);
    },
  },
  {
    provider: '@ai-sdk/anthropic',
    address: V1,
    without: { embeddings: NO_EMBEDDINGS },
    models: async (place) => {
      const create = (await anthropic()).createAnthropic as Factory;
      return modelsOf(create({ ...at(place), name: 'anthropic' }), place, false);
    },
  },
  {
    provider: '@ai-sdk/google',
    address: 'baseURL: $GATEWAY/v1beta',
    models: async (place) => {
      const create = (await google()).createGoogleGenerativeAI as Factory;
      return modelsOf(create({ ...at(place, '/v1beta'), name: 'google' }), place);
    },
  },
  {
    provider: '@ai-sdk/openai-compatible',
    address: V1,
    models: async (place) => {
      const create = (await compatible()).createOpenAICompatible as Factory;
      return modelsOf(create({ ...at(place), name: 'gateway' }), place);
    },
  },
];

const PACKAGES: Readonly<Record<Major, Packages>> = {
  5: {
    openai: () => import('ai-sdk-openai-2'),
    anthropic: () => import('ai-sdk-anthropic-2'),
    google: () => import('ai-sdk-google-2'),
    compatible: () => import('ai-sdk-openai-compatible-1'),
  },
  6: {
    openai: () => import('@ai-sdk/openai'),
    anthropic: () => import('@ai-sdk/anthropic'),
    google: () => import('@ai-sdk/google'),
    compatible: () => import('@ai-sdk/openai-compatible'),
  },
  7: {
    openai: () => import('ai-sdk-openai-4'),
    anthropic: () => import('ai-sdk-anthropic-4'),
    google: () => import('ai-sdk-google-4'),
    compatible: () => import('ai-sdk-openai-compatible-3'),
  },
};

export const aiSdkClients = (major: Major): readonly Client[] =>
  flavours(PACKAGES[major]).map((flavour) => clientOf(major, flavour));
