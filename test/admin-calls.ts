import type { TestGateway } from './gateway.ts';

export interface AdminCall {
  readonly path: string;
  readonly body?: Record<string, unknown>;
  /** It tries something out and stores nothing. */
  readonly changesNothing?: boolean;
}

/**
 * For each admin route that changes something, a call that works: what must be there for it is made first. A route
 * without one makes the walk through the audited routes fail.
 */
export function adminCalls({ api, given, url }: TestGateway): Readonly<Record<string, () => Promise<AdminCall>>> {
  let count = 0;
  const name = () => `call-${count++}`;
  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await api.post(path, body);
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return reply.json;
  };
  const config = () => ({ name: name(), config: { virtual_key: 'sim' } });
  const server = () => ({ name: name(), url: `${url}/mcp` });
  const condition = { conditions: [{ key: 'workspace_id', value: '*' }], group_by: [{ key: 'api_key' }] };
  const rate = () => ({ ...condition, type: 'requests', unit: 'rpm', value: 100_000 });
  const usage = () => ({ ...condition, type: 'requests', credit_limit: 1_000_000 });

  return {
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
    'POST /v1/mcp-servers': async () => ({ path: '/v1/mcp-servers', body: server() }),
    'PUT /v1/mcp-servers/:slug': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}`,
      body: { description: name() },
    }),
    'DELETE /v1/mcp-servers/:slug': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}`,
    }),
    'POST /v1/mcp-servers/:slug/test': async () => ({
      path: `/v1/mcp-servers/${(await made('/v1/mcp-servers', server())).slug}/test`,
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

/** Routes that change counters and nothing of the store: there is no transaction for their record to be in. */
export const COUNTING = ['PUT /v1/policies/usage-limits/:id/entities/:entity/reset'];
