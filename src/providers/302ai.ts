import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const ai302: Provider = {
  name: '302ai',
  baseUrl: 'https://api.302.ai/v1',
  dialect: 'openai-chat',
  serves: ['embed', 'imageGenerate', 'createSpeech', 'createTranscription'],
  authorize: bearer,
  environment: 'AI302_API_KEY',
};
