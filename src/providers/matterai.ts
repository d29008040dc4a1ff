import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const matterai: Provider = {
  name: 'matterai',
  baseUrl: 'https://api.matterai.so/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'MATTERAI_API_KEY',
};
