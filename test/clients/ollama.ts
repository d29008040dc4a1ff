import { CITY, type Client, PERSON, pieces } from './client.ts';

const said = (content: string) => [{ role: 'user', content }];

export const ollamaClients: readonly Client[] = [
  {
    name: '`ollama` 0.6',
    address: 'host: $GATEWAY',
    key: "`headers: { Authorization: 'Bearer …' }`",
    open: async ({ url, key, model, embeddingModel }) => {
      const { Ollama } = await import('ollama');
      const ollama = new Ollama({ host: url, headers: { Authorization: `Bearer ${key}` } });
      return {
        chat: async (text) => (await ollama.chat({ model, messages: said(text) })).message.content,
        stream: async (text) =>
          pieces(await ollama.chat({ model, messages: said(text), stream: true }), ({ message }) => message.content),
        tools: async (text) => {
          const definition = { name: 'get_weather', description: 'The weather of a city.', parameters: CITY };
          const tools = [{ type: 'function', function: definition }];
          const { message } = await ollama.chat({ model, messages: said(text), tools });
          const { name, arguments: args } = message.tool_calls![0]!.function;
          return { name, args };
        },
        schema: async (text) =>
          JSON.parse((await ollama.chat({ model, messages: said(text), format: PERSON })).message.content),
        image: async (text, picture) => {
          const messages = [{ role: 'user', content: text, images: [picture] }];
          return (await ollama.chat({ model, messages })).message.content;
        },
        embeddings: async (input) => (await ollama.embed({ model: embeddingModel, input: [...input] })).embeddings,
      };
    },
  },
];
