import { header } from './authorize.ts';
import type { Provider } from './provider.ts';

export const palm: Provider = {
  name: 'palm',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta3',
  dialect: 'none',
  serves: [],
  authorize: header('x-goog-api-key'),
  environment: 'PALM_API_KEY',
};
