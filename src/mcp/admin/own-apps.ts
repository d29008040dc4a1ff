import * as z from 'zod';
import { deleted } from '../../http/resource.ts';
import { del, get, type Route } from '../../http/route.ts';
import type { OwnApps } from '../oauth/own-apps.ts';
import type { OwnConnections } from '../upstream-oauth/own-connections.ts';

const workspace = () => z.object({ id: z.string(), slug: z.string(), name: z.string() });

const ownApp = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('own-app'),
      client_id: z.string(),
      client_name: z.string().describe('As it calls itself.'),
      client_host: z
        .string()
        .nullable()
        .describe('Where its description comes from; null: it registered itself, or an administrator did.'),
      resource: z.string(),
      server: z.string().nullable().describe('Null: all servers of the workspace.'),
      workspace: workspace(),
      authorizations: z.number().int().describe('How often it was let in and still holds tokens.'),
      is_remembered: z.boolean().describe('Whether it is let in again without a question.'),
      created_at: z.string(),
      last_token_at: z.string().nullable(),
      expires_at: z.string().nullable(),
    })
    .meta({ id: 'OwnApp' });

const ownConnection = () =>
  z
    .object({
      id: z.string().describe('Of the server.'),
      object: z.literal('own-connection'),
      server: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      workspace: workspace(),
      endpoint: z.string().describe('Where clients reach the server.'),
      may_call: z.boolean().describe('False: it was closed to the user after they had connected.'),
      needs_account: z.boolean().describe('Whether each user needs an account of their own there.'),
      is_connected: z.boolean(),
      connect_url: z.string().nullable().describe('Where the user connects; null: no account is needed.'),
      issuer: z.string().nullable(),
      scope: z.string().nullable(),
      connected_at: z.string().nullable(),
    })
    .meta({ id: 'OwnConnection' });

const listOf = <Item extends z.ZodType>(item: () => Item) =>
  z.object({ object: z.literal('list'), data: z.array(item()) });

/** For people who are signed in: which applications act for them, and at which servers they have accounts. */
export const ownAppRoutes = (apps: OwnApps, connections: OwnConnections): Route[] => [
  get(
    '/v1/own-apps',
    {
      scopes: ['sessions.manage'],
      summary: 'Applications that one lets call MCP servers',
      response: () => listOf(ownApp),
    },
    async ({ principal }) => ({ object: 'list', data: await apps.list(principal) }),
  ),
  del(
    '/v1/own-apps/:id',
    {
      scopes: ['sessions.manage'],
      audit: { resource: 'mcp_consents' },
      summary: 'Send an application away: its tokens end, and the next time it has to ask',
      response: () => deleted('own-app'),
    },
    async ({ principal, params }) => {
      await apps.withdraw(principal, params.id);
      return { id: params.id, object: 'own-app', deleted: true };
    },
  ),
  get(
    '/v1/own-connections',
    {
      scopes: ['sessions.manage'],
      summary: "MCP servers that one may call, and one's accounts there",
      response: () => listOf(ownConnection),
    },
    async ({ principal }) => ({ object: 'list', data: await connections.list(principal) }),
  ),
  del(
    '/v1/own-connections/:server',
    {
      scopes: ['sessions.manage'],
      audit: { resource: 'mcp_connections', action: 'disconnect' },
      summary: "Forget one's own tokens for an MCP server",
      response: () => deleted('own-connection'),
    },
    async ({ principal, params }) => ({
      id: await connections.end(principal, params.server),
      object: 'own-connection',
      deleted: true,
    }),
  ),
];
