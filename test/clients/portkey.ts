import type OpenAI from 'openai';
import type { Client } from './client.ts';
import { chatActions } from './openai.ts';

export const portkeyClients: readonly Client[] = [
  {
    name: '`portkey-ai` 3',
    address: 'baseURL: $GATEWAY/v1',
    key: '`apiKey`, with `GATEWAY_HEADER_ALIASES=x-portkey-` at the gateway',
    open: async (place) => {
      const { Portkey } = await import('portkey-ai');
      const portkey = new Portkey({ baseURL: `${place.url}/v1`, apiKey: place.key });
      return chatActions(portkey as unknown as OpenAI, place);
    },
  },
];
