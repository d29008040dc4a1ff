import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const zAi: Provider = {
  name: 'z-ai',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  dialect: 'openai-chat',
  authorize: bearer,
  environment: 'ZAI_API_KEY',
};
