import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const siliconflow: Provider = {
  name: 'siliconflow',
  baseUrl: 'https://api.siliconflow.cn/v1',
  dialect: 'openai-chat',
  authorize: bearer,
  environment: 'SILICONFLOW_API_KEY',
};
