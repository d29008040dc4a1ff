import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const moonshot: Provider = {
  name: 'moonshot',
  baseUrl: 'https://api.moonshot.cn/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'MOONSHOT_API_KEY',
};
