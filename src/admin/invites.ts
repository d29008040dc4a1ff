import * as z from 'zod';
import type { Invites } from '../auth/users-invites.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted } from '../http/resource.ts';
import { del, get, post, type Route } from '../http/route.ts';
import { email, memberships, password, personName, role, user } from './users.ts';

const create = () =>
  z.strictObject({
    email: email(),
    role: role(),
    workspaces: memberships().optional(),
    workspace_api_key_details: z
      .undefined('an invite makes no key; members make their own where member_keys of a workspace allow it')
      .optional(),
  });
const accept = () =>
  z.strictObject({
    token: z.string().min(1).max(200).describe('What stands behind #invite= in the link.'),
    password: password(),
    username: personName().optional(),
    first_name: personName().optional(),
    last_name: personName().optional(),
  });

const invite = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('invite'),
      email: z.string(),
      role: role(),
      workspaces: memberships(),
      status: z.enum(['pending', 'accepted', 'cancelled', 'expired']),
      created_at: z.string(),
      expires_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'Invite' });
const sent = () => invite().extend({ invite_link: z.string().describe('For the invited person; shown this once.') });

const INVITES = '/v1/admin/users/invites';

export const inviteRoutes = (invites: Invites): Route[] => [
  post(
    INVITES,
    {
      scopes: ['users.create', 'organisation.manage'],
      audit: { resource: 'invites' },
      summary: 'Invite a person; the link is shown once',
      body: create,
      response: sent,
    },
    (call) => invites.create(call.principal, call.body),
  ),
  get(
    INVITES,
    { scopes: ['users.list'], summary: 'Invites', query: pageQuery, response: () => pageOf(invite) },
    (call) => invites.list(call.principal, call.query),
  ),
  get(`${INVITES}/:id`, { scopes: ['users.read'], summary: 'One invite', response: invite }, (call) =>
    invites.read(call.principal, call.params.id),
  ),
  del(
    `${INVITES}/:id`,
    {
      scopes: ['users.delete'],
      audit: { resource: 'invites', action: 'cancel' },
      summary: 'Cancel an invite',
      response: () => deleted('invite'),
    },
    async (call) => {
      await invites.cancel(call.principal, call.params.id);
      return { id: call.params.id, object: 'invite', deleted: true };
    },
  ),
  post(
    `${INVITES}/:id/resend`,
    {
      scopes: ['users.create'],
      audit: { resource: 'invites', action: 'resend' },
      summary: 'Make another link for an invite; the old one ends',
      response: sent,
    },
    (call) => invites.resend(call.principal, call.params.id),
  ),
  post(
    '/v1/sessions/invites/accept',
    {
      scopes: 'public',
      audit: { resource: 'invites', action: 'accept' },
      summary: 'Become a user by an invite',
      body: accept,
      response: user,
    },
    (call) =>
      invites.accept(call.body, call, ({ organisation_id: organisationId, id: userId }) =>
        call.identify({ organisationId, workspaceId: '', keyId: null, userId }),
      ),
  ),
];
