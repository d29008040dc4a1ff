import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import { schemaOf } from '../core/schema.ts';
import { actionsSchema, checksSchema } from '../guardrails/guardrail.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { deleted, name, slug } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import { type BenchParts, benchRoutes } from './guardrail-bench.ts';

const create = () =>
  z.strictObject({
    name: name(),
    slug: slug().optional(),
    checks: checksSchema(),
    actions: actionsSchema().default(schemaOf(actionsSchema).parse({})),
    workspace_id: z.string().min(1).optional(),
    organisation_id: z
      .string()
      .min(1)
      .optional()
      .describe('Without workspace_id: for all workspaces of the organisation.'),
  });
const update = () =>
  z.strictObject({
    name: name().optional(),
    checks: checksSchema().optional(),
    actions: actionsSchema().optional(),
  });

const summary = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('guardrail'),
      slug: z.string(),
      name: z.string(),
      organisation_id: z.string(),
      workspace_id: z.string().nullable().describe('null: it belongs to the organisation.'),
      status: z.literal('active'),
      version_id: z.uuid(),
      owner_id: z.string(),
      updated_by: z.string().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Guardrail' });
const definition = () => ({
  checks: z.array(z.record(z.string(), z.unknown())).describe('Secrets among the parameters are masked.'),
  actions: z.record(z.string(), z.unknown()),
});
const whole = () => summary().extend(definition());
const updated = () => z.object({ id: z.uuid(), slug: z.string(), version_id: z.uuid() });
const version = () =>
  z.object({
    id: z.uuid(),
    object: z.literal('guardrail-version'),
    version_id: z.uuid(),
    name: z.string(),
    ...definition(),
    created_by: z.string(),
    created_at: z.string(),
  });

const MOST_IDS = 1_000;
const listQuery = () =>
  pageQuery().extend({
    workspace_id: z.string().min(1).optional(),
    organisation_id: z.string().min(1).optional(),
    ids: z
      .string()
      .transform((text) => text.split(',').map((id) => id.trim()))
      .refine((ids) => ids.length <= MOST_IDS && ids.every(Boolean), 'give ids or slugs with commas between them')
      .optional(),
  });

export interface GuardrailParts extends BenchParts {
  readonly guardrails: Guardrails;
}

export const guardrailRoutes = ({ guardrails, ...parts }: GuardrailParts): Route[] => [
  ...benchRoutes({ guardrails, ...parts }),
  post(
    '/v1/guardrails',
    {
      scopes: ['guardrails.create'],
      audit: { resource: 'guardrails' },
      summary: 'Store a guardrail: checks, and what becomes of their verdict',
      body: create,
      response: whole,
    },
    (call) => guardrails.create(call.principal, call.body),
  ),
  get(
    '/v1/guardrails',
    {
      scopes: ['guardrails.list'],
      summary: 'Guardrails of the workspace and of the organisation',
      query: listQuery,
      response: () => pageOf(summary),
    },
    (call) => guardrails.list(call.principal, call.query),
  ),
  get(
    '/v1/guardrails/:guardrail',
    { scopes: ['guardrails.read'], summary: 'One guardrail, by id or slug', response: whole },
    (call) => guardrails.read(call.principal, call.params.guardrail),
  ),
  put(
    '/v1/guardrails/:guardrail',
    {
      scopes: ['guardrails.update'],
      audit: { resource: 'guardrails' },
      summary: 'Change a guardrail; always a new version',
      body: update,
      response: updated,
    },
    (call) => guardrails.update(call.principal, call.params.guardrail, call.body),
  ),
  del(
    '/v1/guardrails/:guardrail',
    {
      scopes: ['guardrails.delete'],
      audit: { resource: 'guardrails' },
      summary: 'Delete a guardrail and its versions',
      response: () => deleted('guardrail'),
    },
    async (call) => ({
      id: await guardrails.delete(call.principal, call.params.guardrail),
      object: 'guardrail',
      deleted: true,
    }),
  ),
  get(
    '/v1/guardrails/:guardrail/versions',
    {
      scopes: ['guardrails.read'],
      summary: 'The versions of a guardrail, newest first',
      query: pageQuery,
      response: () => pageOf(version),
    },
    (call) => guardrails.versions(call.principal, call.params.guardrail, call.query),
  ),
];
