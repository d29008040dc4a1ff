import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const deepbricks: Provider = {
  name: 'deepbricks',
  baseUrl: 'https://api.deepbricks.ai/v1',
  dialect: 'openai-chat',
  serves: ['imageGenerate'],
  authorize: bearer,
  environment: 'DEEPBRICKS_API_KEY',
};
