import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const nebius: Provider = {
  name: 'nebius',
  baseUrl: 'https://api.studio.nebius.ai/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: bearer,
  environment: 'NEBIUS_API_KEY',
};
