import { createHash } from 'node:crypto';
import type { TestGateway } from './gateway.ts';
import { filledLeaving, givenConnection } from './mcp/connecting.ts';
import { filledForms, ownApp } from './mcp/oauth.ts';
import { startMcpServer } from './mcp/recorder.ts';
import { signIn } from './people.ts';
import { query } from './state-tables.ts';

export interface AdminCall {
  readonly path: string;
  readonly body?: Record<string, unknown>;
  /** In place of a body, for what pages send. */
  readonly form?: string;
  /** 200 unless given. */
  readonly status?: number;
  /** It tries something out and stores nothing. */
  readonly changesNothing?: boolean;
  /** What it is called with in place of the admin key. */
  readonly as?: { readonly key: null; readonly headers?: Readonly<Record<string, string>> };
}

/** So that a test that asks the same gateway twice gets two names. */
let count = 0;

export const PASSWORD = 'correct horse battery';

/** A list of prices with its checksum. */
function priceList(): Record<string, unknown> {
  const content = JSON.stringify({
    as_of: '2026-11-16',
    prices: { openai: { [`m-${count++}`]: { input: 1, output: 2 } } },
  });
  return { source: 'list.json', content, sha256: createHash('sha256').update(content).digest('hex') };
}

/**
 * For each admin route that changes something, a call that works: what must be there for it is made first. A route
 * without one makes the walk through the audited routes fail.
 */
