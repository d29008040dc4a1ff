import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SCOPES } from '../../src/core/scopes.ts';
import type { Route } from '../../src/http/route.ts';
import { ADMIN_KEY, expired, type Reply, startGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

// Started while the file loads, because each route of its table becomes a test.
const gateway = await startGateway();
const { api, given, routes } = gateway;
afterAll(() => gateway.stop());

const isPublic = (route: Route) => route.scopes === 'public';
const guarded = routes.filter((route) => !isPublic(route));
const withoutOrganisation = SCOPES.filter((scope) => scope !== 'organisation.manage');

/** One of each resource, in the default workspace. */
const ours = {
  server: 'ours-mcp',
  apiKey: '',
  virtualKey: 'sim',
  workspace: 'default',
  log: '',
  file: '',
  upload: '',
  tuning: '',
  assistant: '',
  thread: '',
  message: '',
  run: '',
  step: '',
  conversation: '',
  container: '',
  vectorStore: '',
  fileBatch: '',
  webhook: '',
  alertChannel: '',
  alert: '',
  view: '',
  feedback: '',
};
let stranger: { id: string; key: string };
/** A stranger with a virtual key, for routes that do not look at anything before they have one. */
let equipped: { id: string; key: string };
const needsVirtualKey = ({ path }: Route) => /^\/v1\/(threads|batches|fine_tuning)\//.test(path);
const lacking = new Map<string, string>();

beforeAll(async () => {
  ours.apiKey = (await given.apiKey({ name: 'ours' })).id;
  const entry = await gateway.logOf(await api.get('/v1/models', { headers: { 'x-gateway-virtual-key': 'sim' } }));
  ours.log = entry.id;
  const form = new FormData();
  form.append('file', new File(['ours'], 'ours.txt'));
  form.append('purpose', 'user_data');
  ours.file = (await api.post('/v1/files', form)).json.id;
  const upload = { filename: 'ours.txt', purpose: 'user_data', bytes: 1, mime_type: 'text/plain' };
  ours.upload = (await api.post('/v1/uploads', upload)).json.id;
  const examples = new FormData();
  examples.append('file', new File(['{"messages":[]}\n'], 'ours.jsonl'));
  examples.append('purpose', 'fine-tune');
  const training_file = (await api.post('/v1/files', examples)).json.id;
  const tuning = { model: 'never-done', training_file };
  const headers = { 'x-gateway-virtual-key': 'sim' };
  ours.tuning = (await api.post('/v1/fine_tuning/jobs', tuning, { headers })).json.id;
  ours.assistant = (await api.post('/v1/assistants', { model: 'any' })).json.id;
  const thread = { messages: [{ role: 'user', content: 'ours' }] };
  const run = (await api.post('/v1/threads/runs', { assistant_id: ours.assistant, thread }, { headers })).json;
  [ours.thread, ours.run] = [run.thread_id, run.id];
  const place = `/v1/threads/${ours.thread}`;
  ours.message = (await api.get(`${place}/messages`, { headers })).json.data.at(-1).id;
  await eventually('the run has a step', async () => {
    ours.step = (await api.get(`${place}/runs/${ours.run}/steps`, { headers })).json.data[0]?.id ?? '';
    return ours.step !== '';
  });
  const said = { items: [{ type: 'message', role: 'user', content: 'ours', id: 'msg_ours' }] };
  ours.conversation = (await api.post('/v1/conversations', said)).json.id;
  ours.container = (await api.post('/v1/containers', { name: 'ours', file_ids: [ours.file] })).json.id ?? 'cntr_none';
  ours.vectorStore = (await api.post('/v1/vector_stores', { file_ids: [ours.file] })).json.id;
  const batch = { file_ids: [training_file] };
  ours.fileBatch = (await api.post(`/v1/vector_stores/${ours.vectorStore}/file_batches`, batch)).json.id;
  const webhook = { name: 'ours', url: 'https://example.com/hook', events: ['batch.completed'] };
  ours.webhook = (await api.post('/v1/webhooks', webhook)).json.id;
  const channel = { name: 'ours', kind: 'slack', settings: { url: 'https://example.com/hook' } };
  ours.alertChannel = (await api.post('/v1/alert-channels', channel)).json.id;
  const alert = { name: 'ours', condition: { type: 'key_expiring' }, channels: [ours.alertChannel] };
  ours.alert = (await api.post('/v1/alerts', alert)).json.id;
  const view = { name: 'ours', page: 'explore', query: {}, is_shared: true };
  ours.view = (await api.post('/v1/views', view)).json.id;
  const rater = await given.apiKey({ name: 'rater', scopes: ['feedbacks.write'] });
  const feedback = await api.post('/v1/feedback', { trace_id: 'ours', value: 1 }, { key: rater.key });
  ours.feedback = feedback.json.feedback_ids[0];
  await api.post('/v1/mcp-servers', { name: 'ours', slug: ours.server, url: gateway.provider.url });
  const workspace = await given.workspace({ slug: 'strangers' });
  stranger = await given.apiKey({ workspace_id: workspace.id, scopes: withoutOrganisation });
  const other = await given.workspace({ slug: 'equipped-strangers' });
  await given.virtualKey({ slug: 'theirs', workspace_id: other.id });
  const defaults = { virtual_key: 'theirs' };
  equipped = await given.apiKey({ workspace_id: other.id, scopes: withoutOrganisation, defaults });
  for (const scope of new Set(guarded.flatMap(({ scopes }) => [...scopes]))) {
    const { key } = await given.apiKey({ scopes: SCOPES.filter((other) => other !== scope) });
    lacking.set(scope, key);
  }
});

/** A path of that route which leads to something that exists. */
function pathOf({ path }: Route): string {
  if (path.startsWith('/v1/logs')) return path.replace(':id', ours.log);
  if (path.startsWith('/v1/feedback')) return path.replace(':id', ours.feedback);
  if (path.startsWith('/v1/webhooks')) return path.replace(':id', ours.webhook);
  if (path.startsWith('/v1/alert-channels')) return path.replace(':id', ours.alertChannel);
  if (path.startsWith('/v1/alerts')) return path.replace(':id', ours.alert);
  if (path.startsWith('/v1/views')) return path.replace(':id', ours.view);
  if (/^\/v1\/mcp-(?:servers|integrations)/.test(path)) return path.replace(':slug', ours.server);
  return path
    .replace(':server', ours.server)
    .replace(':id', ours.apiKey)
    .replace(':slug', ours.virtualKey)
    .replace(':provider', ours.virtualKey)
    .replace(':workspace', ours.workspace)
    .replace(':file_id', ours.file)
    .replace(':upload_id', ours.upload)
    .replace(':fine_tuning_job_id', ours.tuning)
    .replace(':assistant_id', ours.assistant)
    .replace(':thread_id', ours.thread)
    .replace(':message_id', ours.message)
    .replace(':run_id', ours.run)
    .replace(':step_id', ours.step)
    .replace(':conversation_id', ours.conversation)
    .replace(':item_id', 'msg_ours')
    .replace(':container_id', ours.container)
    .replace(':vector_store_id', ours.vectorStore)
    .replace(':batch_id', ours.fileBatch)
    .replace('*', 'echo');
}

/** What stands in such a path is not the id of a resource: each caller gets an answer about its own. */
const isQuestion = ({ path }: Route) => path.startsWith('/v1/analytics/');

const titleOf = ({ method, path }: Route) => `${method} ${path}`;

const SCIM_BODY = {
  userName: 'taken@example.com',
  displayName: 'taken over',
  Operations: [{ op: 'replace', path: 'displayName', value: 'taken over' }],
};

/** A body that the route takes, where it needs one to be looked at. */
function bodyOf({ path, body }: Route): Record<string, unknown> | undefined {
  if (!body || path.endsWith('/rotate')) return undefined;
  if (path.startsWith('/scim/')) return SCIM_BODY;
  if (path === '/v1/feedback/:id') return { value: 9 };
  if (path.endsWith('/:workspace/users')) return { user_id: crypto.randomUUID(), role: 'member' };
  if (path.endsWith('/:user')) return { role: 'member' };
  if (path.endsWith('/users/:id')) return { first_name: 'taken over' };
  if (path.endsWith('/:thread_id/runs')) return { assistant_id: ours.assistant };
  if (path.endsWith('/messages')) return { role: 'user', content: 'taken over' };
  if (path.endsWith('/submit_tool_outputs')) return { tool_outputs: [] };
  if (path.endsWith('/capabilities')) return { capabilities: [{ name: 'look', type: 'tool', enabled: false }] };
  if (path.endsWith('/approve')) return { capabilities: [{ name: 'look', hash: '0'.repeat(64) }] };
  if (path.endsWith('/user-access')) return { default_user_access: 'deny' };
  if (path.endsWith('/search')) return { query: 'ours' };
  if (path.endsWith('/prices')) return { models: ['any'] };
  if (path.endsWith('/models')) return { models: [] };
  if (path.endsWith('/:slug/workspaces')) return { workspaces: [] };
  if (path.endsWith('/:vector_store_id/files')) return { file_id: ours.file };
  if (path.endsWith('/sync')) return { source: 'folder:ours', holder: 'a stranger' };
  if (path.endsWith('/sync/:sync_id'))
    return { progress: { total: 0, done: 0, uploaded: 0, removed: 0, failed: 0, bytes: 0 } };
  if (path.endsWith('/file_batches')) return { file_ids: [ours.file] };
  if (path.endsWith('/:vector_store_id/files/:file_id')) return { attributes: { name: 'taken over' } };
  if (path.endsWith('/:conversation_id/items')) return { items: [{ role: 'user', content: 'taken over' }] };
  if (path.startsWith('/v1/threads/') || path.startsWith('/v1/conversations/'))
    return { metadata: { name: 'taken over' } };
  return path.endsWith('/complete') ? { part_ids: ['part_x'] } : { name: 'taken over' };
}

/** HEAD answers have no body to look into. */
/** Google's clients find the code among the details; Ollama's are told a text alone. */
const codeOf = (route: Route, reply: Reply, expected: string) => {
  if (route.method === 'HEAD') return expected;
  const { error, code } = reply.json ?? {};
  if (route.dialect === 'scim') return code;
  if (route.dialect === 'ollama') return typeof error === 'string' ? expected : error;
  return route.dialect === 'gemini' ? error?.details?.[0]?.reason : error?.code;
};

test('exactly the pages for strangers and orchestrators are public', () => {
  expect(routes.filter(isPublic).map(titleOf).sort()).toEqual([
    'GET /',
    'GET /.well-known/jwks.json',
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/oauth-client',
    'GET /.well-known/oauth-protected-resource',
    'GET /.well-known/oauth-protected-resource/:server/mcp',
    'GET /.well-known/oauth-protected-resource/mcp',
    'GET /.well-known/openid-configuration',
    'GET /api/version',
    'GET /connect',
    'GET /connect/:server',
    'GET /console/*',
    'GET /device',
    'GET /docs',
    'GET /health',
    'GET /oauth/authorize',
    'GET /oauth/device',
    'GET /oauth/sign-in/provider',
    'GET /oauth/upstream-callback',
    'GET /openapi.json',
    'GET /ready',
    'GET /v1/sessions/oidc',
    'GET /v1/sessions/oidc/callback',
    'GET /v1/sessions/ways',
    'HEAD /console/*',
    'OPTIONS /.well-known/oauth-authorization-server',
    'OPTIONS /.well-known/openid-configuration',
    'OPTIONS /:server/mcp',
    'OPTIONS /mcp',
    'OPTIONS /mcp/code',
    'OPTIONS /mcp/search',
    'OPTIONS /mcp/sets/:set',
    'OPTIONS /oauth/device_authorization',
    'OPTIONS /oauth/register',
    'OPTIONS /oauth/revoke',
    'OPTIONS /oauth/token',
    'OPTIONS /v1/realtime/calls',
    'OPTIONS /v1/realtime/calls/:call_id/hangup',
    'POST /connect',
    'POST /connect/:server',
    'POST /connect/:server/disconnect',
    'POST /connect/:server/sign-in',
    'POST /oauth/consent',
    'POST /oauth/device',
    'POST /oauth/device_authorization',
    'POST /oauth/register',
    'POST /oauth/revoke',
    'POST /oauth/sign-in',
    'POST /oauth/token',
    'POST /v1/sessions',
    'POST /v1/sessions/first-owner',
    'POST /v1/sessions/invites/accept',
  ]);
});

/** A caller that signs in, or asks for a token, has no key yet and brings something else. */
const isSignIn = ({ path }: Route) =>
  ['/v1/sessions', '/oauth/', '/device', '/connect'].some((start) => path.startsWith(start));

for (const route of routes.filter((route) => isPublic(route) && !isSignIn(route))) {
  test(`${titleOf(route)} answers without a key`, async () => {
    expect((await api.call(route.method, route.path, { key: null })).status).toBe(
      route.method === 'OPTIONS' ? 204 : 200,
    );
  });
}

for (const route of guarded) {
  describe(titleOf(route), () => {
    test('needs a key', async () => {
      const reply = await api.call(route.method, pathOf(route), { key: null });
      expect(reply.status).toBe(401);
      expect(codeOf(route, reply, 'missing_api_key')).toBe('missing_api_key');
    });

    test('refuses a key nobody issued', async () => {
      const reply = await api.call(route.method, pathOf(route), { key: `${ADMIN_KEY}x` });
      expect(reply.status).toBe(401);
      expect(codeOf(route, reply, 'invalid_api_key')).toBe('invalid_api_key');
    });

    for (const scope of route.scopes) {
      test(`refuses a key that holds every scope but ${scope}`, async () => {
        const reply = await api.call(route.method, pathOf(route), { key: lacking.get(scope)! });
        expect(reply.status).toBe(403);
        expect(codeOf(route, reply, 'insufficient_scope')).toBe('insufficient_scope');
        const { error, detail } = reply.json ?? {};
        if (route.method !== 'HEAD') expect(detail ?? error.message ?? error).toContain(scope);
      });
    }

    if (route.path.includes('/:') && !isQuestion(route) && !route.scopes.includes('organisation.manage')) {
      test("answers another workspace's resource like a missing one", async () => {
        const body = bodyOf(route);
        const { key } = needsVirtualKey(route) ? equipped : stranger;
        const reply = await api.call(route.method, pathOf(route), { key, body });
        const missing = await api.call(
          route.method,
          pathOf(route).replace(
            /(?<=\/)(default|sim|ours-mcp|[0-9a-f-]{36}|file-\w+|upload_\w+|ftjob-\w+|asst_\w+|thread_\w+|conv_\w+|cntr_\w+|vs_\w+)/,
            'no',
          ),
          { key, body },
        );
        expect(reply.status).toBe(404);
        expect(missing.status).toBe(404);
        expect(codeOf(route, reply, '')).toBe(codeOf(route, missing, ''));
        expect(reply.text).not.toMatch(/"(name|created_at)"/);
      });
    }
  });
}

test('what a stranger tried to change is as it was', async () => {
  expect((await api.get(`/v1/api-keys/${ours.apiKey}`)).json.name).toBe('ours');
  expect((await api.get('/v1/virtual-keys/sim')).json.name).toBe('sim');
  expect((await api.get('/v1/admin/workspaces/default')).json.name).toBe('Default');
  expect((await api.get(`/v1/files/${ours.file}/content`)).text).toBe('ours');
});

test("lists show a workspace's key only what is its own", async () => {
  const key = stranger.key;
  const keys = (await api.get('/v1/api-keys', { key })).json;
  expect(keys.data.map(({ id }: { id: string }) => id)).toEqual([stranger.id]);
  expect(keys.total).toBe(1);
  expect((await api.get('/v1/virtual-keys', { key })).json).toMatchObject({ data: [], total: 0 });
  const workspaces = (await api.get('/v1/admin/workspaces', { key })).json;
  expect(workspaces.data.map(({ slug }: { slug: string }) => slug)).toEqual(['strangers']);
  const logs = (await api.get('/v1/logs?limit=1000', { key })).json;
  for (const entry of logs.data) expect(entry.workspace_id).toBe(workspaces.data[0].id);
});

test("a workspace's key cannot reach another workspace by naming it", async () => {
  const key = stranger.key;
  const { id } = (await api.get('/v1/admin/workspaces/default')).json;
  for (const name of ['default', id]) {
    expect((await api.get(`/v1/api-keys?workspace_id=${name}`, { key })).status).toBe(404);
    expect((await api.get(`/v1/virtual-keys?workspace_id=${name}`, { key })).status).toBe(404);
    expect((await api.get(`/v1/logs?workspace_id=${name}`, { key })).status).toBe(404);
    const year = 'time_of_generation_min=2026-01-01&time_of_generation_max=2026-12-31';
    for (const what of ['graphs/cost', 'graphs/feedbacks', 'groups/users', 'groups/metadata/team'])
      expect((await api.get(`/v1/analytics/${what}?${year}&workspace_slug=${name}`, { key })).status).toBe(404);
    const made = await api.post('/v1/api-keys', { name: 'spy', workspace_id: name, scopes: [] }, { key });
    expect(made.status).toBe(404);
    const stored = await api.post(
      '/v1/virtual-keys',
      { name: 'spy', provider: 'openai', key: 'sk-spy', workspace_id: name },
      { key },
    );
    expect(stored.status).toBe(404);
  }
});

test("a workspace's key cannot call with another workspace's virtual key, by header, model or default", async () => {
  const byHeader = await api.get('/v1/models', { key: stranger.key, headers: { 'x-gateway-virtual-key': 'sim' } });
  const byModel = await api.post('/v1/chat/completions', { model: '@sim/any', messages: [] }, { key: stranger.key });
  const defaulted = await given.apiKey({ workspace_id: 'strangers', defaults: { virtual_key: 'sim' } });
  const byDefault = await api.get('/v1/models', { key: defaulted.key });
  for (const reply of [byHeader, byModel, byDefault]) {
    expect(reply.status).toBe(400);
    expect(reply.json.error.code).toBe('unknown_virtual_key');
    // Every answer of the provider says that it is one.
    expect(reply.headers.get('x-simulated')).toBeNull();
  }
});

test('a key is refused once it has expired', async () => {
  const { id, key } = await given.apiKey();
  expect((await api.get('/v1/providers', { key })).status).toBe(200);

  await expired((expires_at) => api.put(`/v1/api-keys/${id}`, { expires_at }));

  const reply = await api.get('/v1/providers', { key });
  expect(reply.status).toBe(401);
  expect(reply.json.error).toMatchObject({ code: 'expired_api_key', type: 'authentication_error' });
  expect((await api.get(`/v1/api-keys/${id}`)).json.status).toBe('expired');
});

describe('the gateway key is found', () => {
  const ways: [string, Record<string, string>][] = [
    ['in x-gateway-api-key', { 'x-gateway-api-key': ADMIN_KEY }],
    ['in Authorization: Bearer', { authorization: `Bearer ${ADMIN_KEY}` }],
    ['in authorization: bearer, whatever its case', { authorization: `bearer ${ADMIN_KEY}` }],
    ['in x-api-key', { 'x-api-key': ADMIN_KEY }],
    ['in x-goog-api-key', { 'x-goog-api-key': ADMIN_KEY }],
    [
      'in Authorization beside an empty x-gateway-api-key',
      {
        'x-gateway-api-key': '',
        authorization: `Bearer ${ADMIN_KEY}`,
      },
    ],
    ['in x-api-key beside an Authorization of another kind', { authorization: 'Basic YTpi', 'x-api-key': ADMIN_KEY }],
  ];
  for (const [name, headers] of ways) {
    test(name, async () => {
      expect((await api.get('/v1/providers', { key: null, headers })).status).toBe(200);
    });
  }
});

test('a wrong x-gateway-api-key is not saved by a right Authorization', async () => {
  const reply = await api.get('/v1/providers', { key: 'gw-wrong', headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  expect(reply.status).toBe(401);
});

test('paths of our own answer 405 to other methods and are never passed to a provider', async () => {
  const calls = gateway.provider.calls;
  const headers = { 'x-gateway-virtual-key': 'sim' };
  for (const [method, path, allow] of [
    ['DELETE', '/v1/providers', 'POST, GET, HEAD'],
    ['PATCH', '/v1/api-keys', 'POST, GET, HEAD'],
    ['PUT', '/v1/logs', 'GET, POST, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
    ['OPTIONS', '/health', 'GET, HEAD'],
    ['OPTIONS', '/v1/api-keys', 'POST, GET, HEAD'],
    ['OPTIONS', '/v1/echo', 'GET, POST, PUT, PATCH, DELETE, HEAD'],
  ] as const) {
    const reply = await api.call(method, path, { headers });
    expect(reply.status).toBe(405);
    expect(reply.json.error.code).toBe('method_not_allowed');
    expect(reply.headers.get('allow')).toBe(allow);
  }
  expect(gateway.provider.calls).toBe(calls);
});

test('a path outside /v1 that is not ours is not found', async () => {
  const reply = await api.get('/v2/models', { headers: { 'x-gateway-virtual-key': 'sim' } });
  expect(reply.status).toBe(404);
  expect(reply.json.error.code).toBe('route_not_found');
});
