import * as z from 'zod';
import type { OwnKeysStore } from '../auth/own-keys.ts';
import { deleted, name, note, slug } from '../http/resource.ts';
import { del, get, post, type Route } from '../http/route.ts';
import { apiKey, created, rotate, rotated } from './api-keys.ts';
import { expiry, shownLimits, shownMemberKeys } from './schemas.ts';

const create = () =>
  z.strictObject({
    name: name(),
    description: note().optional(),
    virtual_key: slug().optional().describe('What its calls use when they name none.'),
    expires_at: expiry().unwrap().optional().describe('At the latest when the rule of the workspace says.'),
  });
const own = () =>
  z.object({
    object: z.literal('list'),
    data: z.array(apiKey()),
    allowed: shownMemberKeys(),
    usage: shownLimits().usage.describe('What all of them together have spent of each budget of the rule.'),
  });

const PATH = '/v1/own-keys';
const ONE = `${PATH}/:id` as const;

/** For people who are signed in: keys of their own, as the workspace they act in allows. */
export const ownKeyRoutes = (keys: OwnKeysStore): Route[] => [
  get(
    PATH,
    { scopes: ['sessions.manage'], summary: "One's own keys in a workspace, and what is allowed there", response: own },
    (call) => keys.list(call.principal, call.now),
  ),
  post(
    PATH,
    {
      scopes: ['sessions.manage'],
      audit: { resource: 'api_keys' },
      summary: "Make a key of one's own, within what the workspace allows; the secret is shown once",
      body: create,
      response: created,
    },
    (call) => keys.create(call.principal, call.body, call.now),
  ),
  post(
    `${ONE}/rotate`,
    {
      scopes: ['sessions.manage'],
      audit: { resource: 'api_keys', action: 'rotate' },
      summary: "Give a key of one's own a new secret",
      body: rotate,
      response: rotated,
    },
    (call) => keys.rotate(call.principal, call.params.id, call.body, call.now),
  ),
  del(
    ONE,
    {
      scopes: ['sessions.manage'],
      audit: { resource: 'api_keys' },
      summary: 'End a key that one made oneself',
      response: () => deleted('api-key'),
    },
    async (call) => {
      await keys.delete(call.principal, call.params.id);
      return { id: call.params.id, object: 'api-key', deleted: true };
    },
  ),
];
