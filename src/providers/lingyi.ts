import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const lingyi: Provider = {
  name: 'lingyi',
  baseUrl: 'https://api.lingyiwanwu.com/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'LINGYI_API_KEY',
};
