import { anthropicModels } from '../dialects/endpoints/models.ts';
import { header, withOptionHeaders } from './authorize.ts';
import type { Provider } from './provider.ts';

export const anthropic: Provider = {
  name: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  dialect: 'anthropic',
  serves: ['messages', 'countTokens'],
  endpoints: { complete: 'chat' },
  models: anthropicModels,
  authorize: withOptionHeaders(header('x-api-key'), {
    'anthropic-version': 'anthropic_version',
    'anthropic-beta': 'anthropic_beta',
  }),
  headers: { 'anthropic-version': '2023-06-01' },
  environment: 'ANTHROPIC_API_KEY',
  options: ['anthropic_version', 'anthropic_beta'],
  takesSubscriptions: true,
};
