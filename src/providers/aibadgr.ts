import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const aibadgr: Provider = {
  name: 'aibadgr',
  baseUrl: 'https://aibadgr.com/api/v1',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'AIBADGR_API_KEY',
};
