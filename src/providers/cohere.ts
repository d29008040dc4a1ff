import { cohereEmbed, cohereRerank } from '../dialects/endpoints/cohere.ts';
import { cohereModels } from '../dialects/endpoints/models.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

// Datasets and embed jobs exist only in the first version; a client asks for it by name: /v1/datasets.
export const cohere: Provider = {
  name: 'cohere',
  baseUrl: (_options, path) => `https://api.cohere.com/${path.startsWith('/v1/') ? 'v1' : 'v2'}`,
  dialect: 'cohere',
  serves: [],
  endpoints: { complete: 'chat', embed: cohereEmbed, rerank: cohereRerank },
  models: cohereModels,
  authorize: bearer,
  environment: 'COHERE_API_KEY',
};
