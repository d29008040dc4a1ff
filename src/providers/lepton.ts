import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const lepton: Provider = {
  name: 'lepton',
  baseUrl: 'https://api.lepton.ai/api/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'createTranscription'],
  authorize: bearer,
  environment: 'LEPTON_API_KEY',
};
