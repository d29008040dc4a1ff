import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const hyperbolic: Provider = {
  name: 'hyperbolic',
  baseUrl: 'https://api.hyperbolic.xyz/v1',
  dialect: 'openai-chat',
  authorize: bearer,
  environment: 'HYPERBOLIC_API_KEY',
};
