import { stabilityImages } from '../dialects/endpoints/stability.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// Two versions live side by side, so the client names one: /v1/generation/…, /v2beta/stable-image/….
export const stabilityAi: Provider = {
  name: 'stability-ai',
  baseUrl: 'https://api.stability.ai',
  dialect: 'none',
  serves: [],
  endpoints: { imageGenerate: stabilityImages },
  authorize: bearer,
  environment: 'STABILITY_API_KEY',
};
