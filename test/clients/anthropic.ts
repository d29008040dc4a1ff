import type Anthropic from '@anthropic-ai/sdk';
import { CITY, type Client, NO_EMBEDDINGS, PERSON } from './client.ts';

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

export const anthropicClients: readonly Client[] = [
  {
    name: '`@anthropic-ai/sdk` 1',
    address: 'baseURL: $GATEWAY',
    key: '`apiKey`',
    without: { embeddings: NO_EMBEDDINGS },
    open: async ({ url, key, model }) => {
      const { default: Client } = await import('@anthropic-ai/sdk');
      const { messages } = new Client({ baseURL: url, apiKey: key });
      const asking = (content: Anthropic.MessageParam['content']) => ({
        ...{ model, max_tokens: 256, messages: [{ role: 'user' as const, content }] },
      });
      return {
        chat: async (text) => textOf(await messages.create(asking(text))),
        stream: async (text) => {
          const said: string[] = [];
          await messages
            .stream(asking(text))
            .on('text', (piece) => said.push(piece))
            .finalMessage();
          return said;
        },
        tools: async (text) => {
          const tools = [{ name: 'get_weather', input_schema: CITY }];
          const { content } = await messages.create({ ...asking(text), tools });
          const call = content.find((block) => block.type === 'tool_use')!;
          return { name: call.name, args: call.input };
        },
        schema: async (text) => {
          const format = { type: 'json_schema' as const, schema: PERSON };
          return JSON.parse(textOf(await messages.create({ ...asking(text), output_config: { format } })));
        },
        image: async (text, data) => {
          const source = { type: 'base64' as const, media_type: 'image/png' as const, data };
          return textOf(
            await messages.create(
              asking([
                { type: 'image', source },
                { type: 'text', text },
              ]),
            ),
          );
        },
      };
    },
  },
];
