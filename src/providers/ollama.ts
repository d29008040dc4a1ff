import { bearer, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

// A custom host that ends in /v1 reaches its OpenAI-shaped routes, one without reaches /api.
export const ollama: Provider = {
  name: 'ollama',
  baseUrl: null,
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: optionally(bearer),
};
