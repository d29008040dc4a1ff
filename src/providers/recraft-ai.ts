import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const recraftAi: Provider = {
  name: 'recraft-ai',
  baseUrl: 'https://external.api.recraft.ai/v1',
  dialect: 'none',
  serves: ['imageGenerate'],
  authorize: bearer,
  environment: 'RECRAFT_API_KEY',
};
