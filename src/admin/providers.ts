import * as z from 'zod';
import type { Integrations } from '../auth/integrations.ts';
import { fail } from '../core/errors.ts';
import { pageQuery } from '../core/paging.ts';
import { schemaOf } from '../core/schema.ts';
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
const listQuery = () =>
  pageQuery()
    .partial()
    .extend({
      workspace_id: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Lists virtual keys of this workspace in their place, in the form of GET /v1/providers/{provider}, which needs virtual_keys.list.',
        ),
    });

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

export const providerRoutes = ({ providers }: Integrations): Route[] => [
  get(
    '/v1/providers',
    { scopes: ['models.list'], summary: 'Providers the gateway can call', query: listQuery, response: list },
    ({ principal, query: { workspace_id, ...pages } }) => {
      if (workspace_id === undefined) return { object: 'list', data: shown };
      if (!principal.scopes.has('virtual_keys.list')) fail('insufficient_scope', 'virtual_keys.list');
      return providers.list(principal, { ...schemaOf(pageQuery).parse({}), ...pages, workspace_id });
    },
  ),
];
