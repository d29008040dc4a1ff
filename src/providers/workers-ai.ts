import { workersImages } from '../dialects/endpoints/images.ts';
import { workersModels } from '../dialects/endpoints/models.ts';
import { bearer } from './authorize.ts';
import { label, required } from './options.ts';
import type { Provider } from './provider.ts';

// Every model also has a route of its own, /run/@cf/…, beside the OpenAI-shaped ones; the list of models has none there.
export const workersAi: Provider = {
  name: 'workers-ai',
  baseUrl: (options, path) => {
    const account = required('workers-ai', options, 'workers_ai_account_id', label);
    const base = `https://api.cloudflare.com/client/v4/accounts/${account}/ai`;
    return /^\/(?:run|models\/search)(?:\/|$)/.test(path) ? base : `${base}/v1`;
  },
  dialect: 'openai-chat',
  serves: ['embed'],
  endpoints: { complete: 'chat', imageGenerate: workersImages },
  models: workersModels,
  ownNames: /^@(?:cf|hf)\/[^@]/,
  authorize: bearer,
  options: ['workers_ai_account_id'],
};
