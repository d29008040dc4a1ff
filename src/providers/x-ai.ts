import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const xAi: Provider = {
  name: 'x-ai',
  baseUrl: 'https://api.x.ai/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed', 'imageGenerate', 'realtime'],
  authorize: bearer,
  environment: 'XAI_API_KEY',
};
