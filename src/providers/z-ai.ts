import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const zAi: Provider = {
  name: 'z-ai',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  dialect: 'openai-chat',
  serves: ['imageGenerate'],
  authorize: bearer,
  environment: 'ZAI_API_KEY',
};
