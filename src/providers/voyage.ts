import { voyageEmbed, voyageRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const voyage: Provider = {
  name: 'voyage',
  baseUrl: 'https://api.voyageai.com/v1',
  dialect: 'none',
  serves: [],
  endpoints: { embed: voyageEmbed, rerank: voyageRerank },
  authorize: bearer,
  environment: 'VOYAGE_API_KEY',
};
