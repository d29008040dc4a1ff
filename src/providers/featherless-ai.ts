import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const featherlessAi: Provider = {
  name: 'featherless-ai',
  baseUrl: 'https://api.featherless.ai/v1',
  dialect: 'openai-chat',
  serves: ['complete'],
  authorize: bearer,
  environment: 'FEATHERLESS_API_KEY',
};
