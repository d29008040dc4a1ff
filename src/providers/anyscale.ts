import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const anyscale: Provider = {
  name: 'anyscale',
  baseUrl: 'https://api.endpoints.anyscale.com/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: bearer,
  environment: 'ANYSCALE_API_KEY',
};
