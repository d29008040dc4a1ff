import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const bytez: Provider = {
  name: 'bytez',
  baseUrl: 'https://api.bytez.com/models/v2/openai/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'BYTEZ_API_KEY',
};
