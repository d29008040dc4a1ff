import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import { schemaOf } from '../core/schema.ts';
import { deleted } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import { channelObject, KINDS, line, SETTINGS, testedChannel } from './channel.ts';
import type { ChannelInput, Channels } from './channels.ts';
import { condition } from './condition.ts';
import { alertEventObject, alertObject } from './rule.ts';
import type { Rules } from './rules.ts';

const owner = () => ({
  workspace_id: z.string().min(1).optional().describe('Its workspace, by id or slug; the own one unless given.'),
  organisation_id: z
    .string()
    .min(1)
    .optional()
    .describe('In place of workspace_id: it belongs to the whole organisation.'),
});
const listQuery = () => pageQuery().extend({ workspace_id: z.string().optional() });

const createChannel = () => {
  const variant = <Kind extends (typeof KINDS)[number]>(kind: Kind) =>
    z.strictObject({
      name: line(255),
      kind: z.literal(kind),
      settings: SETTINGS[kind](),
      is_enabled: z.boolean().optional(),
      ...owner(),
    });
  return z.discriminatedUnion('kind', [variant('webhook'), variant('slack'), variant('teams'), variant('email')], {
    error: `give one of ${KINDS.join(', ')}`,
  });
};
const updateChannel = () =>
  z
    .strictObject({
      name: line(255),
      settings: z
        .record(z.string(), z.unknown(), { error: 'give an object with the settings that change' })
        .describe('Those that change, in the form that creating takes.'),
      is_enabled: z.boolean(),
    })
    .partial();
const withSecret = () =>
  channelObject().extend({
    secret: z.string().optional().describe('Of a webhook: what messages are signed with. It is shown once.'),
  });

const rule = () => ({
  name: line(255),
  condition: schemaOf(condition),
  channels: z
    .array(z.string().min(1).max(64), { error: 'give a list of ids of alert channels' })
    .max(10, 'give at most 10 channels')
    .refine((list) => new Set(list).size === list.length, 'names a channel twice'),
  repeat_after: z
    .int('give whole seconds')
    .min(60, 'give at least 60 seconds')
    .max(31_536_000, 'give at most 31536000 seconds')
    .nullable()
    .describe('Tell again after so many seconds while it goes on; null: tell once.'),
  is_enabled: z.boolean(),
});
const createRule = () => {
  const { repeat_after, is_enabled, channels, ...rest } = rule();
  return z.strictObject({
    ...rest,
    channels: channels.default([]),
    repeat_after: repeat_after.optional(),
    is_enabled: is_enabled.optional(),
    ...owner(),
  });
};
const updateRule = () => z.strictObject(rule()).partial();
const testResults = () =>
  z.object({ object: z.literal('list'), data: z.array(schemaOf(testedChannel)) }).meta({ id: 'AlertTest' });

const CHANNELS = '/v1/alert-channels';
const CHANNEL = `${CHANNELS}/:id` as const;
const ALERTS = '/v1/alerts';
const ALERT = `${ALERTS}/:id` as const;

export const channelRoutes = (channels: Channels): Route[] => [
  post(
    CHANNELS,
    {
      scopes: ['alert_channels.create'],
      audit: { resource: 'alert_channels' },
      summary: 'Make a place that alerts are told to: a webhook, Slack, Teams or e-mail',
      body: createChannel,
      response: withSecret,
    },
    (call) => channels.create(call.principal, call.body as ChannelInput),
  ),
  get(
    CHANNELS,
    {
      scopes: ['alert_channels.list'],
      summary: 'Alert channels the caller may see',
      query: listQuery,
      response: () => pageOf(channelObject),
    },
    (call) => channels.list(call.principal, call.query),
  ),
  get(CHANNEL, { scopes: ['alert_channels.read'], summary: 'One alert channel', response: channelObject }, (call) =>
    channels.read(call.principal, call.params.id),
  ),
  put(
    CHANNEL,
    {
      scopes: ['alert_channels.update'],
      audit: { resource: 'alert_channels' },
      summary: 'Change an alert channel',
      body: updateChannel,
      response: channelObject,
    },
    (call) => channels.update(call.principal, call.params.id, call.body),
  ),
  post(
    `${CHANNEL}/rotate`,
    {
      scopes: ['alert_channels.update'],
      audit: { resource: 'alert_channels', action: 'rotate' },
      summary: 'Give an alert channel of the kind webhook a new secret; the old one signs along for a day',
      response: withSecret,
    },
    (call) => channels.rotate(call.principal, call.params.id),
  ),
  post(
    `${CHANNEL}/test`,
    {
      scopes: ['alert_channels.update'],
      audit: { resource: 'alert_channels', action: 'test' },
      summary: 'Tell an alert channel something that is marked as a test, and say how it went',
      response: testedChannel,
    },
    (call) => channels.test(call.principal, call.params.id),
  ),
  del(
    CHANNEL,
    {
      scopes: ['alert_channels.delete'],
      audit: { resource: 'alert_channels' },
      summary: 'Remove an alert channel that no alert tells, and what was not delivered to it',
      response: () => deleted('alert_channel'),
    },
    async (call) => ({
      id: await channels.delete(call.principal, call.params.id),
      object: 'alert_channel',
      deleted: true,
    }),
  ),
];

export const ruleRoutes = (rules: Rules): Route[] => [
  post(
    ALERTS,
    {
      scopes: ['alerts.create'],
      audit: { resource: 'alerts' },
      summary: 'Have something watched and told',
      body: createRule,
      response: alertObject,
    },
    (call) => rules.create(call.principal, call.body),
  ),
  get(
    ALERTS,
    {
      scopes: ['alerts.list'],
      summary: 'Alerts the caller may see, and what they hold for at present',
      query: listQuery,
      response: () => pageOf(alertObject),
    },
    (call) => rules.list(call.principal, call.query),
  ),
  get(ALERT, { scopes: ['alerts.read'], summary: 'One alert', response: alertObject }, (call) =>
    rules.read(call.principal, call.params.id),
  ),
  get(
    `${ALERT}/events`,
    {
      scopes: ['alerts.read'],
      summary: 'What an alert has told, the latest first',
      query: pageQuery,
      response: () => pageOf(alertEventObject),
    },
    (call) => rules.events(call.principal, call.params.id, call.query),
  ),
  put(
    ALERT,
    {
      scopes: ['alerts.update'],
      audit: { resource: 'alerts' },
      summary: 'Change an alert',
      body: updateRule,
      response: alertObject,
    },
    (call) => rules.update(call.principal, call.params.id, call.body),
  ),
  post(
    `${ALERT}/test`,
    {
      scopes: ['alerts.update'],
      audit: { resource: 'alerts', action: 'test' },
      summary: 'Tell the channels of an alert something that is marked as a test, and say how it went',
      response: testResults,
    },
    async (call) => ({ object: 'list', data: await rules.test(call.principal, call.params.id) }),
  ),
  del(
    ALERT,
    {
      scopes: ['alerts.delete'],
      audit: { resource: 'alerts' },
      summary: 'Remove an alert and its history; what it told to be on is told to be over',
      response: () => deleted('alert'),
    },
    async (call) => ({ id: await rules.delete(call.principal, call.params.id), object: 'alert', deleted: true }),
  ),
];
