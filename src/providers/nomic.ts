import { nomicEmbed } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const nomic: Provider = {
  name: 'nomic',
  baseUrl: 'https://api-atlas.nomic.ai/v1',
  dialect: 'none',
  serves: [],
  endpoints: { embed: nomicEmbed },
  authorize: bearer,
  environment: 'NOMIC_API_KEY',
};
