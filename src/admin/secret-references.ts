import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { pageQuery } from '../core/paging.ts';
import { get, post, type Route } from '../http/route.ts';

/**
 * Portkey's clients keep references to secrets as objects of their own. Here a virtual key says itself where its secret
 * lies, and the operator lists which secrets a workspace may name; see docs/terraform.md.
 */
const none = () => z.object({ object: z.literal('list'), total: z.literal(0), data: z.array(z.never()) });
const listQuery = () =>
  pageQuery().extend({ manager_type: z.string().optional(), search: z.string().max(256).optional() });

export const secretReferenceRoutes = (): Route[] => [
  get(
    '/v1/secret-references',
    {
      scopes: ['virtual_keys.list'],
      summary: 'Always empty: virtual keys say themselves where their secrets lie',
      query: listQuery,
      response: none,
    },
    () => ({ object: 'list', total: 0, data: [] }),
  ),
  post(
    '/v1/secret-references',
    {
      scopes: ['virtual_keys.create'],
      audit: { resource: 'virtual_keys' },
      summary: 'Refused: virtual keys say themselves where their secrets lie',
      body: () => z.record(z.string(), z.unknown()),
    },
    () =>
      fail(
        'invalid_request',
        'manager_type',
        'references to secrets are no objects here; give a virtual key {"secret": "store:path#field"} as its key, of a store that the operator lists',
      ),
  ),
  get(
    '/v1/secret-references/:id',
    { scopes: ['virtual_keys.read'], summary: 'Always missing, for the same reason' },
    (call) => fail('secret_reference_not_found', call.params.id.slice(0, 80)),
  ),
];
