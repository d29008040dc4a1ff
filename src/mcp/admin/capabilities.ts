import * as z from 'zod';
import { pageOf, pageQuery } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import { get, post, put, type Route } from '../../http/route.ts';

const TYPES = ['tool', 'prompt', 'resource', 'resource_template'] as const;
const type = () => z.enum(TYPES, { error: `give ${TYPES.map((each) => `"${each}"`).join(', ')}` });
const capabilityName = () =>
  z.string().min(1).max(2_048).describe('The URI of a resource, the template of a template.');
const MOST_AT_ONCE = 500;
const some = <Item extends z.ZodType>(item: Item) =>
  z.array(item, { error: 'give a list' }).min(1, 'give at least one').max(MOST_AT_ONCE);

const count = () => z.object({ total: z.number().int(), enabled: z.number().int() });
const counts = () => z.object({ tool: count(), prompt: count(), resource: count(), resource_template: count() });
const capability = () =>
  z
    .object({
      object: z.literal('mcp-capability'),
      type: type(),
      name: z.string(),
      enabled: z.boolean(),
      is_offered: z.boolean().describe('Whether the server had it when it was last asked for everything.'),
      hash: z.string().nullable().describe('SHA-256 of its definition as it was seen last; null: never seen.'),
      approved_hash: z.string().nullable(),
      status: z.enum(['approved', 'changed', 'pending']).nullable(),
      flags: z.array(z.string()).describe('hidden_unicode, overlong'),
      definition: z.string().nullable().describe('What was hashed, as JSON; cut where it is long.'),
      approved_definition: z
        .string()
        .nullable()
        .describe('What was approved, as JSON; null: nothing was, or it was approved before this was kept.'),
      first_seen_at: z.string(),
      changed_at: z.string(),
    })
    .meta({ id: 'McpCapability' });
const metadata = () =>
  z.object({
    server_name: z.string().nullable(),
    server_version: z.string().nullable(),
    protocol_version: z.string().nullable(),
    capability_flags: z.array(z.string()),
    sync_status: z.enum(['never', 'success', 'failed']),
    last_synced_at: z.string().nullable(),
    sync_error: z.string().nullable(),
  });
export const switches = () =>
  z.strictObject({
    capabilities: some(
      z.strictObject({ name: capabilityName(), type: type(), enabled: z.boolean({ error: 'give true or false' }) }),
    ),
  });
const approvals = () =>
  z.strictObject({
    capabilities: some(
      z.strictObject({
        name: capabilityName(),
        type: type().optional().describe('"tool" when nothing is said.'),
        hash: z.string().regex(/^[0-9a-f]{64}$/, 'give the hash of the definition that you approve'),
      }),
    ),
  });
const access = () =>
  pageOf(() => z.object({ user_id: z.string(), enabled: z.boolean(), has_override: z.boolean() })).extend({
    default_user_access: z.enum(['allow', 'deny']),
  });
const accessChange = () =>
  z
    .strictObject({
      default_user_access: z.enum(['allow', 'deny'], { error: 'give "allow" or "deny"' }).optional(),
      users: some(
        z.strictObject({
          user_id: z.uuid('give the id of a user'),
          enabled: z.boolean({ error: 'give true, false or null' }).nullable().describe('Null: as the default says.'),
        }),
      ).optional(),
    })
    .refine(
      ({ default_user_access, users }) => default_user_access !== undefined || users !== undefined,
      'says nothing; give default_user_access or users',
    );

const capabilityQuery = () => pageQuery().extend({ type: type().optional() });

/** What stands behind these routes: the policy in `mcp`. */
export interface McpCapabilityAdmin {
  list(who: Principal, server: string, query: Checked<typeof capabilityQuery>): Promise<object>;
  switch(who: Principal, server: string, list: Checked<typeof switches>['capabilities']): Promise<object>;
  approve(who: Principal, server: string, list: Checked<typeof approvals>['capabilities']): Promise<object>;
  metadata(who: Principal, server: string): Promise<object>;
  sync(who: Principal, server: string): Promise<object>;
  userAccess: {
    read(who: Principal, server: string, query: Checked<typeof pageQuery>): Promise<object>;
    change(who: Principal, server: string, change: Checked<typeof accessChange>): Promise<object>;
  };
}

const SERVER = '/v1/mcp-servers/:slug';
const change = { scopes: ['mcp_servers.update'], audit: { resource: 'mcp_servers' } } as const;

/** What MCP servers offer, which of it may be used, and by whom. */
export const mcpCapabilityRoutes = (admin: McpCapabilityAdmin): Route[] => [
  get(
    `${SERVER}/capabilities`,
    {
      scopes: ['mcp_servers.read'],
      summary: 'What an MCP server offers, and whether it may be used',
      query: capabilityQuery,
      response: () => pageOf(capability).extend({ counts: counts() }),
    },
    (call) => admin.list(call.principal, call.params.slug, call.query),
  ),
  put(
    `${SERVER}/capabilities`,
    {
      ...change,
      summary: 'Switch tools, prompts and resources of an MCP server on or off',
      body: switches,
      response: () => z.object({ object: z.literal('list'), counts: counts() }),
    },
    (call) => admin.switch(call.principal, call.params.slug, call.body.capabilities),
  ),
  post(
    `${SERVER}/capabilities/approve`,
    {
      ...change,
      audit: { resource: 'mcp_servers', action: 'approve' },
      summary: 'Approve definitions of tools as they were seen',
      body: approvals,
      response: () => z.object({ object: z.literal('list'), approved: z.number().int() }),
    },
    (call) => admin.approve(call.principal, call.params.slug, call.body.capabilities),
  ),
  post(
    `${SERVER}/sync`,
    {
      ...change,
      audit: { resource: 'mcp_servers', action: 'sync' },
      summary: 'Ask an MCP server for everything it offers',
      response: () => metadata().extend({ counts: counts() }),
    },
    (call) => admin.sync(call.principal, call.params.slug),
  ),
  get(
    `${SERVER}/metadata`,
    { scopes: ['mcp_servers.read'], summary: 'What an MCP server said of itself', response: metadata },
    (call) => admin.metadata(call.principal, call.params.slug),
  ),
  get(
    `${SERVER}/user-access`,
    {
      scopes: ['mcp_servers.read'],
      summary: 'Which users may use an MCP server',
      query: pageQuery,
      response: access,
    },
    (call) => admin.userAccess.read(call.principal, call.params.slug, call.query),
  ),
  put(
    `${SERVER}/user-access`,
    { ...change, summary: 'Say which users may use an MCP server', body: accessChange, response: access },
    (call) => admin.userAccess.change(call.principal, call.params.slug, call.body),
  ),
];
