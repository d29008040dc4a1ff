import { jinaEmbed, jinaRerank } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const jina: Provider = {
  name: 'jina',
  baseUrl: 'https://api.jina.ai/v1',
  dialect: 'none',
  serves: [],
  endpoints: { embed: jinaEmbed, rerank: jinaRerank },
  authorize: bearer,
  environment: 'JINA_API_KEY',
};
