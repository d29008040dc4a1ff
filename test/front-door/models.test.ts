import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { expired, serve, startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { anthropicClient, openaiClient } from '../sdk-clients.ts';

/** Which models there are: of one provider in OpenAI's shape, or of all virtual keys together. */
let gateway: TestGateway;
const provider = startRecorder();

const LISTS: Record<string, unknown> = {
  '/v1beta/models?pageSize=1000': { models: [{ name: 'models/gemini-x', displayName: 'Gemini X' }] },
  '/v1beta/models/gemini-x': { name: 'models/gemini-x', displayName: 'Gemini X' },
  '/anthropic/models?limit=1000': {
    data: [{ type: 'model', id: 'claude-x', display_name: 'Claude X', created_at: '2025-05-14T00:00:00Z' }],
    has_more: false,
    first_id: 'claude-x',
    last_id: 'claude-x',
  },
  '/together/models': [{ id: 'org/llama', object: 'model', created: 7, organization: 'Org' }],
  '/openai/models': { object: 'list', data: [{ id: 'gpt-x', object: 'model', created: 9, owned_by: 'openai' }] },
};

const listing = ({ path }: { path: string }) =>
  LISTS[path] ? Response.json(LISTS[path]) : Response.json({ error: { message: `no ${path}` } }, { status: 404 });

const KEYS: Record<string, Record<string, unknown>> = {
  gemini: { provider: 'google', custom_host: `${provider.origin}/v1beta` },
  claude: { provider: 'anthropic', custom_host: `${provider.origin}/anthropic` },
  together: { provider: 'together-ai', custom_host: `${provider.origin}/together` },
  gpt: { provider: 'openai', custom_host: `${provider.origin}/openai` },
};

beforeAll(async () => {
  gateway = await startGateway();
  provider.answers(listing);
  for (const [slug, key] of Object.entries(KEYS))
    await gateway.given.virtualKey({ slug, key: `key-of-${slug}`, ...key });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

const via = (slug: string) => ({ headers: { 'x-gateway-virtual-key': slug } });
const idsOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);

describe('of the provider that was chosen', () => {
  test("other formats become OpenAI's", async () => {
    const { json } = await gateway.api.get('/v1/models', via('gemini'));
    expect(json).toMatchObject({
      object: 'list',
      data: [{ id: 'gemini-x', object: 'model', created: 0, owned_by: 'google', provider: 'google' }],
    });
    expect(provider.last.headers.get('x-goog-api-key')).toBe('key-of-gemini');
  });

  test("OpenAI's own passes byte for byte, its query too", async () => {
    const reply = await gateway.api.get('/v1/models', via('gpt'));
    expect(reply.text).toBe(JSON.stringify(LISTS['/openai/models']));
    await gateway.api.get('/v1/models?after=x', via('gpt'));
    expect(provider.last.path).toBe('/openai/models?after=x');
  });

  test("Anthropic's list serves clients of both", async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'claude' } });
    const theirs = await anthropicClient(gateway.url, key).models.list();
    expect(theirs.data[0]).toMatchObject({ id: 'claude-x', display_name: 'Claude X', type: 'model' });
    const openais = await openaiClient(gateway.url, key).models.list();
    expect(openais.data[0]).toMatchObject({ id: 'claude-x', object: 'model', created: 1_747_180_800 });
  });

  test('a config that finds models by their names lists these names, those that the key may call', async () => {
    const targets = [
      { name: 'quick', virtual_key: 'gpt', override_params: { model: 'gpt-x' } },
      { name: 'rest', passthrough: true },
    ];
    const find = (query: object) => ({ query, then: 'quick' });
    const conditions = [
      find({ 'params.model': { $eq: 'fast' } }),
      find({ $or: [{ 'params.model': 'slow' }, { 'params.model': { $in: ['sharp', 'fast'] } }] }),
      find({ 'params.model': 'vip', 'metadata.tier': 'paid' }),
      find({ 'params.model': { $regex: '^any' } }),
    ];
    const config = { strategy: { mode: 'conditional', conditions, default: 'rest' }, targets };
    const { slug } = (await gateway.api.post('/v1/configs', { name: 'Names', config })).json;
    const asked = async (key: string, path = '/v1/models', headers = {}) =>
      (await gateway.api.get(path, { key, headers })).json;
    const { key } = await gateway.given.apiKey({ defaults: { config: slug } });
    const { key: held } = await gateway.given.apiKey({ defaults: { config: slug }, models: ['s*', 'gpt-x'] });
    const { key: none } = await gateway.given.apiKey({ defaults: { config: slug }, models: ['other'] });
    const { key: plain } = await gateway.given.apiKey();

    expect(idsOf(await asked(key))).toEqual(['fast', 'sharp', 'slow']);
    expect(idsOf(await asked(key, '/v1/models?limit=1&order=desc'))).toEqual(['slow']);
    expect(await asked(key, '/v1/models/fast')).toEqual({
      id: 'fast',
      object: 'model',
      created: 0,
      owned_by: 'gateway',
    });
    expect(idsOf(await asked(held))).toEqual(['sharp', 'slow']);
    expect(idsOf(await asked(none))).toEqual([]);
    expect(idsOf(await asked(plain, '/v1/models', { 'x-gateway-config': slug }))).toEqual(['fast', 'sharp', 'slow']);
    expect((await asked(key, '/v1beta/models')).models[0].name).toBe('models/fast');
    expect((await asked(key, '/api/tags')).models[0].name).toBe('fast');
    const chosen = { 'x-gateway-virtual-key': 'gpt' };
    expect(idsOf(await asked(key, '/v1/models', chosen))).toEqual(['gpt-x']);
  });

  test('a config chooses, too, and falls back', async () => {
    const config = {
      strategy: { mode: 'fallback' },
      targets: [{ virtual_key: 'broken' }, { virtual_key: 'together' }],
    };
    await gateway.given.virtualKey({ slug: 'broken', custom_host: `${provider.origin}/nothing` });
    const { json } = await gateway.api.get('/v1/models', { headers: { 'x-gateway-config': JSON.stringify(config) } });
    expect(idsOf(json)).toEqual(['org/llama']);
    await gateway.api.delete('/v1/virtual-keys/broken');
  });

  test('one of them is found at its own address or in the list', async () => {
    const gemini = await gateway.api.get('/v1/models/gemini-x', via('gemini'));
    expect(gemini.json).toMatchObject({ id: 'gemini-x', object: 'model', provider: 'google' });
    for (const path of ['/v1/models/org/llama', '/v1/models/org%2Fllama'])
      expect((await gateway.api.get(path, via('together'))).json).toMatchObject({ id: 'org/llama' });
    const none = await gateway.api.get('/v1/models/nothing', via('together'));
    expect(none.status).toBe(404);
    expect(none.json.error.code).toBe('model_not_found');
  });

  test("a refusal is the provider's, in OpenAI's shape", async () => {
    const reply = await gateway.api.get('/v1/models/unheard-of', via('gemini'));
    expect(reply.status).toBe(404);
    expect(reply.json.error).toMatchObject({ message: 'no /v1beta/models/unheard-of', type: 'not_found_error' });
    expect(reply.headers.get('x-gateway-error-origin')).toBe('provider');
  });

  test('a provider without a list is 400', async () => {
    await gateway.given.virtualKey({ slug: 'voyage', provider: 'voyage', custom_host: null });
    const reply = await gateway.api.get('/v1/models', via('voyage'));
    expect(reply.status).toBe(400);
    expect(reply.json.error.message).toStartWith('Provider voyage has no list of models.');
    await gateway.api.delete('/v1/virtual-keys/voyage');
  });
});

