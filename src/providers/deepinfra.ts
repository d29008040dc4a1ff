import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const deepinfra: Provider = {
  name: 'deepinfra',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  dialect: 'openai-chat',
  serves: ['complete', 'embed', 'imageGenerate', 'createSpeech', 'createTranscription', 'createTranslation'],
  authorize: bearer,
  environment: 'DEEPINFRA_API_KEY',
};
