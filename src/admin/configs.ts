import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted, name, slug } from '../http/resource.ts';
import { type CallAt, del, get, post, put, type Route } from '../http/route.ts';
import type { Configs } from '../routing/configs.ts';
import { type DryRunDeps, dryRun, dryRunInput, dryRunResult } from './config-dry-run.ts';

const configObject = () =>
  z
    .record(z.string(), z.unknown(), { error: 'give a config object' })
    .describe('Targets, strategy, retry, cache and parameters; see docs/routing.md.');

const create = () =>
  z.strictObject({
    name: name(),
    slug: slug().optional(),
    config: configObject(),
    workspace_id: z.string().min(1).optional(),
    isDefault: z
      .literal(0, { error: 'no config is the default of a workspace; give API keys the config in defaults.config' })
      .optional(),
  });
const update = () =>
  z.strictObject({ name: name(), config: configObject(), status: z.enum(['active', 'archived']) }).partial();

const config = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('config'),
      slug: z.string(),
      name: z.string(),
      organisation_id: z.string(),
      workspace_id: z.string(),
      status: z.enum(['active', 'archived']),
      is_default: z.literal(0).describe('No config is the default of a workspace.'),
      version_id: z.uuid(),
      owner_id: z.string(),
      updated_by: z.string(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Config' });
const whole = () => config().extend({ config: z.record(z.string(), z.unknown()).describe('Secrets are masked.') });
const version = () =>
  z.object({
    id: z.uuid(),
    object: z.literal('config-version'),
    version_id: z.uuid(),
    config: z.record(z.string(), z.unknown()),
    created_by: z.string(),
    created_at: z.string(),
  });

const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional() });
const oneQuery = () => z.strictObject({ workspace_id: z.string().optional() });

const nameOf = (call: CallAt<'slug', { workspace_id?: string }>) => ({
  slug: call.params.slug,
  workspace: call.query.workspace_id,
});

/** Made once, when it is first asked for. */
const described = (configs: Configs) => {
  let made: Record<string, unknown> | undefined;
  return () => {
    made ??= z.toJSONSchema(configs.schema(), { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>;
    return made;
  };
};

export const configRoutes = ({ configs, ...deps }: DryRunDeps): Route[] => [
  get(
    '/v1/config-schema',
    {
      scopes: ['configs.read'],
      summary: 'The form of a config as JSON Schema, for editors',
      response: () => z.record(z.string(), z.unknown()),
    },
    described(configs),
  ),
  post(
    '/v1/configs/dry-run',
    {
      scopes: ['configs.read'],
      summary: 'Which targets of a config a call would come to; nothing is sent',
      body: dryRunInput,
      response: dryRunResult,
    },
    (call) => dryRun(call.principal, call.body, { configs, ...deps }),
  ),
  post(
    '/v1/configs',
    {
      scopes: ['configs.create'],
      audit: { resource: 'configs' },
      summary: 'Store a config under a name',
      body: create,
      response: whole,
    },
    (call) => configs.create(call.principal, call.body),
  ),
  get(
    '/v1/configs',
    {
      scopes: ['configs.list'],
      summary: 'Configs the caller may see',
      query: listQuery,
      response: () => pageOf(config),
    },
    (call) => configs.list(call.principal, call.query),
  ),
  get(
    '/v1/configs/:slug',
    { scopes: ['configs.read'], summary: 'One config', query: oneQuery, response: whole },
    (call) => configs.read(call.principal, nameOf(call)),
  ),
  put(
    '/v1/configs/:slug',
    {
      scopes: ['configs.update'],
      audit: { resource: 'configs' },
      summary: 'Change a config; a new version',
      query: oneQuery,
      body: update,
      response: whole,
    },
    (call) => configs.update(call.principal, nameOf(call), call.body),
  ),
  del(
    '/v1/configs/:slug',
    {
      scopes: ['configs.delete'],
      audit: { resource: 'configs' },
      summary: 'Delete a config and its versions',
      query: oneQuery,
      response: () => deleted('config'),
    },
    async (call) => ({ id: await configs.delete(call.principal, nameOf(call)), object: 'config', deleted: true }),
  ),
  get(
    '/v1/configs/:slug/versions',
    {
      scopes: ['configs.read'],
      summary: 'The versions of a config, newest first',
      query: listQuery,
      response: () => pageOf(version),
    },
    (call) => configs.versions(call.principal, nameOf(call), call.query),
  ),
];
