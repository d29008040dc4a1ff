import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const nscale: Provider = {
  name: 'nscale',
  baseUrl: 'https://inference.api.nscale.com/v1',
  dialect: 'openai-chat',
  serves: ['imageGenerate'],
  authorize: bearer,
  environment: 'NSCALE_API_KEY',
};
