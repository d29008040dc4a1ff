import { bearer, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

export const triton: Provider = {
  name: 'triton',
  baseUrl: null,
  dialect: 'none',
  authorize: optionally(bearer),
};
