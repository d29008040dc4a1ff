import * as z from 'zod';
import type { ApiKeys } from '../auth/api-keys.ts';
import { fail } from '../core/errors.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import type { Principal } from '../core/principal.ts';
import type { Checked } from '../core/schema.ts';
import { SCOPES } from '../core/scopes.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import {
  callMetadata,
  expiry,
  forbidden,
  guardrailDefaults,
  keepsOtherDefaults,
  limits,
  mcpDefaults,
  models,
  resetUsage,
  scopes,
  shownForbidden,
  shownLimits,
  shownModels,
} from './schemas.ts';

const MINUTE = 60_000;

const defaults = () =>
  z.strictObject({
    virtual_key: slug().optional(),
    config: slug().optional(),
    metadata: callMetadata().optional(),
    ...guardrailDefaults(),
    ...mcpDefaults(),
  });

export const create = () =>
  z.strictObject({
    name: name(),
    description: note().optional(),
    scopes: scopes().optional(),
    workspace_id: z.string().min(1).optional(),
    user_id: z
      .uuid({ error: 'give the id of a user' })
      .nullable()
      .optional()
      .describe('For whom the key acts: yourself, or with owners.manage another member of the workspace.'),
    defaults: defaults().optional(),
    expires_at: expiry().optional(),
    ...forbidden(),
    ...models(),
    ...limits(),
  });

/** Words that Terraform has for the same: see docs/terraform.md. */
const alsoCalled = () => ({
  defaults: defaults()
    .extend({
      config_id: slug().optional().describe('Another name of config; give one of the two.'),
      allow_config_override: z
        .boolean({ error: 'give true or false' })
        .optional()
        .describe('false forbids calls to bring a config, as config among forbidden does; true allows it again.'),
    })
    .optional(),
  alert_emails: z
    .array(z.string())
    .max(
      0,
      'cannot be kept with a key; an alert (POST /v1/alerts) with a channel of the kind email tells of its budgets',
    )
    .optional(),
});
const given = () => create().extend(alsoCalled());
const update = () => given().omit({ workspace_id: true, user_id: true }).partial().extend(resetUsage());
const ofService = () => given().omit({ user_id: true });
const ofOrganisation = () =>
  ofService().extend({
    scopes: scopes().refine(
      (list) => list.includes('organisation.manage'),
      'has no organisation.manage, without which a key acts on its own workspace alone; add it, or make a workspace key',
    ),
    organisation_id: z.string().min(1).optional(),
  });
const ofUser = () => given().extend({ user_id: z.uuid({ error: 'give the id of a user' }) });

type Given = Partial<Checked<typeof given>>;

/** The same in words of our own. */
function inOwnWords<Body extends Given>({ alert_emails: _, ...body }: Body) {
  if (!body.defaults) return { ...body, defaults: undefined };
  const keeps_other_defaults = keepsOtherDefaults(body.defaults);
  const { config_id, allow_config_override, ...defaults } = body.defaults;
  if (config_id !== undefined && defaults.config !== undefined && config_id !== defaults.config)
    fail('invalid_request', 'defaults.config_id', 'names another config than defaults.config; give one of the two');
  return {
    ...body,
    defaults: { ...defaults, ...(config_id !== undefined && { config: config_id }) },
    allow_config_override,
    keeps_other_defaults,
  };
}
export const rotate = () =>
  z.strictObject({
    key_transition_period_ms: z
      .number()
      .int()
      .min(0)
      .max(30 * 24 * 60 * MINUTE)
      .optional()
      .describe('How long the old secret stays valid. Default 30 minutes; 0 ends it at once.'),
  });

export const apiKey = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('api-key'),
      type: z
        .enum(['organisation-service', 'workspace-service', 'workspace-user'])
        .describe('organisation: with organisation.manage it acts on every workspace. user: it acts for its user.'),
      name: z.string(),
      description: z.string().nullable(),
      masked_key: z.string(),
      organisation_id: z.string(),
      workspace_id: z.string(),
      user_id: z.string().nullable(),
      is_own: z.boolean().describe('Its user made it, as member_keys of the workspace allow.'),
      is_login: z.boolean().describe('A program that its user signed in: it renews itself, and cannot be rotated.'),
      scopes: z.array(z.enum(SCOPES)),
      defaults: z.record(z.string(), z.unknown()),
      ...shownForbidden(),
      ...shownModels(),
      expires_at: z.string().nullable(),
      ...shownLimits(),
      status: z
        .enum(['active', 'exhausted', 'expired', 'suspended'])
        .describe('suspended: its user may not act in its workspace any more, or may not have keys there.'),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'ApiKey' });
