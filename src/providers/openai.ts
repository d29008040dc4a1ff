import { openaiCountTokens } from '../dialects/endpoints/openai-count.ts';
import { bearer, withOptionHeaders } from './authorize.ts';
import type { Provider } from './provider.ts';

export const openai: Provider = {
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  dialect: 'openai-chat',
  serves: [
    'complete',
    'embed',
    'moderate',
    'imageGenerate',
    'imageEdit',
    'imageVariation',
    'createSpeech',
    'createTranscription',
    'createTranslation',
    'createModelResponse',
    'realtime',
  ],
  endpoints: { countTokens: openaiCountTokens },
  authorize: withOptionHeaders(bearer, {
    'openai-organization': 'openai_organization',
    'openai-project': 'openai_project',
  }),
  environment: 'OPENAI_API_KEY',
  options: ['openai_organization', 'openai_project'],
  takesSubscriptions: true,
};
