import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import type { EndingsOf } from '../endings/endings.ts';
import { get, post, type Route } from '../http/route.ts';

const shared = () => ({
  id: z.string(),
  status: z.enum(['running', 'completed']),
  removed: z.array(z.object({ area: z.string(), rows: z.number().int() })),
  kept: z.array(z.object({ area: z.string(), why: z.string() })),
  at_providers: z
    .array(z.object({ area: z.string(), id: z.string(), error: z.string().nullable() }))
    .describe('What ran at providers. error: why one could not be told to stop.'),
  created_at: z.string(),
  completed_at: z.string().nullable(),
});

const erasure = () =>
  z.object({ ...shared(), object: z.literal('user.erasure'), user_id: z.string() }).meta({ id: 'UserErasure' });
const deletion = () =>
  z
    .object({ ...shared(), object: z.literal('workspace.deletion'), workspace_id: z.string(), slug: z.string() })
    .meta({ id: 'WorkspaceDeletion' });

const create = () =>
  z.strictObject({
    user: z
      .string()
      .trim()
      .min(1, 'give the id or the email address of a user')
      .max(320)
      .describe('The id or the email address of a user.'),
    is_deleted: z
      .boolean()
      .optional()
      .describe('The user was deleted before; what they left is found by the id or the address that is given.'),
  });

/** Forgetting people, and how far that and the deletion of workspaces is. */
export const erasureRoutes = (endings: EndingsOf): Route[] => [
  get(
    '/v1/admin/workspaces/:workspace/deletion',
    {
      scopes: ['workspaces.read', 'organisation.manage'],
      summary: 'How far the deletion of a workspace is, by its id or former slug',
      response: deletion,
    },
    (call) => endings.ofWorkspace(call.principal, call.params.workspace),
  ),
  post(
    '/v1/admin/erasures',
    {
      scopes: ['users.delete', 'organisation.manage', 'owners.manage'],
      audit: { resource: 'users', action: 'erase' },
      summary: 'Forget a person: their user, keys, threads, files, feedback and log entries',
      body: create,
      response: erasure,
    },
    (call) => endings.erase(call.principal, call.body),
  ),
  get(
    '/v1/admin/erasures',
    {
      scopes: ['users.read', 'organisation.manage'],
      summary: 'Persons who were forgotten, by their ids',
      query: pageQuery,
      response: () => pageOf(erasure),
    },
    (call) => endings.listErasures(call.principal, call.query),
  ),
  get(
    '/v1/admin/erasures/:erasure',
    {
      scopes: ['users.read', 'organisation.manage'],
      summary: 'How far an erasure is, by its id or that of the user',
      response: erasure,
    },
    (call) => endings.ofUser(call.principal, call.params.erasure),
  ),
];
