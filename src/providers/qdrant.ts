import { header, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

export const qdrant: Provider = {
  name: 'qdrant',
  baseUrl: null,
  dialect: 'none',
  serves: [],
  authorize: optionally(header('api-key')),
};