describe('of the whole workspace', () => {
  const OURS = ['@claude/claude-x', '@gemini/gemini-x', '@gpt/gpt-x', '@together/org/llama'];
  const named = (ids: string[]) => ids.filter((id) => !id.startsWith('@demo/') && !id.startsWith('@sim/'));

  test('each is named as a call names it, and the call works', async () => {
    const reply = await gateway.api.get('/v1/models');
    expect(reply.status).toBe(200);
    expect(named(idsOf(reply.json))).toEqual(OURS);
    expect(idsOf(reply.json)).toContain('@demo/gpt-5');
    expect(reply.headers.get('x-gateway-incomplete')).toBeNull();
    expect(reply.json.data.find(({ id }: { id: string }) => id === '@gpt/gpt-x')).toEqual({
      id: '@gpt/gpt-x',
      object: 'model',
      created: 9,
      owned_by: 'openai',
      provider: 'openai',
    });
    const demo = await gateway.api.post('/v1/chat/completions', {
      model: '@demo/gpt-5',
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(demo.status).toBe(200);
  });

  test('a list is kept for a minute, until its virtual key changes', async () => {
    await gateway.api.get('/v1/models');
    const before = provider.requests.length;
    await Promise.all([1, 2, 3].map(() => gateway.api.get('/v1/models')));
    expect(provider.requests.length).toBe(before);
    await gateway.api.put('/v1/virtual-keys/gpt', { key: 'another-key' });
    await gateway.api.get('/v1/models');
    expect(provider.requests.slice(before).map(({ path }) => path)).toEqual(['/openai/models']);
    expect(provider.last.headers.get('authorization')).toBe('Bearer another-key');
  });

  test('a broken provider is named, and the others are there', async () => {
    const gone = serve(() => new Response());
    gone.stop();
    await gateway.given.virtualKey({ slug: 'gone', custom_host: `${gone.origin}/v1` });
    await gateway.given.virtualKey({ slug: 'refusing', custom_host: `${provider.origin}/nothing` });
    await gateway.given.virtualKey({ slug: 'old' });
    await expired((expires_at) => gateway.api.put('/v1/virtual-keys/old', { expires_at }));
    const reply = await gateway.api.get('/v1/models');
    expect(reply.status).toBe(200);
    expect(named(idsOf(reply.json))).toEqual(OURS);
    const missing = reply.headers.get('x-gateway-incomplete')!.split(', ').toSorted();
    expect(missing).toEqual(['gone (upstream_unreachable)', 'old (expired_virtual_key)', 'refusing (404)']);
    for (const slug of ['gone', 'refusing', 'old']) await gateway.api.delete(`/v1/virtual-keys/${slug}`);
  });

  test('can be filtered, sorted and cut; another parameter is refused', async () => {
    // As Codex asks.
    expect((await gateway.api.get('/v1/models?client_version=0.166.0')).status).toBe(200);
    const google = await gateway.api.get('/v1/models?provider=google');
    expect(idsOf(google.json)).toEqual(['@gemini/gemini-x']);
    const down = await gateway.api.get('/v1/models?order=desc&sort=provider');
    expect(named(idsOf(down.json))).toEqual([
      '@together/org/llama',
      '@gpt/gpt-x',
      '@gemini/gemini-x',
      '@claude/claude-x',
    ]);
    const cut = await gateway.api.get('/v1/models?offset=1&limit=1');
    expect(cut.json).toMatchObject({ has_more: true });
    expect(cut.json.data).toHaveLength(1);
    for (const query of ['limit=0', 'sort=price', 'after=x']) {
      const reply = await gateway.api.get(`/v1/models?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.json.error.param).toBe(query.split('=')[0]);
    }
  });

  test('one of them is asked of its own virtual key', async () => {
    for (const path of ['/v1/models/@gemini/gemini-x', '/v1/models/%40gemini%2Fgemini-x']) {
      const reply = await gateway.api.get(path);
      expect(reply.json).toMatchObject({ id: 'gemini-x', provider: 'google' });
      expect(provider.last.path).toBe('/v1beta/models/gemini-x');
    }
    const none = await gateway.api.get('/v1/models/@nobody/gemini-x');
    expect(none.json.error.code).toBe('unknown_virtual_key');
    const plain = await gateway.api.get('/v1/models/gemini-x');
    expect(plain.json).toMatchObject({ id: 'gemini-x', provider: 'google' });
    const unheard = await gateway.api.get('/v1/models/unheard-of');
    expect(unheard.json.error.code).toBe('unknown_model');
    const before = provider.requests.length;
    for (const name of ['%zz', '@gpt%2F..%2F..%2Fadmin', '..%2F..%2Fadmin', 'a%2F.%2Fb', '@gpt%2F%2Fx']) {
      const broken = await gateway.api.get(`/v1/models/${name}`);
      expect([name, broken.json.error?.code]).toEqual([name, 'invalid_path']);
    }
    expect(provider.requests.length).toBe(before);
  });

  test('another workspace sees its own, and a key without the scope sees none', async () => {
    const other = await gateway.given.workspace({ slug: 'others' });
    const { key } = await gateway.given.apiKey({ workspace_id: other.id });
    expect((await gateway.api.get('/v1/models', { key })).json).toMatchObject({ data: [], total: 0 });
    const { key: lacking } = await gateway.given.apiKey({ scopes: ['completions.write'] });
    const reply = await gateway.api.get('/v1/models', { key: lacking });
    expect(reply.status).toBe(403);
    expect(reply.json.error.code).toBe('insufficient_scope');
  });
});
