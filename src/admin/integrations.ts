import * as z from 'zod';
import type { Integrations } from '../auth/integrations.ts';
import { fail } from '../core/errors.ts';
import { rateLimits, usageLimit } from '../core/limits.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { schemaOf } from '../core/schema.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { type CallAt, del, get, post, put, type Route } from '../http/route.ts';
import { expiry, limits, resetUsage, shownLimits } from './schemas.ts';

/** What Portkey's clients call integrations and providers, over virtual keys; see docs/terraform.md. */

const noMappings = () =>
  z
    .array(z.unknown())
    .max(0, 'names secret references, which this gateway does not keep; give the credential itself in key')
    .optional();

const create = () =>
  z.strictObject({
    name: name(),
    slug: slug().optional(),
    ai_provider_id: z.string().min(1).describe('One of GET /v1/providers.'),
    key: z
      .string()
      .max(16_384)
      .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$/, 'holds control characters')
      .optional()
      .describe('The provider credential. It is sealed and never shown again.'),
    description: note().optional(),
    workspace_id: z
      .string()
      .min(1)
      .optional()
      .describe('Left out by a key of the organisation: the workspace default.'),
    configurations: z
      .record(z.string(), z.unknown(), { error: 'give an object' })
      .optional()
      .describe('Those of a virtual key, and its custom_host.'),
    secret_mappings: noMappings(),
    create_default_provider: z
      .literal(true, { error: 'an integration can always be used in its own workspace; give true, or leave it out' })
      .optional(),
  });
const update = () =>
  create().omit({ slug: true, workspace_id: true, ai_provider_id: true, create_default_provider: true }).partial();

const integration = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('integration'),
      slug: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      ai_provider_id: z.string(),
      organisation_id: z.string(),
      type: z.enum(['organisation', 'workspace']).describe('organisation: it is in the workspace default.'),
      workspace_id: z.string().nullable().describe('null: it is of the type organisation.'),
      status: z.enum(['active', 'archived']).describe('archived: it has ended.'),
      masked_key: z.string(),
      configurations: z.record(z.string(), z.unknown()).describe('Secrets are masked.'),
      secret_mappings: z.array(z.unknown()),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Integration' });

const listQuery = () =>
  pageQuery().extend({
    workspace_id: z.string().min(1).optional(),
    type: z.enum(['workspace', 'organisation', 'all'], { error: 'give workspace, organisation or all' }).optional(),
  });

const accesses = () =>
  z.strictObject({
    workspaces: z
      .array(
        z.strictObject({
          id: z.string().min(1).describe('Id or slug of a workspace.'),
          enabled: z.boolean({ error: 'give true or false' }),
          usage_limits: z.array(schemaOf(usageLimit)).max(10).optional(),
          rate_limits: schemaOf(rateLimits).optional(),
          ...resetUsage(),
        }),
        { error: 'give a list of {"id": …, "enabled": …}' },
      )
      .min(1, 'give at least one')
      .max(100, 'give at most 100')
      .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, 'names a workspace twice'),
    global_workspace_access: z
      .null('cannot be given for all workspaces at once; name each in workspaces')
      .optional()
      .describe('Workspaces are named one by one.'),
    override_existing_workspace_access: z.literal(false, 'cannot be set; name each workspace').optional(),
    create_default_provider: z
      .literal(true, {
        error: 'a workspace that is let in can use the integration by its name; give true, or leave it out',
      })
      .optional(),
  });
const access = () =>
  z.object({
    id: z.string().describe('The slug of the workspace.'),
    workspace_id: z.string(),
    enabled: z.boolean(),
    usage_limits: z.array(schemaOf(usageLimit)),
    rate_limits: schemaOf(rateLimits),
  });
const accessList = () =>
  z.object({ object: z.literal('list'), total: z.number().int(), workspaces: z.array(access()) });

/** In US cents per token. */
const tokenPrice = () => z.strictObject({ price: z.number({ error: 'give US cents per token' }).min(0) });
const pricing = () =>
  z.strictObject({
    type: z.literal('static', { error: 'give "static"' }),
    pay_as_you_go: z
      .strictObject({ request_token: tokenPrice().optional(), response_token: tokenPrice().optional() })
      .optional(),
  });
const MOST_MODELS = 500;
const models = () =>
  z.strictObject({
    allow_all_models: z
      .literal(true, {
        error: 'an integration lets every model through; say in models of an API key which ones the key may call',
      })
      .optional(),
    models: z
      .array(
        z.strictObject({
          slug: z.string().min(1).max(256),
          enabled: z.boolean({ error: 'give true or false' }),
          is_custom: z.boolean().optional(),
          is_finetune: z
            .literal(false, {
              error: 'is not kept; a fine-tuned model is called by its name and priced by pricing_config',
            })
            .optional(),
          base_model_slug: z.literal('', { error: 'is not kept; give the price of the model itself' }).optional(),
          pricing_config: pricing().optional(),
        }),
      )
      .max(MOST_MODELS, `give at most ${MOST_MODELS}`),
  });
