import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const ncompass: Provider = {
  name: 'ncompass',
  baseUrl: 'https://api.ncompass.tech/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'NCOMPASS_API_KEY',
};
