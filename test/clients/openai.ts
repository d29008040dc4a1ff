import type OpenAI from 'openai';
import { type Actions, CITY, type Client, PERSON, type Place, pieces } from './client.ts';

type Package = typeof import('openai');

const open = {
  4: () => import('openai-4'),
  5: () => import('openai-5'),
  6: () => import('openai'),
  7: () => import('openai-7'),
};
/** The members that are used here are the same in all majors. */
const load = async (major: keyof typeof open) => (await open[major]()) as unknown as Package;

const dataUrl = (picture: string) => `data:image/png;base64,${picture}`;
const said = (content: string) => [{ role: 'user' as const, content }];

export function chatActions(
  openai: OpenAI,
  { model, embeddingModel }: Pick<Place, 'model' | 'embeddingModel'>,
): Actions {
  const { completions } = openai.chat;
  return {
    chat: async (text) => (await completions.create({ model, messages: said(text) })).choices[0]!.message.content!,
    stream: async (text) =>
      pieces(
        await completions.create({ model, messages: said(text), stream: true }),
        (chunk) => chunk.choices[0]?.delta.content,
      ),
    tools: async (text) => {
      const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: CITY } }];
      const { choices } = await completions.create({ model, messages: said(text), tools });
      const [call] = choices[0]!.message.tool_calls!;
      const { name, arguments: args } = (call as OpenAI.Chat.ChatCompletionMessageFunctionToolCall).function;
      return { name, args: JSON.parse(args) };
    },
    schema: async (text) => {
      const json_schema = { name: 'person', schema: PERSON, strict: true };
      const response_format = { type: 'json_schema' as const, json_schema };
      const { choices } = await completions.create({ model, messages: said(text), response_format });
      return JSON.parse(choices[0]!.message.content!);
    },
    image: async (text, picture) => {
      const image = { type: 'image_url' as const, image_url: { url: dataUrl(picture) } };
      const content = [{ type: 'text' as const, text }, image];
      return (await completions.create({ model, messages: [{ role: 'user', content }] })).choices[0]!.message.content!;
    },
    embeddings: async (texts) => {
      const { data } = await openai.embeddings.create({ model: embeddingModel, input: [...texts] });
      return data.map(({ embedding }) => embedding);
    },
  };
}

function responseActions(openai: OpenAI, { model }: Place): Actions {
  const { responses } = openai;
  return {
    chat: async (input) => (await responses.create({ model, input })).output_text,
    stream: async (input) =>
      pieces(await responses.create({ model, input, stream: true }), (event) =>
        event.type === 'response.output_text.delta' ? event.delta : null,
      ),
    tools: async (input) => {
      const tools = [{ type: 'function' as const, name: 'get_weather', parameters: CITY, strict: false }];
      const { output } = await responses.create({ model, input, tools });
      const call = output.find((item) => item.type === 'function_call')!;
      return { name: call.name, args: JSON.parse(call.arguments) };
    },
    schema: async (input) => {
      const format = { type: 'json_schema' as const, name: 'person', schema: PERSON, strict: true };
      return JSON.parse((await responses.create({ model, input, text: { format } })).output_text);
    },
    image: async (text, picture) => {
      const image = { type: 'input_image' as const, image_url: dataUrl(picture), detail: 'auto' as const };
      const content = [{ type: 'input_text' as const, text }, image];
      return (await responses.create({ model, input: [{ role: 'user', content }] })).output_text;
    },
  };
}

const ADDRESS = 'baseURL: $GATEWAY/v1';

const chatClient = (major: keyof typeof open): Client => ({
  name: `\`openai\` ${major}`,
  address: ADDRESS,
  key: '`apiKey`',
  open: async (place) => {
    const { default: Client } = await load(major);
    return chatActions(new Client({ baseURL: `${place.url}/v1`, apiKey: place.key }), place);
  },
});

const responsesClient = (major: 6 | 7): Client => ({
  name: `\`openai\` ${major}, \`responses\``,
  address: ADDRESS,
  key: '`apiKey`',
  without: { embeddings: 'Embeddings are an API of their own, in the row of the same package.' },
  open: async (place) => {
    const { default: Client } = await load(major);
    return responseActions(new Client({ baseURL: `${place.url}/v1`, apiKey: place.key }), place);
  },
});

const azureClient = (major: 6 | 7): Client => ({
  name: `\`AzureOpenAI\` of \`openai\` ${major}`,
  address: 'endpoint: $GATEWAY',
  key: '`apiKey`',
  open: async (place) => {
    const { AzureOpenAI } = await load(major);
    const azure = new AzureOpenAI({ endpoint: place.url, apiKey: place.key, apiVersion: '2024-10-21' });
    return chatActions(azure as unknown as OpenAI, place);
  },
});

export const openaiClients: readonly Client[] = [
  chatClient(4),
  chatClient(5),
  chatClient(6),
  chatClient(7),
  responsesClient(6),
  responsesClient(7),
  azureClient(6),
  azureClient(7),
];
