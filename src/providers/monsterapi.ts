import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const monsterapi: Provider = {
  name: 'monsterapi',
  baseUrl: 'https://llm.monsterapi.ai/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'MONSTERAPI_API_KEY',
};