const model = () =>
  z.object({
    slug: z.string(),
    enabled: z.literal(true),
    is_custom: z.boolean().describe('No list of prices has it.'),
    is_finetune: z.literal(false),
    pricing_config: z
      .object({
        type: z.literal('static'),
        pay_as_you_go: z.object({
          request_token: z.object({ price: z.number() }).optional(),
          response_token: z.object({ price: z.number() }).optional(),
        }),
      })
      .describe('US cents per token.'),
  });
const modelList = () =>
  z.object({ object: z.literal('list'), allow_all_models: z.literal(true), models: z.array(model()) });
const dropped = () => z.strictObject({ models: z.array(z.string().min(1)).max(MOST_MODELS).optional() });
const droppedQuery = () => z.strictObject({ slugs: z.string().optional().describe('Names with commas between them.') });

/** A cent per token is 10,000 dollars per million of them. The digits that a double holds come back as they were. */
const PER_MILLION = 10_000;
const digits = (value: number) => Number(value.toPrecision(15));
const cents = (dollars: number | undefined) =>
  dollars === undefined ? undefined : { price: digits(dollars / PER_MILLION) };
const dollars = (price: { price: number } | undefined) =>
  price === undefined ? undefined : digits(price.price * PER_MILLION);

const shownModels = (list: Awaited<ReturnType<Integrations['models']>>) => ({
  object: 'list' as const,
  allow_all_models: true as const,
  models: list.map(({ slug, input, output, isCustom }) => ({
    slug,
    enabled: true as const,
    is_custom: isCustom,
    is_finetune: false as const,
    pricing_config: {
      type: 'static' as const,
      pay_as_you_go: { request_token: cents(input), response_token: cents(output) },
    },
  })),
});

const changing = { scopes: ['virtual_keys.update'], audit: { resource: 'virtual_keys' } } as const;
const INTEGRATION = '/v1/integrations/:slug';

export const integrationRoutes = (integrations: Integrations): Route[] => [
  post(
    '/v1/integrations',
    {
      scopes: ['virtual_keys.create'],
      audit: { resource: 'virtual_keys' },
      summary: 'Store a provider credential, as an integration: a virtual key that can be opened to other workspaces',
      body: create,
      response: integration,
    },
    (call) => integrations.create(call.principal, call.body),
  ),
  get(
    '/v1/integrations',
    {
      scopes: ['virtual_keys.list'],
      summary: 'Virtual keys that have a credential of their own, as integrations',
      query: listQuery,
      response: () => pageOf(integration),
    },
    (call) => integrations.list(call.principal, call.query),
  ),
  get(
    INTEGRATION,
    { scopes: ['virtual_keys.read'], summary: 'One integration, by slug or id', response: integration },
    (call) => integrations.read(call.principal, call.params.slug),
  ),
  put(INTEGRATION, { ...changing, summary: 'Change an integration', body: update, response: integration }, (call) =>
    integrations.update(call.principal, call.params.slug, call.body),
  ),
  del(
    INTEGRATION,
    {
      scopes: ['virtual_keys.delete'],
      audit: { resource: 'virtual_keys' },
      summary: 'Delete an integration that no other workspace uses',
      response: () => deleted('integration'),
    },
    async (call) => ({
      id: await integrations.delete(call.principal, call.params.slug),
      object: 'integration',
      deleted: true,
    }),
  ),
  get(
    `${INTEGRATION}/workspaces`,
    {
      scopes: ['virtual_keys.read'],
      summary: 'Which workspaces may use an integration, and how much of it',
      response: accessList,
    },
    (call) => integrations.workspaces(call.principal, call.params.slug),
  ),
  put(
    `${INTEGRATION}/workspaces`,
    {
      scopes: ['virtual_keys.update', 'organisation.manage'],
      audit: { resource: 'virtual_keys' },
      summary: 'Open an integration to workspaces, or close it; workspaces that are not named stay as they are',
      body: accesses,
      response: accessList,
    },
    (call) => integrations.openTo(call.principal, call.params.slug, call.body.workspaces),
  ),
  ...modelRoutes(integrations),
];

