import { header } from './authorize.ts';
import type { Provider } from './provider.ts';

export const segmind: Provider = {
  name: 'segmind',
  baseUrl: 'https://api.segmind.com/v1',
  dialect: 'none',
  authorize: header('x-api-key'),
  environment: 'SEGMIND_API_KEY',
};
