import { segmindImages } from '../dialects/endpoints/images.ts';
import { header } from './authorize.ts';
import type { Provider } from './provider.ts';

export const segmind: Provider = {
  name: 'segmind',
  baseUrl: 'https://api.segmind.com/v1',
  dialect: 'none',
  serves: [],
  endpoints: { imageGenerate: segmindImages },
  authorize: header('x-api-key'),
  environment: 'SEGMIND_API_KEY',
};
