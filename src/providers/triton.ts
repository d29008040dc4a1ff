import { tritonComplete } from '../dialects/endpoints/triton.ts';
import { bearer, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

export const triton: Provider = {
  name: 'triton',
  baseUrl: null,
  dialect: 'none',
  serves: [],
  endpoints: { complete: tritonComplete },
  authorize: optionally(bearer),
};
