import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { expired, startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { openaiClient } from '../sdk-clients.ts';

/** A model's name says who is asked, where nothing else does. */
let gateway: TestGateway;
/** Every virtual key leads to a path of its own here, so that the path shows which one was chosen. */
const provider = startRecorder();
const LISTS: Record<string, string[]> = {
  router: ['openai/gpt-x', 'anthropic/claude-x', 'router-own'],
  local: ['llama3', 'whisper-1'],
  mine: ['gpt-x', 'text-embedding-x'],
  second: ['gpt-x'],
};

beforeAll(async () => {
  gateway = await startGateway();
  provider.answers(({ path }) => {
    const [, slug = '', ...rest] = path.split('/');
    if (rest.join('/') !== 'models') return Response.json({ id: 'x', object: 'chat.completion', choices: [], path });
    const ids = LISTS[slug];
    return ids
      ? Response.json({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) })
      : Response.json({ error: { message: 'none here' } }, { status: 404 });
  });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

type Keys = Record<string, Record<string, unknown>>;

/** A workspace of its own with these virtual keys, made in this order, and a key for it. */
async function workspaceWith(keys: Keys, of: TestGateway = gateway, apiKey: Record<string, unknown> = {}) {
  const { id } = await of.given.workspace();
  for (const [slug, given] of Object.entries(keys)) await addKey(id, slug, given, of);
  const { key } = await of.given.apiKey({ workspace_id: id, ...apiKey });
  return { id, key, ask: asking(key, of) };
}

const addKey = (workspace: string, slug: string, given: Record<string, unknown> = {}, of = gateway) =>
  of.given.virtualKey({ workspace_id: workspace, slug, custom_host: `${provider.origin}/${slug}`, ...given });

/** Sends a chat with this model; answers which virtual key was asked, and for which model. */
const asking =
  (key: string, of: TestGateway) =>
  async (model: unknown, headers: Record<string, string> = {}) => {
    const before = provider.requests.length;
    const reply = await of.api.post('/v1/chat/completions', { model, messages: MESSAGES }, { key, headers });
    const sent = provider.requests.slice(before).filter(({ method }) => method === 'POST');
    return {
      reply,
      at: sent[0]?.path.split('/')[1] ?? null,
      model: sent[0]?.json?.model ?? null,
      header: reply.headers.get('x-gateway-virtual-key'),
      error: reply.json?.error,
    };
  };

const MESSAGES = [{ role: 'user', content: 'hello' }];
const OPENAI = {};
const ALL: Keys = { mine: OPENAI, local: { provider: 'ollama' }, router: { provider: 'openrouter' } };
const listings = () => provider.requests.filter(({ path }) => path.endsWith('/models')).length;

describe('whom a name means', () => {
  test('the only virtual key there is, and its provider is not asked what it has', async () => {
    const { ask } = await workspaceWith({ mine: OPENAI });
    const before = listings();
    expect(await ask('never-heard-of')).toMatchObject({ at: 'mine', model: 'never-heard-of', header: 'mine' });
    expect(listings()).toBe(before);
  });

  const rows: [string, string, { at: string; model: string }][] = [
    ['a slug before it', 'mine/gpt-x', { at: 'mine', model: 'gpt-x' }],
    ['a slug before it, once', 'router/openai/gpt-x', { at: 'router', model: 'openai/gpt-x' }],
    ['a slug with an @', '@router/openai/gpt-x', { at: 'router', model: 'openai/gpt-x' }],
    ['a provider before it', 'openai/gpt-x', { at: 'mine', model: 'gpt-x' }],
    ['who lists it', 'llama3', { at: 'local', model: 'llama3' }],
    ['who lists it, slash and all', 'anthropic/claude-x', { at: 'router', model: 'anthropic/claude-x' }],
    ["a provider's own name that begins like a slug", 'openrouter/auto', { at: 'router', model: 'openrouter/auto' }],
  ];
  test.each(rows)('%s: %s', async (_name, model, expected) => {
    const { ask } = await workspaceWith(ALL);
    expect(await ask(model)).toMatchObject(expected);
  });

  test('lists are fetched once, not once a call', async () => {
    const { ask } = await workspaceWith(ALL);
    await ask('llama3');
    const before = listings();
    for (const model of ['llama3', 'gpt-x', 'router-own', 'nobody-has-it', 'nobody-has-it']) await ask(model);
    expect(listings()).toBe(before);
  });

  test('whose list cannot be had is believed to have what its provider is known for', async () => {
    const { ask } = await workspaceWith({ listless: OPENAI, mute: { provider: 'anthropic' } });
    expect(await ask('gpt-4o')).toMatchObject({ at: 'listless', model: 'gpt-4o' });
    const { error } = await ask('unheard-of');
    expect(error.message).toContain('The models of listless, mute could not be listed');
  });

  test('a virtual key with a price for it', async () => {
    const prices = { 'my-deployment': { input: 1, output: 1 } };
    const { ask } = await workspaceWith({ ...ALL, azure: { provider: 'ollama', configurations: { prices } } });
    expect(await ask('my-deployment')).toMatchObject({ at: 'azure' });
  });

  test('nobody simulated: who wants that says so', async () => {
    const { ask } = await workspaceWith({ pretend: { provider: 'simulator', custom_host: undefined } });
    expect((await ask('gpt-4o')).error.code).toBe('unknown_model');
    expect((await ask('pretend/gpt-4o')).reply.status).toBe(200);
  });
});

describe('a name that means nobody', () => {
  test('is 400, with the virtual keys that there are and what would have worked', async () => {
    const { ask } = await workspaceWith(ALL);
    const { reply, error, at } = await ask('gpt-99');
    expect(at).toBeNull();
    expect(reply.status).toBe(400);
    expect(error).toMatchObject({ code: 'unknown_model', param: 'model', type: 'invalid_request_error' });
    expect(error.message).toContain('mine (openai), local (ollama), router (openrouter)');
    expect(error.message).toContain('"@mine/gpt-99"');
  });

  test('or none at all, is 400 with the virtual keys that there are', async () => {
    const { key, ask } = await workspaceWith(ALL);
    expect((await ask(undefined)).error).toMatchObject({ code: 'missing_provider' });
    const reply = await gateway.api.post('/v1/whatever', {}, { key });
    expect(reply.json.error.message).toContain('mine (openai), local (ollama)');
    expect((await ask('@nobody/x')).error.message).toContain('mine (openai)');
    expect((await ask('x', { 'x-gateway-virtual-key': 'nobody' })).error.message).toContain('mine (openai)');
  });

  test('in a workspace without virtual keys says how to make one', async () => {
    const { ask } = await workspaceWith({});
    expect((await ask('gpt-4o')).error.message).toContain('POST /v1/virtual-keys');
  });

  test('names no virtual key to callers who may not name one, and chooses none for them', async () => {
    const { ask } = await workspaceWith(ALL, gateway, { forbidden: ['virtual_key'] });
    for (const model of ['gpt-x', 'mine/gpt-x', 'nobody-has-it']) {
      const { error, at } = await ask(model);
      expect(error.code).toBe('missing_provider');
      expect(error.message).not.toContain('mine');
      expect(at).toBeNull();
    }
    expect((await ask('@mine/gpt-x')).error.code).toBe('forbidden_by_rule');
  });
});

describe('a name that means several', () => {
  const TWO = { second: OPENAI, mine: OPENAI };

  test('means the oldest, and the answer says who else could have been meant', async () => {
    const { ask } = await workspaceWith(TWO);
    const { at, header, reply } = await ask('gpt-x');
    expect({ at, header, others: reply.headers.get('x-gateway-ambiguous') }).toEqual({
      at: 'second',
      header: 'second',
      others: 'mine',
    });
  });

  test('is refused where the operator wants that, or where names choose nothing', async () => {
    const strict = await startGateway({ environment: { GATEWAY_PLAIN_MODELS: 'unambiguous' } });
    const off = await startGateway({ environment: { GATEWAY_PLAIN_MODELS: 'off' } });
    try {
      const { ask } = await workspaceWith(TWO, strict);
      const { error, at } = await ask('gpt-x');
      expect(error).toMatchObject({ code: 'ambiguous_model', param: 'model' });
      expect(error.message).toContain('second, mine');
      expect(at).toBeNull();
      expect(await ask('text-embedding-x')).toMatchObject({ at: 'mine' });
      const silent = await workspaceWith({ mine: OPENAI }, off);
      expect((await silent.ask('gpt-x')).error.code).toBe('missing_provider');
      expect(await silent.ask('@mine/gpt-x')).toMatchObject({ at: 'mine' });
    } finally {
      await strict.stop();
      await off.stop();
    }
  });
});

describe('what else chooses stands before the name, which then stays as it is', () => {
  test('headers, configs and defaults', async () => {
    const { id, ask } = await workspaceWith(ALL);
    expect(await ask('mine/gpt-x', { 'x-gateway-virtual-key': 'router' })).toMatchObject({
      at: 'router',
      model: 'mine/gpt-x',
      header: null,
    });
    const config = { 'x-gateway-config': JSON.stringify({ virtual_key: 'local' }) };
    expect(await ask('mine/gpt-x', config)).toMatchObject({ at: 'local', model: 'mine/gpt-x' });
    const { key } = await gateway.given.apiKey({ workspace_id: id, defaults: { virtual_key: 'router' } });
    expect(await asking(key, gateway)('openai/gpt-x')).toMatchObject({ at: 'router', model: 'openai/gpt-x' });
  });

  test('a config without a target leaves it to the name, also to one that it sets itself', async () => {
    const { ask } = await workspaceWith(ALL);
    const config = (value: unknown) => ({ 'x-gateway-config': JSON.stringify(value) });
    expect(await ask('llama3', config({ retry: { attempts: 1 } }))).toMatchObject({ at: 'local', header: 'local' });
    expect(await ask('llama3', config({ override_params: { model: 'mine/gpt-x' } }))).toMatchObject({
      at: 'mine',
      model: 'gpt-x',
    });
    expect(await ask('llama3', config({ override_params: { model: '@router/router-own' } }))).toMatchObject({
      at: 'router',
      model: 'router-own',
    });
    expect(await ask(undefined, config({ default_params: { model: 'llama3' } }))).toMatchObject({ at: 'local' });
  });
});

describe('a model whose own name begins with an @', () => {
  const CF = '@cf/meta/llama-3';
  const WORKERS = { provider: 'workers-ai', configurations: { workers_ai_account_id: 'ours' } };

  test.each([
    ['workers', WORKERS],
    ['cf', WORKERS],
    ['plain', OPENAI],
  ])('reaches the virtual key %s unchanged, however it was chosen', async (slug, given) => {
    const { id, ask } = await workspaceWith({ mine: OPENAI, [slug]: given });
    const expected = { at: slug, model: CF };
    const inline = (value: unknown) => ({ 'x-gateway-config': JSON.stringify(value) });
    expect(await ask(CF, { 'x-gateway-virtual-key': slug })).toMatchObject(expected);
    expect(await ask(CF, { 'x-gateway-provider': `@${slug}` })).toMatchObject(expected);
    expect(await ask(CF, inline({ virtual_key: slug }))).toMatchObject(expected);
    expect(await ask('x', inline({ virtual_key: slug, override_params: { model: CF } }))).toMatchObject(expected);
    const both = { ...inline({ override_params: { model: CF } }), 'x-gateway-virtual-key': slug };
    expect(await ask('x', both)).toMatchObject(expected);
    expect(await ask(`@${slug}/${CF}`)).toMatchObject(expected);
    expect(await ask(`${slug}/${CF}`)).toMatchObject(expected);
    const { key } = await gateway.given.apiKey({ workspace_id: id, defaults: { virtual_key: slug } });
    expect(await asking(key, gateway)(CF)).toMatchObject(expected);
  });

  test("is its provider's where nothing else chooses", async () => {
    const { ask } = await workspaceWith({ mine: OPENAI, cf: WORKERS });
    expect(await ask(CF)).toMatchObject({ at: 'cf', model: CF });
    const named = await workspaceWith({ mine: OPENAI, workers: WORKERS });
    expect(await named.ask(CF)).toMatchObject({ at: 'workers', model: CF, header: 'workers' });
  });

  test.each([OPENAI, WORKERS])('reaches who was chosen, also where a virtual key has the slug cf', async (given) => {
    const { ask } = await workspaceWith({ cf: given, workers: WORKERS });
    const chosen = { 'x-gateway-virtual-key': 'workers' };
    expect(await ask(CF, chosen)).toMatchObject({ at: 'workers', model: CF });
    // Elsewhere a slug before the model stands above the header.
    const other = await workspaceWith({ cf: OPENAI, mine: OPENAI });
    expect(await other.ask(CF, { 'x-gateway-virtual-key': 'mine' })).toMatchObject({ at: 'cf', model: 'meta/llama-3' });
  });

  test('reaches a provider that the caller names, with the credential of the caller', async () => {
    const { key } = await workspaceWith({ mine: OPENAI });
    const headers = {
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.origin}/own`,
      authorization: 'Bearer sk-mine',
    };
    const reply = await gateway.api.post('/v1/chat/completions', { model: CF, messages: [] }, { key, headers });
    expect(reply.status).toBe(200);
    expect(provider.last.json.model).toBe(CF);
    const slugged = { model: '@mine/gpt-x', messages: [] };
    const refused = await gateway.api.post('/v1/chat/completions', slugged, { key, headers });
    expect(refused.json.error.code).toBe('conflicting_provider');
  });
});

describe('wherever the name stands', () => {
  test('every endpoint, forms, and addresses of models', async () => {
    const { key } = await workspaceWith(ALL);
    const sentTo = async (path: string, body: unknown) => {
      const { status } = await gateway.api.post(path, body, { key });
      expect([path, status]).toEqual([path, 200]);
      return provider.last.path;
    };
    expect(await sentTo('/v1/embeddings', { model: 'mine/text-embedding-x', input: 'a' })).toBe('/mine/embeddings');
    expect(provider.last.json.model).toBe('text-embedding-x');
    expect(await sentTo('/v1/some/endpoint', { model: 'llama3' })).toBe('/local/some/endpoint');
    expect(await sentTo('/v1/proxy/chat/completions', { model: 'llama3' })).toBe('/local/chat/completions');
    expect(await sentTo('/v1/proxy/models/llama3:generateContent', {})).toBe('/local/models/llama3:generateContent');
  });

  test.each(['before', 'behind'])('a form with a large file, the model %s it', async (place) => {
    const { key } = await workspaceWith(ALL);
    const form = new FormData();
    if (place === 'before') form.append('model', 'mine/whisper-1');
    form.append('file', new Blob([new Uint8Array(3 << 20)]), 'sound.wav');
    if (place === 'behind') form.append('model', 'mine/whisper-1');
    const reply = await gateway.api.post('/v1/audio/transcriptions', form, { key });
    expect(reply.status).toBe(200);
    expect(provider.last.path).toBe('/mine/audio/transcriptions');
    expect(provider.last.text).not.toContain('mine/whisper-1');
    expect(provider.last.text).toContain('whisper-1');
  });

  test('a JSON body of several megabytes', async () => {
    const { key } = await workspaceWith(ALL);
    const body = { messages: [{ role: 'user', content: 'é'.repeat(1 << 20) }], model: 'mine/gpt-x' };
    const reply = await gateway.api.post('/v1/chat/completions', body, { key });
    expect(reply.status).toBe(200);
    expect(provider.last.json).toEqual({ ...body, model: 'gpt-x' });
  });

  test('the OpenAI SDK, and an id of the list of models sent back', async () => {
    const { key } = await workspaceWith(ALL);
    const client = openaiClient(gateway.url, key);
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toContain('@router/openai/gpt-x');
    for (const { id } of data) {
      await client.chat.completions.create({ model: id, messages: [] });
      expect(`@${provider.last.path.split('/')[1]}/${provider.last.json.model}`).toBe(id);
    }
  });
});

describe('rules by model see the name that the provider gets', () => {
  test('a rate limit on it', async () => {
    const { id, ask } = await workspaceWith(ALL);
    const policy = await gateway.api.post('/v1/policies/rate-limits', {
      name: 'one',
      workspace_id: id,
      conditions: [{ key: 'model', value: 'gpt-x' }],
      group_by: [{ key: 'workspace_id' }],
      type: 'requests',
      unit: 'rpm',
      value: 1,
    });
    expect(policy.status).toBe(200);
    expect((await ask('mine/gpt-x')).reply.status).toBe(200);
    expect((await ask('openai/gpt-x')).error.code).toBe('rate_limited');
    expect((await ask('llama3')).reply.status).toBe(200);
  });

  test('the log, too', async () => {
    const { ask } = await workspaceWith(ALL);
    const { reply } = await ask('openai/gpt-x');
    expect(await gateway.logOf(reply)).toMatchObject({ virtual_key: 'mine', model: 'gpt-x', provider: 'openai' });
  });
});

describe.each(['sqlite', 'postgres'] as const)('what is changed holds for the next call (%s)', (engine) => {
  let one: TestGateway;
  let two: TestGateway;
  beforeAll(async () => {
    one = await startGateway({ engine });
    two = one.databaseUrl ? await startGateway({ engine, databaseUrl: one.databaseUrl }) : one;
  });
  afterAll(async () => {
    if (two !== one) await two.stop();
    await one.stop();
  });

  const soon = async (what: () => Promise<unknown>, expected: unknown) => {
    for (let attempt = 0; attempt < 100 && (await what()) !== expected; attempt++) await Bun.sleep(20);
    expect(await what()).toBe(expected);
  };

  test('virtual keys that come, go, expire or are called otherwise, on every node', async () => {
    const { id, key } = await workspaceWith({ router: { provider: 'openrouter' }, mine: OPENAI }, one);
    const ask = asking(key, two);
    const at = async (model: string) => (await ask(model)).at;
    expect(await at('openai/gpt-x')).toBe('mine');
    await one.api.delete(`/v1/virtual-keys/mine?workspace_id=${id}`);
    await soon(() => at('openai/gpt-x'), 'router');
    await addKey(id, 'openai', { custom_host: `${provider.origin}/third` }, one);
    await soon(() => at('openai/gpt-x'), 'third');
    await expired((expires_at) => one.api.put(`/v1/virtual-keys/openai?workspace_id=${id}`, { expires_at }));
    await soon(async () => (await ask('openai/gpt-x')).error?.code, 'expired_virtual_key');
  });
});
