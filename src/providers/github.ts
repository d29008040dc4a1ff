import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// GitHub closed its first address, models.inference.ai.azure.com, on 2025-10-17.
// Not GITHUB_TOKEN: build machines set that for other purposes, and it must not become a virtual key by accident.
export const github: Provider = {
  name: 'github',
  baseUrl: 'https://models.github.ai/inference',
  dialect: 'openai-chat',
  serves: ['embed'],
  authorize: bearer,
  environment: 'GITHUB_API_KEY',
};
