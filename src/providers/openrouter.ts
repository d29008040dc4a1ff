import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const openrouter: Provider = {
  name: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  ownNames: /^openrouter\//,
  authorize: bearer,
  environment: 'OPENROUTER_API_KEY',
};
