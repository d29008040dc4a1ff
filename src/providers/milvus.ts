import { bearer, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

export const milvus: Provider = {
  name: 'milvus',
  baseUrl: null,
  dialect: 'none',
  serves: [],
  authorize: optionally(bearer),
};
