import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const iointelligence: Provider = {
  name: 'iointelligence',
  baseUrl: 'https://api.intelligence.io.solutions/api/v1',
  dialect: 'openai-chat',
  serves: ['embed'],
  authorize: bearer,
  environment: 'IOINTELLIGENCE_API_KEY',
};
