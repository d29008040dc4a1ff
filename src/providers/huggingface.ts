import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// The router serves every model behind one base; the per-model hosts before it are gone for chat.
export const huggingface: Provider = {
  name: 'huggingface',
  baseUrl: 'https://router.huggingface.co/v1',
  dialect: 'openai-chat',
  serves: [],
  endpoints: { complete: 'chat' },
  authorize: bearer,
  environment: 'HF_TOKEN',
};
