import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const cerebras: Provider = {
  name: 'cerebras',
  baseUrl: 'https://api.cerebras.ai/v1',
  dialect: 'openai-chat',
  serves: ['complete'],
  authorize: bearer,
  environment: 'CEREBRAS_API_KEY',
};
