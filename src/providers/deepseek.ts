import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const deepseek: Provider = {
  name: 'deepseek',
  baseUrl: 'https://api.deepseek.com/v1',
  dialect: 'openai-chat',
  serves: [],
  // Its API says of `json_schema` that this type is unavailable.
  quirks: { lacksSchemas: true },
  authorize: bearer,
  environment: 'DEEPSEEK_API_KEY',
};