export const created = () => apiKey().extend({ key: z.string().describe('The secret, shown this once.') });
export const rotated = () =>
  z.object({
    id: z.uuid(),
    key: z.string(),
    object: z.literal('api-key'),
    key_transition_expires_at: z.string(),
  });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional() });

export interface ApiKeyParts {
  readonly apiKeys: ApiKeys;
  readonly guardrailDefaults: GuardrailDefaultsStore;
}

const making = { scopes: ['api_keys.create'], audit: { resource: 'api_keys' }, response: created } as const;

export const apiKeyRoutes = (parts: ApiKeyParts): Route[] => [...ownRoutes(parts), ...typedRoutes(parts)];

const maker =
  ({ apiKeys, guardrailDefaults }: ApiKeyParts) =>
  async (call: { principal: Principal; now: number }, body: Given & { readonly name: string }) => {
    const input = inOwnWords(body);
    await guardrailDefaults.checkIn(call.principal, input.workspace_id, input.defaults);
    return apiKeys.create(call.principal, input, call.now);
  };

/** Keys by what they act for, as Terraform makes them. They are the same keys. */
const typedRoutes = (parts: ApiKeyParts): Route[] => {
  const make = maker(parts);
  return [
    post(
      '/v1/api-keys/organisation/service',
      {
        ...making,
        scopes: ['api_keys.create', 'organisation.manage'],
        summary: 'Create an API key that acts on every workspace',
        body: ofOrganisation,
      },
      (call) => {
        const { organisation_id, ...body } = call.body;
        if (organisation_id !== undefined && organisation_id !== call.principal.organisationId)
          fail('invalid_request', 'organisation_id', 'is not your organisation');
        return make(call, body);
      },
    ),
    post(
      '/v1/api-keys/organisation/user',
      { ...making, summary: 'Refused: keys of users belong to a workspace', body: ofUser },
      () => fail('invalid_request', 'sub_type', 'a key of a user belongs to a workspace; give the type "workspace"'),
    ),
    post(
      '/v1/api-keys/workspace/service',
      { ...making, summary: 'Create an API key that acts for no user', body: ofService },
      (call) => make(call, ofWorkspace(call.body)),
    ),
    post(
      '/v1/api-keys/workspace/user',
      { ...making, summary: 'Create an API key that acts for a user', body: ofUser },
      (call) => make(call, ofWorkspace(call.body)),
    ),
  ];
};

function ofWorkspace<Body extends Given>(body: Body): Body {
  if (body.scopes?.includes('organisation.manage'))
    fail('invalid_request', 'scopes', 'organisation.manage makes it a key of the organisation; give that type');
  return body;
}

const ownRoutes = ({ apiKeys, guardrailDefaults }: ApiKeyParts): Route[] => [
  post('/v1/api-keys', { ...making, summary: 'Create an API key; the secret is shown once', body: given }, (call) =>
    maker({ apiKeys, guardrailDefaults })(call, call.body),
  ),
  get(
    '/v1/api-keys',
    {
      scopes: ['api_keys.list'],
      summary: 'API keys the caller may see',
      query: listQuery,
      response: () => pageOf(apiKey),
    },
    (call) => apiKeys.list(call.principal, call.query, call.now),
  ),
  get('/v1/api-keys/:id', { scopes: ['api_keys.read'], summary: 'One API key', response: apiKey }, (call) =>
    apiKeys.read(call.principal, call.params.id, call.now),
  ),
  put(
    '/v1/api-keys/:id',
    {
      scopes: ['api_keys.update'],
      audit: { resource: 'api_keys' },
      summary: 'Change an API key',
      body: update,
      response: apiKey,
    },
    async (call) => {
      const id = call.params.id;
      const input = inOwnWords(call.body);
      if (input.defaults) {
        const { workspace_id } = await apiKeys.read(call.principal, id, call.now);
        await guardrailDefaults.checkIn(call.principal, workspace_id, input.defaults);
      }
      return apiKeys.update(call.principal, id, input, call.now);
    },
  ),
  del(
    '/v1/api-keys/:id',
    {
      scopes: ['api_keys.delete'],
      audit: { resource: 'api_keys' },
      summary: 'Revoke an API key at once',
      response: () => deleted('api-key'),
    },
    async (call) => {
      await apiKeys.delete(call.principal, call.params.id);
      return { id: call.params.id, object: 'api-key', deleted: true };
    },
  ),
  post(
    '/v1/api-keys/:id/rotate',
    {
      scopes: ['api_keys.rotate'],
      audit: { resource: 'api_keys', action: 'rotate' },
      summary: 'Give an API key a new secret',
      body: rotate,
      response: rotated,
    },
    (call) => apiKeys.rotate(call.principal, call.params.id, call.body, call.now),
  ),
];
