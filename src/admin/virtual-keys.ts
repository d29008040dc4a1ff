import * as z from 'zod';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { priceMembers } from '../core/price-file.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { type CallAt, del, get, post, put, type Route } from '../http/route.ts';
import { expiry, limits, resetUsage, shownLimits } from './schemas.ts';

export const create = () =>
  z.strictObject({
    name: name(),
    slug: slug().optional(),
    note: note().optional(),
    workspace_id: z.string().min(1).optional(),
    provider: z.string().min(1),
    key: z
      .union([
        z
          .string()
          .max(16_384)
          .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$/, 'holds control characters'),
        z.strictObject({ secret: z.string().max(2_048) }),
      ])
      .optional()
      .describe(
        'The provider credential. It is sealed and never shown again. {"secret": "store:path#field"} says where a secret store keeps it.',
      ),
    custom_host: z
      .string()
      .max(2_048)
      .nullable()
      .optional()
      .describe("Replaces the provider's base address, version included."),
    configurations: z
      .looseObject({ prices: schemaOf(priceMembers).optional() })
      .optional()
      .describe(
        'Provider settings such as aws_region, custom_headers, and prices by model in US dollars per million tokens.',
      ),
    expires_at: expiry().optional(),
    ...limits(),
  });
const update = () => create().omit({ slug: true, workspace_id: true }).partial().extend(resetUsage());

const virtualKey = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('virtual-key'),
      slug: z.string(),
      name: z.string(),
      note: z.string().nullable(),
      workspace_id: z.string(),
      provider: z.string(),
      masked_key: z.string(),
      custom_host: z.string().nullable(),
      configurations: z.record(z.string(), z.unknown()),
      ...shownLimits(),
      status: z.enum(['active', 'exhausted', 'expired']),
      expires_at: z.string().nullable(),
      source_id: z.string().nullable().describe('The virtual key whose credential it uses; null: it has its own.'),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'VirtualKey' });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional() });
/** Slugs are unique in a workspace; an organisation-wide caller may name one. */
const oneQuery = () => z.strictObject({ workspace_id: z.string().min(1).optional() });
const nameOf = (call: CallAt<'slug', Checked<typeof oneQuery>>) => ({
  slug: call.params.slug,
  workspace: call.query.workspace_id,
});

export const virtualKeyRoutes = (virtualKeys: VirtualKeys): Route[] => [
  post(
    '/v1/virtual-keys',
    {
      scopes: ['virtual_keys.create'],
      audit: { resource: 'virtual_keys' },
      summary: 'Store a provider credential under a name',
      body: create,
      response: virtualKey,
    },
    (call) => virtualKeys.create(call.principal, call.body),
  ),
  get(
    '/v1/virtual-keys',
    {
      scopes: ['virtual_keys.list'],
      summary: 'Virtual keys the caller may see',
      query: listQuery,
      response: () => pageOf(virtualKey),
    },
    (call) => virtualKeys.list(call.principal, call.query),
  ),
  get(
    '/v1/virtual-keys/:slug',
    { scopes: ['virtual_keys.read'], summary: 'One virtual key', query: oneQuery, response: virtualKey },
    (call) => virtualKeys.read(call.principal, nameOf(call)),
  ),
  put(
    '/v1/virtual-keys/:slug',
    {
      scopes: ['virtual_keys.update'],
      audit: { resource: 'virtual_keys' },
      summary: 'Change a virtual key',
      query: oneQuery,
      body: update,
      response: virtualKey,
    },
    (call) => virtualKeys.update(call.principal, nameOf(call), call.body),
  ),
  del(
    '/v1/virtual-keys/:slug',
    {
      scopes: ['virtual_keys.delete'],
      audit: { resource: 'virtual_keys' },
      summary: 'Delete a virtual key',
      query: oneQuery,
      response: () => deleted('virtual-key'),
    },
    async (call) => ({
      id: await virtualKeys.delete(call.principal, nameOf(call)),
      object: 'virtual-key',
      deleted: true,
    }),
  ),
];
