import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const dashscope: Provider = {
  name: 'dashscope',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: bearer,
  environment: 'DASHSCOPE_API_KEY',
};
