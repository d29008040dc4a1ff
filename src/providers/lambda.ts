import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const lambda: Provider = {
  name: 'lambda',
  baseUrl: 'https://api.lambdalabs.com/v1',
  dialect: 'openai-chat',
  serves: ['complete'],
  authorize: bearer,
  environment: 'LAMBDA_API_KEY',
};