export function adminCalls(gateway: TestGateway): Readonly<Record<string, () => Promise<AdminCall>>> {
  const { api, given, url } = gateway;
  const name = () => `call-${count++}`;
  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await api.post(path, body);
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return reply.json;
  };
  const config = () => ({ name: name(), config: { virtual_key: 'sim' } });
  const guardrail = () => ({ name: name(), checks: [{ id: 'default.notNull', parameters: {} }] });
  const server = () => ({ name: name(), url: `${url}/mcp` });
  const mcpApp = () => ({ name: name(), redirect_uris: ['https://app.example/callback'] });
  const toolSet = async () => {
    const { slug } = await made('/v1/mcp-servers', server());
    return { name: name(), tools: [{ server: slug, tool: 'x' }] };
  };
  /** One with a tool whose definition hides something and so waits for approval. */
  const syncedServer = async () => {
    const upstream = startMcpServer([{ name: 'tool', description: 'hides\u200bsomething' }]);
    const { slug } = await made('/v1/mcp-servers', { name: name(), url: upstream.url });
    await api.post(`/v1/mcp-servers/${slug}/sync`);
    upstream.stop();
    const { json } = await api.get(`/v1/mcp-servers/${slug}/capabilities`);
    return { slug, hash: json.data[0].hash };
  };
  const condition = { conditions: [{ key: 'workspace_id', value: '*' }], group_by: [{ key: 'api_key' }] };
  const rate = () => ({ ...condition, type: 'requests', unit: 'rpm', value: 100_000 });
  const usage = () => ({ ...condition, type: 'requests', credit_limit: 1_000_000 });

  const webhook = () => ({ name: name(), url: `${url}/hook` });

  const channel = () => ({ name: name(), kind: 'slack', settings: { url: `${url}/hook` } });
  const channelPlace = async () => `/v1/alert-channels/${(await made('/v1/alert-channels', channel())).id}`;
  const alert = () => ({ name: name(), condition: { type: 'key_expiring' } });
  const alertPlace = async () => `/v1/alerts/${(await made('/v1/alerts', alert())).id}`;

  const view = () => ({ name: name(), page: 'explore', query: { metric: 'cost' }, is_shared: true });
  const viewPlace = async () => `/v1/views/${(await made('/v1/views', view())).id}`;

  const scimUser = () => ({ userName: `${name()}@example.com` });
  const scimGroup = () => ({ displayName: name() });
  const scimPatch = () => ({ Operations: [{ op: 'replace', path: 'externalId', value: name() }] });
  const scimMapping = () => ({ group: name(), workspace: 'default', role: 'member' });
  const scimPlace = async (kind: 'Users' | 'Groups') => {
    const { json } = await api.post(`/scim/v2/${kind}`, kind === 'Users' ? scimUser() : scimGroup());
    return `/scim/v2/${kind}/${json.id}`;
  };

  const person = () => ({ email: `${name()}@example.com`, role: 'member' });
  const user = () => made('/v1/admin/users', person());
  const userWithPassword = () => made('/v1/admin/users', { ...person(), password: PASSWORD });
  const invite = () => made('/v1/admin/users/invites', { email: `${name()}@example.com`, role: 'member' });
  const workspacePlace = async () => `/v1/admin/workspaces/${(await given.workspace({ name: name() })).id}/users`;
  const memberPlace = async () => {
    const [place, { id }] = await Promise.all([workspacePlace(), user()]);
    await made(place, { user_id: id, role: 'member' });
    return `${place}/${id}`;
  };
  const signedIn = async () => {
    const { email } = await userWithPassword();
    const reply = await api.post('/v1/sessions', { email, password: PASSWORD }, { key: null });
    const cookie = reply.headers.get('set-cookie')!.split(';')[0]!;
    return { key: null, headers: { cookie, 'x-gateway-csrf': reply.json.csrf_token } };
  };
  /** A member who has a key of their own, where members may. */
  const ownKey = async () => {
    await api.put('/v1/admin/workspaces/default', { member_keys: {} });
    const as = await signedIn();
    const { json } = await api.post('/v1/own-keys', { name: name() }, as);
    return { as, path: `/v1/own-keys/${json.id}` };
  };
  const integration = () => ({ name: name(), ai_provider_id: 'openai', key: 'sk-not-a-real-key' });
  const integrationPlace = async () => `/v1/integrations/${(await made('/v1/integrations', integration())).slug}`;
  const pay_as_you_go = { request_token: { price: 0.1 }, response_token: { price: 0.1 } };
  const housePrice = {
    slug: 'house',
    enabled: true,
    is_custom: true,
    pricing_config: { type: 'static', pay_as_you_go },
  };
  const provider = async () => ({
    ...{ name: name(), workspace_id: 'default' },
    integration_id: (await made('/v1/integrations', integration())).slug,
  });
  const providerPlace = async () => `/v1/providers/${(await made('/v1/providers', await provider())).id}`;
  const mcpIntegration = () => ({ ...server(), auth_type: 'none', transport: 'http' });
  const mcpPlace = async () => `/v1/mcp-integrations/${(await made('/v1/mcp-integrations', mcpIntegration())).id}`;
  const groupMapping = () => ({ workspace_id: 'default', role: 'member', scim_group_name: name() });
  const stranger = { key: null } as const;
  const jwks = { keys: [{ kty: 'RSA', kid: 'one', n: 'n', e: 'AQAB' }] };

  return {
    'POST /v1/own-keys': async () => ({ path: '/v1/own-keys', body: { name: name() }, as: (await ownKey()).as }),
    'POST /v1/own-keys/:id/rotate': async () => {
      const { as, path } = await ownKey();
      return { path: `${path}/rotate`, body: {}, as };
    },
    'DELETE /v1/own-keys/:id': ownKey,
    'POST /v1/admin/users': async () => ({ path: '/v1/admin/users', body: person() }),
    'PUT /v1/admin/users/:id': async () => ({
      path: `/v1/admin/users/${(await user()).id}`,
      body: { first_name: name() },
    }),
    'DELETE /v1/admin/users/:id': async () => ({ path: `/v1/admin/users/${(await user()).id}` }),
    'POST /v1/admin/erasures': async () => ({ path: '/v1/admin/erasures', body: { user: (await user()).id } }),
    'POST /v1/admin/users/invites': async () => ({
      path: '/v1/admin/users/invites',
      body: { email: `${name()}@example.com`, role: 'member' },
    }),
    'DELETE /v1/admin/users/invites/:id': async () => ({ path: `/v1/admin/users/invites/${(await invite()).id}` }),
    'POST /v1/admin/users/invites/:id/resend': async () => ({
      path: `/v1/admin/users/invites/${(await invite()).id}/resend`,
    }),
    'POST /v1/sessions/invites/accept': async () => ({
      path: '/v1/sessions/invites/accept',
      body: { token: (await invite()).invite_link.split('#invite=')[1], password: PASSWORD },
      as: stranger,
    }),
    'POST /v1/admin/workspaces/:workspace/users': async () => ({
      path: await workspacePlace(),
      body: { user_id: (await user()).id, role: 'manager' },
    }),
    'PUT /v1/admin/workspaces/:workspace/users/:user': async () => ({
      path: await memberPlace(),
      body: { role: 'admin' },
    }),
    'DELETE /v1/admin/workspaces/:workspace/users/:user': async () => ({ path: await memberPlace() }),
    'POST /v1/sessions': async () => ({
      path: '/v1/sessions',
      body: { email: (await userWithPassword()).email, password: PASSWORD },
      as: stranger,
    }),
    'POST /v1/sessions/first-owner': async () => {
      await query(gateway, "update users set role = 'admin' where role = 'owner'");
      const token = (await gateway.ownerLink())!.split('#owner=')[1];
      return {
        path: '/v1/sessions/first-owner',
        body: { ...person(), role: undefined, token, password: PASSWORD },
        as: stranger,
      };
    },
    'DELETE /v1/sessions/:id': async () => {
      const as = await signedIn();
      const { json } = await api.get('/v1/sessions', as);
      return { path: `/v1/sessions/${json.data[0].id}`, as };
    },
    'POST /oauth/sign-in': async () => ({ path: '/oauth/sign-in', ...(await filledForms(gateway)).signIn }),
    'POST /oauth/device': async () => ({ path: '/oauth/device', ...(await filledForms(gateway)).device }),
    'PUT /v1/admin/organisation/managed-settings': async () => ({
      path: '/v1/admin/organisation/managed-settings',
      body: { settings: { model: name() } },
    }),
    'PUT /v1/admin/workspaces/:workspace/managed-settings': async () => ({
      path: '/v1/admin/workspaces/default/managed-settings',
      body: { settings: { model: name() } },
    }),
    'POST /oauth/consent': async () => ({ path: '/oauth/consent', ...(await filledForms(gateway)).consent }),
    'DELETE /v1/sessions/current': async () => ({ path: '/v1/sessions/current', as: await signedIn() }),
    'POST /v1/sessions/current/password': async () => ({
      path: '/v1/sessions/current/password',
      body: { current_password: PASSWORD, new_password: 'another good password' },
      as: await signedIn(),
    }),
    'PUT /v1/admin/organisation/machine-tokens': async () => ({
      path: '/v1/admin/organisation/machine-tokens',
      body: { jwks, issuer: name() },
    }),
    'DELETE /v1/admin/organisation/machine-tokens': async () => {
      await api.put('/v1/admin/organisation/machine-tokens', { jwks });
      return { path: '/v1/admin/organisation/machine-tokens' };
    },
    'POST /v1/admin/prices/sync': async () => ({ path: '/v1/admin/prices/sync', body: priceList() }),
    'POST /v1/analytics/rebuild': async () => ({ path: '/v1/analytics/rebuild', changesNothing: true }),
    'DELETE /v1/admin/prices': async () => {
      await api.post('/v1/admin/prices/sync', priceList());
      return { path: '/v1/admin/prices' };
    },
    'POST /v1/admin/workspaces': async () => ({ path: '/v1/admin/workspaces', body: { name: name() } }),
    'PUT /v1/admin/workspaces/:workspace': async () => ({
      path: `/v1/admin/workspaces/${(await given.workspace({ name: name() })).id}`,
      body: { name: name() },
    }),
    'DELETE /v1/admin/workspaces/:workspace': async () => ({
      path: `/v1/admin/workspaces/${(await given.workspace({ name: name() })).id}`,
    }),
    'POST /v1/api-keys': async () => ({ path: '/v1/api-keys', body: { name: name() } }),
    'PUT /v1/api-keys/:id': async () => ({ path: `/v1/api-keys/${(await given.apiKey()).id}`, body: { name: name() } }),
    'DELETE /v1/api-keys/:id': async () => ({ path: `/v1/api-keys/${(await given.apiKey()).id}` }),
    'POST /v1/api-keys/:id/rotate': async () => ({
      path: `/v1/api-keys/${(await given.apiKey()).id}/rotate`,
      body: {},
    }),
    'POST /v1/virtual-keys': async () => ({
      path: '/v1/virtual-keys',
      body: { name: name(), provider: 'openai', key: 'sk-test-credential' },
    }),
    'PUT /v1/virtual-keys/:slug': async () => ({
      path: `/v1/virtual-keys/${(await given.virtualKey({ name: name() })).slug}`,
      body: { note: name() },
    }),
    'DELETE /v1/virtual-keys/:slug': async () => ({
      path: `/v1/virtual-keys/${(await given.virtualKey({ name: name() })).slug}`,
    }),
    'POST /v1/configs': async () => ({ path: '/v1/configs', body: config() }),
    'PUT /v1/configs/:slug': async () => ({
      path: `/v1/configs/${(await made('/v1/configs', config())).slug}`,
      body: { name: name() },
    }),
    'DELETE /v1/configs/:slug': async () => ({ path: `/v1/configs/${(await made('/v1/configs', config())).slug}` }),
    'POST /v1/guardrails': async () => ({ path: '/v1/guardrails', body: guardrail() }),
    'PUT /v1/guardrails/:guardrail': async () => ({
      path: `/v1/guardrails/${(await made('/v1/guardrails', guardrail())).slug}`,
      body: {},
    }),
    'DELETE /v1/guardrails/:guardrail': async () => ({
      path: `/v1/guardrails/${(await made('/v1/guardrails', guardrail())).id}`,
    }),
    'PUT /v1/admin/organisation': async () => ({ path: '/v1/admin/organisation', body: { forbidden: [] } }),
    'PUT /v1/admin/organisation/defaults': async () => ({
      path: '/v1/admin/organisation/defaults',
      body: { input_guardrails: [] },
    }),
    'POST /v1/mcp-tool-sets': async () => ({ path: '/v1/mcp-tool-sets', body: await toolSet() }),
    'PUT /v1/mcp-tool-sets/:slug': async () => ({
      path: `/v1/mcp-tool-sets/${(await made('/v1/mcp-tool-sets', await toolSet())).slug}`,
      body: { description: 'x' },
    }),
    'DELETE /v1/mcp-tool-sets/:slug': async () => ({
      path: `/v1/mcp-tool-sets/${(await made('/v1/mcp-tool-sets', await toolSet())).slug}`,
    }),
    'POST /v1/mcp-servers': async () => ({ path: '/v1/mcp-servers', body: server() }),
    'PUT /v1/mcp-servers/:slug': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}`,
      body: { description: name() },
    }),
    'DELETE /v1/mcp-servers/:slug': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}`,
    }),
    'PUT /v1/mcp-servers/:slug/capabilities': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}/capabilities`,
      body: { capabilities: [{ type: 'tool', name: name(), enabled: false }] },
    }),
    'POST /v1/mcp-servers/:slug/capabilities/approve': async () => {
      const { slug, hash } = await syncedServer();
      return {
        path: `/v1/mcp-servers/${slug}/capabilities/approve`,
        body: { capabilities: [{ name: 'tool', hash }] },
      };
    },
    'POST /v1/mcp-servers/:slug/sync': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}/sync`,
    }),
    'PUT /v1/mcp-servers/:slug/user-access': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}/user-access`,
      body: { default_user_access: 'deny' },
    }),
    'POST /v1/mcp-servers/:slug/test': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}/test`,
      changesNothing: true,
    }),
    'POST /v1/webhooks': async () => ({ path: '/v1/webhooks', body: webhook() }),
    'PUT /v1/webhooks/:id': async () => ({
      path: `/v1/webhooks/${(await made('/v1/webhooks', webhook())).id}`,
      body: { name: name() },
    }),
    'POST /v1/webhooks/:id/rotate': async () => ({
      path: `/v1/webhooks/${(await made('/v1/webhooks', webhook())).id}/rotate`,
    }),
    'DELETE /v1/webhooks/:id': async () => ({
      path: `/v1/webhooks/${(await made('/v1/webhooks', webhook())).id}`,
    }),
    'POST /v1/alert-channels': async () => ({ path: '/v1/alert-channels', body: channel() }),
    'PUT /v1/alert-channels/:id': async () => ({ path: await channelPlace(), body: { name: name() } }),
    'POST /v1/alert-channels/:id/rotate': async () => {
      const { id } = await made('/v1/alert-channels', { ...channel(), kind: 'webhook' });
      return { path: `/v1/alert-channels/${id}/rotate` };
    },
    'POST /v1/alert-channels/:id/test': async () => ({ path: `${await channelPlace()}/test`, changesNothing: true }),
    'DELETE /v1/alert-channels/:id': async () => ({ path: await channelPlace() }),
    'POST /v1/alerts': async () => ({ path: '/v1/alerts', body: alert() }),
    'PUT /v1/alerts/:id': async () => ({ path: await alertPlace(), body: { name: name() } }),
    'POST /v1/alerts/:id/test': async () => ({ path: `${await alertPlace()}/test`, changesNothing: true }),
    'DELETE /v1/alerts/:id': async () => ({ path: await alertPlace() }),
    'POST /scim/v2/Users': async () => ({ path: '/scim/v2/Users', body: scimUser(), status: 201 }),
    'PUT /scim/v2/Users/:id': async () => ({ path: await scimPlace('Users'), body: scimUser() }),
    'PATCH /scim/v2/Users/:id': async () => ({ path: await scimPlace('Users'), body: scimPatch() }),
    'DELETE /scim/v2/Users/:id': async () => ({ path: await scimPlace('Users'), status: 204 }),
    'POST /scim/v2/Groups': async () => ({ path: '/scim/v2/Groups', body: scimGroup(), status: 201 }),
    'PUT /scim/v2/Groups/:id': async () => ({ path: await scimPlace('Groups'), body: scimGroup() }),
    'PATCH /scim/v2/Groups/:id': async () => ({ path: await scimPlace('Groups'), body: scimPatch(), status: 204 }),
    'DELETE /scim/v2/Groups/:id': async () => ({ path: await scimPlace('Groups'), status: 204 }),
    'POST /v1/admin/scim/mappings': async () => ({ path: '/v1/admin/scim/mappings', body: scimMapping() }),
    'DELETE /v1/admin/scim/mappings/:id': async () => ({
      path: `/v1/admin/scim/mappings/${(await made('/v1/admin/scim/mappings', scimMapping())).id}`,
    }),
    'POST /v1/views': async () => ({ path: '/v1/views', body: view() }),
    'PUT /v1/views/:id': async () => ({ path: await viewPlace(), body: { name: name() } }),
    'DELETE /v1/views/:id': async () => ({ path: await viewPlace() }),
    'POST /v1/mcp-apps': async () => ({ path: '/v1/mcp-apps', body: mcpApp() }),
    'PUT /v1/mcp-apps/:id': async () => ({
      path: `/v1/mcp-apps/${(await made('/v1/mcp-apps', mcpApp())).id}`,
      body: { name: name() },
    }),
    'POST /v1/mcp-apps/:id/rotate': async () => ({
      path: `/v1/mcp-apps/${(await made('/v1/mcp-apps', mcpApp())).id}/rotate`,
      body: {},
    }),
    'DELETE /v1/mcp-apps/:id': async () => ({ path: `/v1/mcp-apps/${(await made('/v1/mcp-apps', mcpApp())).id}` }),
    'DELETE /v1/own-apps/:id': () => ownApp(gateway),
    'DELETE /v1/own-connections/:server': async () => {
      const { slug, id } = await made('/v1/mcp-servers', { ...server(), auth_type: 'oauth_auto' });
      const { email, id: userId } = await userWithPassword();
      await givenConnection(gateway, id, userId);
      const { headers } = await signIn(gateway, email);
      return { path: `/v1/own-connections/${slug}`, as: { key: null, headers } };
    },
    'POST /connect': async () => ({
      path: '/connect',
      form: new URLSearchParams({ email: (await userWithPassword()).email, password: PASSWORD }).toString(),
      status: 303,
      as: { key: null, headers: { origin: url, 'content-type': 'application/x-www-form-urlencoded' } },
    }),
    'POST /connect/:server/sign-in': async () => ({
      path: '/connect/any/sign-in',
      form: new URLSearchParams({ email: (await userWithPassword()).email, password: PASSWORD }).toString(),
      status: 303,
      as: { key: null, headers: { origin: url, 'content-type': 'application/x-www-form-urlencoded' } },
    }),
    'POST /connect/:server/disconnect': () => filledLeaving(gateway),
    'DELETE /v1/mcp-servers/:slug/connections/:user': async () => {
      const { slug, id } = await made('/v1/mcp-servers', server());
      const { id: userId } = await user();
      await givenConnection(gateway, id, userId);
      return { path: `/v1/mcp-servers/${slug}/connections/${userId}` };
    },
    'POST /v1/integrations': async () => ({ path: '/v1/integrations', body: integration() }),
    'PUT /v1/integrations/:slug': async () => ({ path: await integrationPlace(), body: { name: name() } }),
    'DELETE /v1/integrations/:slug': async () => ({ path: await integrationPlace() }),
    'PUT /v1/integrations/:slug/models': async () => ({
      path: `${await integrationPlace()}/models`,
      body: { models: [housePrice] },
    }),
    'DELETE /v1/integrations/:slug/models': async () => {
      const path = `${await integrationPlace()}/models`;
      await api.put(path, { models: [housePrice] });
      return { path, body: { models: [housePrice.slug] } };
    },
    'PUT /v1/integrations/:slug/workspaces': async () => ({
      path: `${await integrationPlace()}/workspaces`,
      body: { workspaces: [{ id: (await given.workspace({ name: name() })).id, enabled: true }] },
    }),
    'POST /v1/providers': async () => ({ path: '/v1/providers', body: await provider() }),
    'PUT /v1/providers/:provider': async () => ({ path: await providerPlace(), body: { name: name() } }),
    'DELETE /v1/providers/:provider': async () => ({ path: await providerPlace() }),
    'POST /v1/mcp-integrations': async () => ({ path: '/v1/mcp-integrations', body: mcpIntegration() }),
    'PUT /v1/mcp-integrations/:slug': async () => ({ path: await mcpPlace(), body: { name: name() } }),
    'DELETE /v1/mcp-integrations/:slug': async () => ({ path: await mcpPlace() }),
    'PUT /v1/mcp-integrations/:slug/capabilities': async () => ({
      path: `${await mcpPlace()}/capabilities`,
      body: { capabilities: [{ name: 'look', type: 'tool', enabled: false }] },
    }),
    'PUT /v1/mcp-integrations/:slug/workspaces': async () => ({
      path: `${await mcpPlace()}/workspaces`,
      body: { workspaces: [{ id: 'default', enabled: true }] },
      status: 400,
      changesNothing: true,
    }),
    'POST /v1/scim/workspaces': async () => ({ path: '/v1/scim/workspaces', body: groupMapping() }),
    'DELETE /v1/scim/workspaces/:id': async () => ({
      path: `/v1/scim/workspaces/${(await made('/v1/scim/workspaces', groupMapping())).id}`,
    }),
    'POST /v1/secret-references': async () => ({
      path: '/v1/secret-references',
      body: { name: name(), manager_type: 'hashicorp_vault', auth_config: {}, secret_path: 'x' },
      status: 400,
      changesNothing: true,
    }),
    'POST /v1/api-keys/workspace/service': async () => ({
      path: '/v1/api-keys/workspace/service',
      body: { name: name(), workspace_id: 'default', scopes: ['completions.write'] },
    }),
    'POST /v1/api-keys/workspace/user': async () => {
      const { id } = await user();
      const body = { name: name(), workspace_id: 'default', user_id: id, scopes: ['completions.write'] };
      return { path: '/v1/api-keys/workspace/user', body };
    },
    'POST /v1/api-keys/organisation/service': async () => ({
      path: '/v1/api-keys/organisation/service',
      body: { name: name(), scopes: ['organisation.manage', 'workspaces.list'] },
    }),
    'POST /v1/api-keys/organisation/user': async () => ({
      path: '/v1/api-keys/organisation/user',
      body: { name: name(), user_id: (await user()).id },
      status: 400,
      changesNothing: true,
    }),
    'POST /v1/policies/rate-limits': async () => ({ path: '/v1/policies/rate-limits', body: rate() }),
    'PUT /v1/policies/rate-limits/:id': async () => ({
      path: `/v1/policies/rate-limits/${(await made('/v1/policies/rate-limits', rate())).id}`,
      body: { name: name() },
    }),
    'DELETE /v1/policies/rate-limits/:id': async () => ({
      path: `/v1/policies/rate-limits/${(await made('/v1/policies/rate-limits', rate())).id}`,
    }),
    'POST /v1/policies/usage-limits': async () => ({ path: '/v1/policies/usage-limits', body: usage() }),
    'PUT /v1/policies/usage-limits/:id': async () => ({
      path: `/v1/policies/usage-limits/${(await made('/v1/policies/usage-limits', usage())).id}`,
      body: { name: name() },
    }),
    'DELETE /v1/policies/usage-limits/:id': async () => ({
      path: `/v1/policies/usage-limits/${(await made('/v1/policies/usage-limits', usage())).id}`,
    }),
  };
}

/** Routes with tests of their own: one needs a call of a model to be counted first, one has a record for each of its steps. */
export const COUNTING = ['PUT /v1/policies/usage-limits/:id/entities/:entity/reset', 'POST /v1/admin/apply'];

/** Routes that are asked by POST because the question is long, and change nothing. */
export const ASKING = [
  'POST /v1/virtual-keys/:slug/prices',
  'POST /v1/configs/dry-run',
  'POST /v1/guardrails/try',
  'POST /v1/admin/apply/plan',
];
