import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const ai21: Provider = {
  name: 'ai21',
  baseUrl: 'https://api.ai21.com/studio/v1',
  dialect: 'openai-chat',
  serves: [],
  endpoints: { complete: 'chat' },
  authorize: bearer,
  environment: 'AI21_API_KEY',
};
