import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const nomic: Provider = {
  name: 'nomic',
  baseUrl: 'https://api-atlas.nomic.ai/v1',
  dialect: 'none',
  authorize: bearer,
  environment: 'NOMIC_API_KEY',
};
