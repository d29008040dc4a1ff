import * as z from 'zod';
import { EVENTS } from '../area/notify.ts';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted, name } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import { webhookObject } from './webhook.ts';
import type { Webhooks } from './webhooks.ts';

const url = () =>
  z
    .url({ protocol: /^https?$/, error: 'give the http(s) address that messages are sent to' })
    .max(2_048, 'give at most 2048 characters');
const events = () =>
  z
    .array(z.enum(EVENTS, { error: `give one of ${EVENTS.join(', ')}` }), { error: 'give a list of event types' })
    .min(1, 'give at least one event type')
    .refine((list) => new Set(list).size === list.length, 'names an event type twice');
const settings = () => ({ name: name(), url: url(), events: events(), is_enabled: z.boolean() });

const create = () =>
  z.strictObject({
    ...settings(),
    events: events()
      .default([...EVENTS])
      .describe('All of them, unless given.'),
    is_enabled: z.boolean().optional(),
    workspace_id: z.string().min(1).optional(),
  });
const update = () => z.strictObject(settings()).partial();
const withSecret = () =>
  webhookObject().extend({
    secret: z.string().describe('What messages are signed with. It is shown once.'),
  });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional() });

const PATH = '/v1/webhooks';
const ONE = `${PATH}/:id` as const;

export const webhookRoutes = (webhooks: Webhooks): Route[] => [
  post(
    PATH,
    {
      scopes: ['webhooks.create'],
      audit: { resource: 'webhooks' },
      summary: 'Have the end of batches and fine-tuning jobs told to an address',
      body: create,
      response: withSecret,
    },
    (call) => webhooks.create(call.principal, call.body),
  ),
  get(
    PATH,
    {
      scopes: ['webhooks.list'],
      summary: 'Webhooks the caller may see',
      query: listQuery,
      response: () => pageOf(webhookObject),
    },
    (call) => webhooks.list(call.principal, call.query),
  ),
  get(ONE, { scopes: ['webhooks.read'], summary: 'One webhook', response: webhookObject }, (call) =>
    webhooks.read(call.principal, call.params.id),
  ),
  put(
    ONE,
    {
      scopes: ['webhooks.update'],
      audit: { resource: 'webhooks' },
      summary: 'Change a webhook',
      body: update,
      response: webhookObject,
    },
    (call) => webhooks.update(call.principal, call.params.id, call.body),
  ),
  post(
    `${ONE}/rotate`,
    {
      scopes: ['webhooks.update'],
      audit: { resource: 'webhooks', action: 'rotate' },
      summary: 'Give a webhook a new secret; the old one signs along for a day',
      response: withSecret,
    },
    (call) => webhooks.rotate(call.principal, call.params.id),
  ),
  del(
    ONE,
    {
      scopes: ['webhooks.delete'],
      audit: { resource: 'webhooks' },
      summary: 'Remove a webhook and what was not delivered to it',
      response: () => deleted('webhook'),
    },
    async (call) => ({
      id: await webhooks.delete(call.principal, call.params.id),
      object: 'webhook',
      deleted: true,
    }),
  ),
];
