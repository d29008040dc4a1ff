import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const nextbit: Provider = {
  name: 'nextbit',
  baseUrl: 'https://api.nextbit256.com/v1',
  dialect: 'openai-chat',
  serves: ['complete'],
  authorize: bearer,
  environment: 'NEXTBIT_API_KEY',
};
