import { CITY, type Client, PERSON, pieces } from './client.ts';

export const googleClients: readonly Client[] = [
  {
    name: '`@google/genai` 2',
    address: 'httpOptions.baseUrl: $GATEWAY',
    key: '`apiKey`',
    open: async ({ url, key, model, embeddingModel }) => {
      const { GoogleGenAI } = await import('@google/genai');
      const { models } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
      return {
        chat: async (contents) => (await models.generateContent({ model, contents })).text!,
        stream: async (contents) =>
          pieces(await models.generateContentStream({ model, contents }), (chunk) => chunk.text),
        tools: async (contents) => {
          const functionDeclarations = [{ name: 'get_weather', parametersJsonSchema: CITY }];
          const config = { tools: [{ functionDeclarations }] };
          const [call] = (await models.generateContent({ model, contents, config })).functionCalls!;
          return { name: call!.name!, args: call!.args };
        },
        schema: async (contents) => {
          const config = { responseMimeType: 'application/json', responseJsonSchema: PERSON };
          return JSON.parse((await models.generateContent({ model, contents, config })).text!);
        },
        image: async (text, data) => {
          const contents = [{ text }, { inlineData: { mimeType: 'image/png', data } }];
          return (await models.generateContent({ model, contents })).text!;
        },
        embeddings: async (contents) => {
          const { embeddings } = await models.embedContent({ model: embeddingModel, contents: [...contents] });
          return embeddings!.map(({ values }) => values!);
        },
      };
    },
  },
];
