import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const tripo3d: Provider = {
  name: 'tripo3d',
  baseUrl: 'https://api.tripo3d.ai/v2/openapi',
  dialect: 'none',
  serves: [],
  authorize: bearer,
  environment: 'TRIPO_API_KEY',
};
