import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const klusterAi: Provider = {
  name: 'kluster-ai',
  baseUrl: 'https://api.kluster.ai/v1',
  dialect: 'openai-chat',
  serves: ['embed'],
  authorize: bearer,
  environment: 'KLUSTER_API_KEY',
};
