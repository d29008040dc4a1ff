import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const inferenceNet: Provider = {
  name: 'inference-net',
  baseUrl: 'https://api.inference.net/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: bearer,
  environment: 'INFERENCE_NET_API_KEY',
};
