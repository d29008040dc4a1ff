import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const upstage: Provider = {
  name: 'upstage',
  baseUrl: 'https://api.upstage.ai/v1/solar',
  dialect: 'openai-chat',
  serves: ['embed'],
  authorize: bearer,
  environment: 'UPSTAGE_API_KEY',
};
