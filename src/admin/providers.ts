import * as z from 'zod';
import { secretOptionNames } from '../core/secret-names.ts';
import { get, type Route } from '../http/route.ts';
import { OPTION_TEXTS } from '../providers/option-texts.ts';
import { providers } from '../providers/registry.ts';

const provider = () =>
  z.object({
    name: z.string(),
    object: z.literal('provider'),
    base_url: z.string().nullable().describe('Null where it depends on the virtual key.'),
    environment_variable: z.string().nullable(),
    configurations: z.array(z.string()),
    options: z
      .array(z.object({ name: z.string(), description: z.string(), is_secret: z.boolean() }))
      .describe('The configurations, with what they are.'),
  });
const list = () => z.object({ object: z.literal('list'), data: z.array(provider()) });

const shown = providers.map(({ name, baseUrl, environment, options = [] }) => ({
  name,
  object: 'provider' as const,
  base_url: typeof baseUrl === 'string' ? baseUrl : null,
  environment_variable: environment ?? null,
  configurations: [...options],
  options: options.map((option) => ({
    name: option,
    description: OPTION_TEXTS[option] ?? '',
    is_secret: secretOptionNames.has(option),
  })),
}));

export const providerRoutes = (): Route[] => [
  get('/v1/providers', { scopes: ['models.list'], summary: 'Providers the gateway can call', response: list }, () => ({
    object: 'list',
    data: shown,
  })),
];