const modelRoutes = (integrations: Integrations): Route[] => [
  get(
    `${INTEGRATION}/models`,
    {
      scopes: ['virtual_keys.read'],
      summary: 'Models of an integration that have a price of their own',
      response: modelList,
    },
    async (call) => shownModels(await integrations.models(call.principal, call.params.slug)),
  ),
  put(
    `${INTEGRATION}/models`,
    {
      ...changing,
      summary: 'Give models of an integration a price; one that is not enabled loses its price',
      body: models,
      response: modelList,
    },
    async (call) => {
      const { principal, params, body } = call;
      for (const [index, each] of body.models.entries())
        if (each.enabled && !each.pricing_config?.pay_as_you_go)
          fail(
            'invalid_request',
            `models[${index}].pricing_config`,
            'is missing; every model can be called, and an entry keeps its price in pay_as_you_go',
          );
      const set = body.models
        .filter(({ enabled }) => enabled)
        .map(({ slug, pricing_config }) => ({
          slug,
          input: dollars(pricing_config?.pay_as_you_go?.request_token),
          output: dollars(pricing_config?.pay_as_you_go?.response_token),
        }));
      const drop = body.models.filter(({ enabled }) => !enabled).map(({ slug }) => slug);
      if (set.length + drop.length === 0) return shownModels(await integrations.models(principal, params.slug));
      return shownModels(await integrations.price(principal, params.slug, { set, drop }));
    },
  ),
  del(
    `${INTEGRATION}/models`,
    {
      ...changing,
      scopes: ['virtual_keys.update'],
      summary: 'Take their prices from models of an integration',
      query: droppedQuery,
      body: dropped,
      response: modelList,
    },
    async (call) => {
      const named = call.query.slugs?.split(',').map((each) => each.trim());
      const drop = call.body.models ?? named ?? fail('invalid_request', 'models', 'is missing; give a list of names');
      return shownModels(await integrations.price(call.principal, call.params.slug, { set: [], drop }));
    },
  ),
];

const providerFields = () => ({
  name: name(),
  note: note().optional(),
  expires_at: expiry().optional(),
  ...limits(),
  model_config: z.record(z.string(), z.never('is not kept')).optional(),
});
const providerCreate = () =>
  z.strictObject({
    ...providerFields(),
    slug: slug().optional(),
    workspace_id: z.string().min(1).optional(),
    integration_id: z.string().min(1).describe('Id or slug of an integration that the workspace may use.'),
  });
const providerUpdate = () =>
  z
    .strictObject(providerFields())
    .partial()
    .extend({ workspace_id: z.string().min(1).optional().describe('Where it is; it stays there.'), ...resetUsage() });
const provider = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('provider'),
      slug: z.string(),
      name: z.string(),
      note: z.string().nullable(),
      ai_provider_name: z.string(),
      integration_id: z.string().describe('The slug of the integration whose credential it uses.'),
      workspace_id: z.string(),
      status: z.enum(['active', 'exhausted', 'expired']),
      ...shownLimits(),
      expires_at: z.string().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'WorkspaceProvider' });
const oneQuery = () => z.strictObject({ workspace_id: z.string().min(1).optional() });
const named = (call: CallAt<'provider', { workspace_id?: string }>) => ({
  name: call.params.provider,
  workspace: call.query.workspace_id,
});
const PROVIDER = '/v1/providers/:provider';

/** Virtual keys of a workspace as Portkey's clients see them. The list is beside that of all providers. */
export const workspaceProviderRoutes = ({ providers }: Integrations): Route[] => [
  post(
    '/v1/providers',
    {
      scopes: ['virtual_keys.create'],
      audit: { resource: 'virtual_keys' },
      summary: 'Make a virtual key that uses the credential of an integration',
      body: providerCreate,
      response: provider,
    },
    ({ principal, body: { model_config: _, ...input } }) => providers.create(principal, input),
  ),
  get(
    PROVIDER,
    {
      scopes: ['virtual_keys.read'],
      summary: 'One virtual key of a workspace, by id or slug, as a provider',
      query: oneQuery,
      response: provider,
    },
    (call) => providers.read(call.principal, named(call)),
  ),
  put(
    PROVIDER,
    {
      ...changing,
      summary: 'Change the name, the note, the limits or the end of a virtual key',
      query: oneQuery,
      body: providerUpdate,
      response: provider,
    },
    (call) => {
      const { model_config: _, workspace_id, ...input } = call.body;
      const { name, workspace } = named(call);
      return providers.update(call.principal, { name, workspace: workspace_id ?? workspace }, input);
    },
  ),
  del(
    PROVIDER,
    {
      scopes: ['virtual_keys.delete'],
      audit: { resource: 'virtual_keys' },
      summary: 'Delete a virtual key of a workspace',
      query: oneQuery,
      response: () => deleted('provider'),
    },
    async (call) => ({ id: await providers.delete(call.principal, named(call)), object: 'provider', deleted: true }),
  ),
];
