import * as z from 'zod';
import type { Workspaces } from '../auth/workspaces.ts';
import { fail } from '../core/errors.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import {
  callMetadata,
  forbidden,
  guardrailDefaults,
  keepsOtherDefaults,
  limits,
  mcpDefaults,
  memberKeys,
  resetUsage,
  shownForbidden,
  shownLimits,
  shownMemberKeys,
} from './schemas.ts';

const defaults = () =>
  z.strictObject({ metadata: callMetadata().optional(), ...guardrailDefaults(), ...mcpDefaults() });

export const create = () =>
  z.strictObject({
    name: name(),
    slug: slug().optional(),
    description: note().optional(),
    defaults: defaults().optional(),
    ...forbidden(),
    member_keys: memberKeys()
      .nullable()
      .optional()
      .describe('Lets members make keys of their own, within these bounds. null: they may not.'),
    ...limits(),
  });
const update = () => create().omit({ slug: true }).partial().extend(resetUsage());

/** Terraform says the name once more, so that nothing else is deleted by mistake. */
const farewell = () =>
  z.strictObject({
    name: z.string().optional().describe('If it is given, it must be the name of the workspace.'),
    force_delete: z.boolean().optional().describe('Everything in a workspace is deleted with it, forced or not.'),
  });

const workspace = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('workspace'),
      slug: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      defaults: z.record(z.string(), z.unknown()),
      ...shownForbidden(),
      member_keys: shownMemberKeys(),
      ...shownLimits(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Workspace' });

export interface WorkspaceParts {
  readonly workspaces: Workspaces;
  readonly guardrailDefaults: GuardrailDefaultsStore;
}

export const workspaceRoutes = ({ workspaces, guardrailDefaults }: WorkspaceParts): Route[] => [
  post(
    '/v1/admin/workspaces',
    {
      scopes: ['workspaces.create', 'organisation.manage'],
      audit: { resource: 'workspaces' },
      summary: 'Create a workspace',
      body: create,
      response: workspace,
    },
    async (call) => {
      await guardrailDefaults.checkIn(call.principal, null, call.body.defaults);
      return workspaces.create(call.principal, call.body, call.now);
    },
  ),
  get(
    '/v1/admin/workspaces',
    {
      scopes: ['workspaces.list'],
      summary: 'Workspaces the key may see',
      query: pageQuery,
      response: () => pageOf(workspace),
    },
    (call) => workspaces.list(call.principal, call.query, call.now),
  ),
  get(
    '/v1/admin/workspaces/:workspace',
    { scopes: ['workspaces.read'], summary: 'One workspace, by id or slug', response: workspace },
    (call) => workspaces.read(call.principal, call.params.workspace, call.now),
  ),
  put(
    '/v1/admin/workspaces/:workspace',
    {
      scopes: ['workspaces.update'],
      audit: { resource: 'workspaces' },
      summary: 'Change a workspace',
      body: update,
      response: workspace,
    },
    async (call) => {
      await guardrailDefaults.checkIn(call.principal, call.params.workspace, call.body.defaults);
      const input = { ...call.body, keeps_other_defaults: keepsOtherDefaults(call.body.defaults) };
      return workspaces.update(call.principal, call.params.workspace, input, call.now);
    },
  ),
  del(
    '/v1/admin/workspaces/:workspace',
    {
      scopes: ['workspaces.delete'],
      audit: { resource: 'workspaces' },
      summary: 'Delete a workspace with everything in it',
      body: farewell,
      response: () => deleted('workspace'),
    },
    async (call) => {
      const { principal, params, body, now } = call;
      if (body.name !== undefined) {
        const { name } = await workspaces.read(principal, params.workspace, now);
        if (name !== body.name) fail('invalid_request', 'name', `is not the name of this workspace, which is ${name}`);
      }
      return { id: await workspaces.delete(principal, params.workspace), object: 'workspace', deleted: true };
    },
  ),
];
