import { bearer, header } from './authorize.ts';
import type { Provider } from './provider.ts';

const ownHeader = header('x-api-key');

export const rekaAi: Provider = {
  name: 'reka-ai',
  baseUrl: 'https://api.reka.ai/v1',
  dialect: 'openai-chat',
  serves: [],
  // Its OpenAI-shaped routes read a bearer token, its own older ones x-api-key.
  authorize: (call) => {
    bearer(call);
    ownHeader(call);
  },
  environment: 'REKA_API_KEY',
};
