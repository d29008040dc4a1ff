import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const replicate: Provider = {
  name: 'replicate',
  baseUrl: 'https://api.replicate.com/v1',
  dialect: 'none',
  serves: [],
  authorize: bearer,
  environment: 'REPLICATE_API_TOKEN',
};
