import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type Actions, CITY, type Client, NO_EMBEDDINGS, PERSON, pieces } from './client.ts';

const WEATHER = { name: 'get_weather', description: 'The weather of a city.', schema: CITY };

/** What every chat model of LangChain does in the same words. */
async function chatActions(chat: BaseChatModel): Promise<Actions> {
  const { HumanMessage } = await import('@langchain/core/messages');
  return {
    chat: async (text) => (await chat.invoke(text)).text,
    stream: async (text) => pieces(await chat.stream(text), (chunk) => chunk.text),
    tools: async (text) => {
      const { tool_calls } = (await chat.bindTools!([WEATHER]).invoke(text)) as unknown as {
        tool_calls: { name: string; args: unknown }[];
      };
      const { name, args } = tool_calls[0]!;
      return { name, args };
    },
    schema: (text) => chat.withStructuredOutput({ title: 'person', ...PERSON }).invoke(text),
    image: async (text, picture) => {
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } };
      return (await chat.invoke([new HumanMessage({ content: [{ type: 'text', text }, image] })])).text;
    },
  };
}

export const langchainClients: readonly Client[] = [
  {
    name: '`@langchain/openai` 1',
    address: 'configuration.baseURL: $GATEWAY/v1',
    key: '`apiKey`',
    open: async ({ url, key, model, embeddingModel }) => {
      const { ChatOpenAI, OpenAIEmbeddings } = await import('@langchain/openai');
      const configuration = { baseURL: `${url}/v1` };
      const vectors = new OpenAIEmbeddings({ model: embeddingModel, apiKey: key, configuration });
      return {
        ...(await chatActions(new ChatOpenAI({ model, apiKey: key, configuration }) as unknown as BaseChatModel)),
        embeddings: (texts) => vectors.embedDocuments([...texts]),
      };
    },
  },
  {
    name: '`@langchain/anthropic` 1',
    address: 'anthropicApiUrl: $GATEWAY',
    key: '`apiKey`',
    without: { embeddings: NO_EMBEDDINGS },
    open: async ({ url, key, model }) => {
      const { ChatAnthropic } = await import('@langchain/anthropic');
      return chatActions(new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: url }) as unknown as BaseChatModel);
    },
  },
  {
    name: '`@langchain/google-genai` 2',
    address: 'baseUrl: $GATEWAY',
    key: '`apiKey`',
    refuses: [
      {
        on: ['openai', 'anthropic'],
        ability: 'image',
        why: 'The package refuses by itself to send pictures to models that are not called `gemini-…`.',
        says: 'This model does not support images',
      },
      {
        on: ['anthropic'],
        ability: 'embeddings',
        why: 'Anthropic has no embeddings. The package hides that it was refused, and gives empty vectors.',
        says: 'a vector is empty',
      },
    ],
    open: async ({ url, key, model, embeddingModel }) => {
      const { ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings } = await import('@langchain/google-genai');
      const place = { apiKey: key, baseUrl: url };
      const vectors = new GoogleGenerativeAIEmbeddings({ model: embeddingModel, ...place });
      return {
        ...(await chatActions(new ChatGoogleGenerativeAI({ model, ...place }) as unknown as BaseChatModel)),
        embeddings: (texts) => vectors.embedDocuments([...texts]),
      };
    },
  },
];
