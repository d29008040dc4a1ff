import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const sambanova: Provider = {
  name: 'sambanova',
  baseUrl: 'https://api.sambanova.ai/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed', 'createTranscription', 'createTranslation'],
  authorize: bearer,
  environment: 'SAMBANOVA_API_KEY',
};
