import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const perplexityAi: Provider = {
  name: 'perplexity-ai',
  baseUrl: 'https://api.perplexity.ai',
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  environment: 'PERPLEXITY_API_KEY',
};
