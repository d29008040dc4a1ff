import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const voyage: Provider = {
  name: 'voyage',
  baseUrl: 'https://api.voyageai.com/v1',
  dialect: 'none',
  authorize: bearer,
  environment: 'VOYAGE_API_KEY',
};
