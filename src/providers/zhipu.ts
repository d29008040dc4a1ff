import { jinaRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const zhipu: Provider = {
  name: 'zhipu',
  baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
  dialect: 'openai-chat',
  serves: ['embed', 'imageGenerate'],
  endpoints: { rerank: jinaRerank },
  authorize: bearer,
  environment: 'ZHIPUAI_API_KEY',
};
