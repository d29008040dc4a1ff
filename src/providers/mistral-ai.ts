import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const mistralAi: Provider = {
  name: 'mistral-ai',
  baseUrl: 'https://api.mistral.ai/v1',
  dialect: 'openai-chat',
  authorize: bearer,
  environment: 'MISTRAL_API_KEY',
};
