import { bearer, optionally } from './authorize.ts';
import type { Provider } from './provider.ts';

export const modal: Provider = {
  name: 'modal',
  baseUrl: null,
  dialect: 'openai-chat',
  authorize: optionally(bearer),
};
