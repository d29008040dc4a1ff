import * as z from 'zod';
import type { ApiKeys } from '../auth/api-keys.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { SCOPES } from '../core/scopes.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import {
  callMetadata,
  expiry,
  forbidden,
  guardrailDefaults,
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
const update = () => create().omit({ workspace_id: true, user_id: true }).partial().extend(resetUsage());
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
      name: z.string(),
      description: z.string().nullable(),
      masked_key: z.string(),
      workspace_id: z.string(),
      user_id: z.string().nullable(),
      is_own: z.boolean().describe('Its user made it, as member_keys of the workspace allow.'),
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

export const apiKeyRoutes = ({ apiKeys, guardrailDefaults }: ApiKeyParts): Route[] => [
  post(
    '/v1/api-keys',
    {
      scopes: ['api_keys.create'],
      audit: { resource: 'api_keys' },
      summary: 'Create an API key; the secret is shown once',
      body: create,
      response: created,
    },
    async (call) => {
      await guardrailDefaults.checkIn(call.principal, call.body.workspace_id, call.body.defaults);
      return apiKeys.create(call.principal, call.body, call.now);
    },
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
      if (call.body.defaults) {
        const { workspace_id } = await apiKeys.read(call.principal, id, call.now);
        await guardrailDefaults.checkIn(call.principal, workspace_id, call.body.defaults);
      }
      return apiKeys.update(call.principal, id, call.body, call.now);
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
