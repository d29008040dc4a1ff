import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const lemonfoxAi: Provider = {
  name: 'lemonfox-ai',
  baseUrl: 'https://api.lemonfox.ai/v1',
  dialect: 'openai-chat',
  serves: ['imageGenerate', 'createSpeech', 'createTranscription'],
  authorize: bearer,
  environment: 'LEMONFOX_API_KEY',
};
