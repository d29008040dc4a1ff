import { none } from './authorize.ts';
import type { Provider } from './provider.ts';

// The address is never dialled: this provider answers inside the process.
export const simulator: Provider = {
  name: 'simulator',
  baseUrl: 'http://simulator.invalid/v1',
  dialect: 'openai-chat',
  serves: ['complete', 'embed'],
  authorize: none,
  inProcess: true,
};
