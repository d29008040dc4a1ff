import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const krutrim: Provider = {
  name: 'krutrim',
  baseUrl: 'https://cloud.olakrutrim.com/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'KRUTRIM_API_KEY',
};
