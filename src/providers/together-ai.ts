import { togetherImages } from '../dialects/endpoints/images.ts';
import { bareModels } from '../dialects/endpoints/models.ts';
import { jinaRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const togetherAi: Provider = {
  name: 'together-ai',
  baseUrl: 'https://api.together.xyz/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed', 'createSpeech', 'createTranscription', 'createTranslation'],
  endpoints: { rerank: jinaRerank, imageGenerate: togetherImages },
  models: bareModels,
  authorize: bearer,
  environment: 'TOGETHER_API_KEY',
};
