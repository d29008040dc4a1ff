import * as z from 'zod';
import { pageOf, pageQuery } from '../../core/paging.ts';
import { deleted, name } from '../../http/resource.ts';
import { del, get, post, put, type Route } from '../../http/route.ts';
import type { Apps } from '../oauth/apps.ts';

const create = () =>
  z.strictObject({
    name: name().describe('People see it when they are asked.'),
    redirect_uris: z
      .array(z.string().max(2_000))
      .min(1, 'give at least one address')
      .max(20, 'give at most 20 addresses')
      .describe('Where users may be sent back to, letter by letter.'),
    is_confidential: z
      .boolean()
      .optional()
      .describe('Whether it has a secret, which is shown once; true unless given.'),
    is_renewable: z.boolean().optional().describe('Whether it gets refresh tokens; true unless given.'),
  });
const update = () => create().omit({ is_confidential: true }).partial();
const rotate = () =>
  z.strictObject({
    transition_seconds: z
      .number()
      .int()
      .min(0)
      .max(604_800)
      .optional()
      .describe('How long the old secret holds beside the new one; 0 unless given.'),
  });

const app = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('mcp-app'),
      client_id: z.string(),
      name: z.string(),
      redirect_uris: z.array(z.string()),
      is_confidential: z.boolean(),
      is_renewable: z.boolean(),
      grant_types: z.array(z.string()),
      secret_created_at: z.string().nullable(),
      created_at: z.string(),
      last_updated_at: z.string(),
      last_used_at: z.string().nullable().describe('When it last got tokens.'),
    })
    .meta({ id: 'McpApp' });
const withSecret = () => app().extend({ client_secret: z.string().optional().describe('Shown this once.') });

const PATH = '/v1/mcp-apps';
const ONE = `${PATH}/:id` as const;
const scopes = ['organisation.manage'] as const;
const audit = { resource: 'mcp_apps' } as const;

/** OAuth clients that an administrator registers for the people of the organisation. */
export const mcpAppRoutes = (apps: Apps): Route[] => [
  post(
    PATH,
    {
      scopes,
      audit,
      summary: 'Register an application that MCP users sign in with',
      body: create,
      response: withSecret,
    },
    ({ principal, body }) => apps.create(principal, body),
  ),
  get(
    PATH,
    {
      scopes,
      summary: 'Applications that administrators have registered',
      query: pageQuery,
      response: () => pageOf(app),
    },
    ({ principal, query }) => apps.list(principal, query),
  ),
  get(ONE, { scopes, summary: 'One of them', response: app }, ({ principal, params }) =>
    apps.read(principal, params.id),
  ),
  put(
    ONE,
    {
      scopes,
      audit,
      summary: 'Change its name, its addresses or whether it renews tokens',
      body: update,
      response: app,
    },
    ({ principal, params, body }) => apps.update(principal, params.id, body),
  ),
  post(
    `${ONE}/rotate`,
    {
      scopes,
      audit: { ...audit, action: 'rotate' },
      summary: 'Give it a new secret, which is shown once',
      body: rotate,
      response: withSecret,
    },
    ({ principal, params, body }) => apps.rotate(principal, params.id, body),
  ),
  del(
    ONE,
    {
      scopes,
      audit,
      summary: 'Remove it; what users have allowed it ends',
      response: () => deleted('mcp-app'),
    },
    async ({ principal, params }) => {
      await apps.delete(principal, params.id);
      return { id: params.id, object: 'mcp-app', deleted: true };
    },
  ),
];
