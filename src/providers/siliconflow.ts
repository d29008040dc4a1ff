import { siliconflowImages } from '../dialects/endpoints/images.ts';
import { jinaRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const siliconflow: Provider = {
  name: 'siliconflow',
  baseUrl: 'https://api.siliconflow.cn/v1',
  dialect: 'openai-chat',
  serves: ['embed', 'createSpeech', 'createTranscription'],
  endpoints: { rerank: jinaRerank, imageGenerate: siliconflowImages },
  authorize: bearer,
  environment: 'SILICONFLOW_API_KEY',
};
