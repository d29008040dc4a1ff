import { fireworksImages } from '../dialects/endpoints/images.ts';
import { jinaRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// Datasets, fine-tuning and models are managed at another base, always below an account.
export const fireworksAi: Provider = {
  name: 'fireworks-ai',
  baseUrl: (_options, path) =>
    path.startsWith('/accounts/') ? 'https://api.fireworks.ai/v1' : 'https://api.fireworks.ai/inference/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  endpoints: { rerank: jinaRerank, imageGenerate: fireworksImages },
  authorize: bearer,
  environment: 'FIREWORKS_API_KEY',
};
