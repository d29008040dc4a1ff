import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// Endpoints name their own version: /openapi/v2/text-to-3d, /openapi/v1/image-to-3d.
export const meshy: Provider = {
  name: 'meshy',
  baseUrl: 'https://api.meshy.ai',
  dialect: 'none',
  serves: [],
  authorize: bearer,
  environment: 'MESHY_API_KEY',
};
