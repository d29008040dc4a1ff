import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const cometapi: Provider = {
  name: 'cometapi',
  baseUrl: 'https://api.cometapi.com/v1',
  dialect: 'openai-chat',
  serves: ['embed', 'imageGenerate', 'createSpeech', 'createTranscription'],
  authorize: bearer,
  environment: 'COMETAPI_API_KEY',
};
