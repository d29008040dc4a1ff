import { hyperbolicImages } from '../dialects/endpoints/images.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const hyperbolic: Provider = {
  name: 'hyperbolic',
  baseUrl: 'https://api.hyperbolic.xyz/v1',
  dialect: 'openai-chat',
  serves: ['complete'],
  endpoints: { imageGenerate: hyperbolicImages },
  authorize: bearer,
  environment: 'HYPERBOLIC_API_KEY',
};
