import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const togetherAi: Provider = {
  name: 'together-ai',
  baseUrl: 'https://api.together.xyz/v1',
  dialect: 'openai-chat',
  authorize: bearer,
  environment: 'TOGETHER_API_KEY',
};
