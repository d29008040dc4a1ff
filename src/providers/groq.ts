import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const groq: Provider = {
  name: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  dialect: 'openai-chat',
  serves: ['createSpeech', 'createTranscription', 'createTranslation'],
  ownNames: /^groq\/compound/,
  authorize: bearer,
  environment: 'GROQ_API_KEY',
};
