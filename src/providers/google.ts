import { geminiEmbed, geminiImages } from '../dialects/endpoints/google.ts';
import { geminiModels } from '../dialects/endpoints/models.ts';
import { header } from './authorize.ts';
import type { Provider } from './provider.ts';

const ORIGIN = 'https://generativelanguage.googleapis.com';

// The key also fits into the query, where it would end up in logs; the header does the same.
export const google: Provider = {
  name: 'google',
  baseUrl: (_options, path) => {
    if (path.startsWith('/upload/') || path.startsWith('/ws/')) return ORIGIN;
    return `${ORIGIN}/${/^\/(v1|v1alpha)\//.exec(path)?.[1] ?? 'v1beta'}`;
  },
  dialect: 'gemini',
  serves: [],
  endpoints: { embed: geminiEmbed, imageGenerate: geminiImages },
  models: geminiModels,
  authorize: header('x-goog-api-key'),
  environment: 'GEMINI_API_KEY',
};
