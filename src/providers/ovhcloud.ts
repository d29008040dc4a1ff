import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const ovhcloud: Provider = {
  name: 'ovhcloud',
  baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
  dialect: 'openai-chat',
  serves: ['embed', 'createTranscription'],
  authorize: bearer,
  environment: 'OVH_AI_ENDPOINTS_ACCESS_TOKEN',
};
