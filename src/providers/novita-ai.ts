import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const novitaAi: Provider = {
  name: 'novita-ai',
  baseUrl: 'https://api.novita.ai/openai/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: bearer,
  environment: 'NOVITA_API_KEY',
};
