import { mistralModerate } from '../dialects/endpoints/moderation.ts';
import { mistralEmbed } from '../dialects/endpoints/vectors.ts';
import { bearer } from './authorize.ts';
import type { Provider } from './provider.ts';

export const mistralAi: Provider = {
  name: 'mistral-ai',
  baseUrl: 'https://api.mistral.ai/v1',
  dialect: 'openai-chat',
  // Seen in 2025: 422 for `stream_options.include_usage`. Its streams tell their usage unasked.
  quirks: { refusesStreamOptions: true },
  serves: ['createTranscription'],
  endpoints: { embed: mistralEmbed, moderate: mistralModerate },
  authorize: bearer,
  environment: 'MISTRAL_API_KEY',
};
