import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';

const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };

/** A provider whose next answers a test lays out; without any it answers 200 and says who it is. */
function startStub(name: string) {
  const answers: (Response | (() => Response | Promise<Response>))[] = [];
  const asked: { path: string; body: string; headers: Headers }[] = [];
  const { origin, stop } = serve(async (request) => {
    asked.push({ path: new URL(request.url).pathname, body: await request.text(), headers: request.headers });
    const next = answers.shift();
    if (next) return typeof next === 'function' ? next() : next;
    return Response.json({
      id: name,
      object: 'chat.completion',
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  });
  return { name, url: `${origin}/v1`, answers, asked, stop };
}

type Stub = ReturnType<typeof startStub>;

describe('a config', () => {
  let gateway: TestGateway;
  let a: Stub;
  let b: Stub;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.stop());
  beforeEach(async () => {
    a = startStub('a');
    b = startStub('b');
    for (const { name, url } of [a, b]) {
      await gateway.api.delete(`/v1/virtual-keys/${name}`);
      await gateway.given.virtualKey({ name, slug: name, custom_host: url });
    }
  });
  afterEach(() => {
    a.stop();
    b.stop();
  });

  const ask = (config: object | string, body: unknown = chat, headers: Record<string, string> = {}) =>
    gateway.api.post('/v1/chat/completions', body, {
      headers: { 'x-gateway-config': typeof config === 'string' ? config : JSON.stringify(config), ...headers },
    });
  const both = { strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'a' }, { virtual_key: 'b' }] };

  test('with a fallback goes on after a failure and says who answered', async () => {
    a.answers.push(Response.json({ error: { message: 'down' } }, { status: 503 }));
    const reply = await ask(both);
    expect(reply.json.id).toBe('b');
    expect(reply.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
    expect((await gateway.logOf(reply)).virtual_key).toBe('b');
  });

  test('with a fallback goes on when nobody listens, and when the answer hangs', async () => {
    a.stop();
    expect((await ask(both)).json.id).toBe('b');
    a = startStub('a');
    await gateway.api.delete('/v1/virtual-keys/a');
    await gateway.given.virtualKey({ name: 'a', slug: 'a', custom_host: a.url });
    a.answers.push(async () => {
      await Bun.sleep(3_000);
      return new Response();
    });
    const reply = await ask({ ...both, request_timeout: 150 });
    expect(reply.json.id).toBe('b');
  });

  test('passes the last failure on as it came', async () => {
    const body = { error: { message: 'quota', code: 'insufficient_quota' } };
    a.answers.push(Response.json({}, { status: 500 }));
    b.answers.push(Response.json(body, { status: 429, headers: { 'retry-after': '7' } }));
    const reply = await ask(both);
    expect([reply.status, reply.json, reply.headers.get('retry-after')]).toEqual([429, body, '7']);
    expect(reply.headers.get('x-gateway-error-origin')).toBe('provider');
  });

  test('retries what the policy names and says how often', async () => {
    const retry = { attempts: 3, on_status_codes: [503], use_retry_after_headers: true };
    const busy = () => new Response('{}', { status: 503, headers: { 'retry-after-ms': '5' } });
    a.answers.push(busy(), busy());
    const reply = await ask({ virtual_key: 'a', retry });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-retry-attempt-count')).toBe('2');
    expect(a.asked).toHaveLength(3);
    expect(new Set(a.asked.map(({ body }) => body)).size).toBe(1);

    a.answers.push(busy(), busy(), busy(), busy());
    const exhausted = await ask({ virtual_key: 'a', retry });
    expect([exhausted.status, exhausted.headers.get('x-gateway-retry-attempt-count')]).toEqual([503, '-1']);

    a.answers.push(new Response('{}', { status: 500 }));
    expect((await ask({ virtual_key: 'a', retry })).headers.get('x-gateway-retry-attempt-count')).toBe('0');
  });

  test('sets, overrides and drops parameters without touching the rest', async () => {
    await ask(
      {
        virtual_key: 'a',
        default_params: { temperature: 0 },
        override_params: { model: 'other' },
        drop_params: ['messages[*].name'],
      },
      { ...chat, messages: [{ role: 'user', name: 'x', content: 'Hello' }], big: 1 },
    );
    expect(JSON.parse(a.asked[0]!.body)).toEqual({
      model: 'other',
      messages: [{ role: 'user', content: 'Hello' }],
      big: 1,
      temperature: 0,
    });
  });

  test('chooses by condition on metadata and parameters', async () => {
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [
          { query: { 'metadata.tier': { $eq: 'paid' } }, then: 'good' },
          { query: { 'params.max_tokens': { $gt: 100 } }, then: 'good' },
        ],
        default: 'rest',
      },
      targets: [
        { name: 'good', virtual_key: 'a' },
        { name: 'rest', virtual_key: 'b' },
      ],
    };
    expect((await ask(config, chat, { 'x-gateway-metadata': '{"tier":"paid"}' })).json.id).toBe('a');
    expect((await ask(config, { ...chat, max_tokens: 101 })).json.id).toBe('a');
    expect((await ask(config)).json.id).toBe('b');
  });

  test('leaves the provider to the request where it names none', async () => {
    const reply = await ask({ retry: { attempts: 1 } }, chat, { 'x-gateway-virtual-key': 'b' });
    expect(reply.json.id).toBe('b');
    expect((await ask(both, { ...chat, model: '@b/gpt' })).json.id).toBe('b');
  });

  test('forwards the headers it names', async () => {
    const sent = { via: '1.1 proxy', cookie: 'session=1' };
    await ask({ virtual_key: 'a', forward_headers: ['Via', 'Cookie'] }, chat, sent);
    expect(a.asked[0]!.headers.get('via')).toBe('1.1 proxy');
    expect(a.asked[0]!.headers.get('cookie')).toBeNull();
  });

  test('a large body is kept for the second target', async () => {
    a.answers.push(new Response('{}', { status: 500 }));
    const content = 'x'.repeat(3 << 20);
    expect((await ask(both, { ...chat, messages: [{ role: 'user', content }] })).json.id).toBe('b');
    expect(b.asked[0]!.body.length).toBeGreaterThan(3 << 20);
  });

  test('that is wrong is 400 with its path and nothing is sent', async () => {
    for (const [config, path] of [
      ['{"virtual_key":', 'x-gateway-config'],
      [{ strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'a', weight: 'x' }] }, 'config.targets[0].weight'],
      [{ provider: 'nobody' }, 'config.provider'],
      ['missing-slug', 'x-gateway-config'],
    ] as const) {
      const reply = await ask(config as object);
      expect([reply.status, reply.json.error.param]).toEqual([400, path]);
    }
    expect(a.asked).toHaveLength(0);
  });

  test('in a dry run says which target a call would come to, and why, and calls nobody', async () => {
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [{ query: { 'metadata.tier': { $eq: 'paid' } }, then: 'paid' }],
        default: 'free',
      },
      targets: [
        {
          name: 'paid',
          strategy: { mode: 'fallback', on_status_codes: [429] },
          retry: { attempts: 2 },
          targets: [{ virtual_key: 'a', override_params: { model: '@a/large' } }, { virtual_key: 'gone' }],
        },
        {
          name: 'free',
          strategy: { mode: 'loadbalance' },
          targets: [
            { virtual_key: 'a', weight: 3 },
            { virtual_key: 'b', weight: 1 },
            { virtual_key: 'b', weight: 0 },
          ],
        },
      ],
    };
    const run = async (metadata: object) => {
      const { json } = await gateway.api.post('/v1/configs/dry-run', { config, metadata, body: chat });
      return Object.fromEntries(json.steps.map((each: { path: string }) => [each.path, each]));
    };
    const paid = await run({ tier: 'paid' });
    expect(paid['config.targets[0].targets[0]']).toMatchObject({
      ...{ when: 'first', share: 1, virtual_key: 'a', provider: 'openai', model: 'large', attempts: 3, problem: null },
    });
    expect(paid['config.targets[0].targets[1]']).toMatchObject({ when: 'later', provider: null });
    expect(paid['config.targets[0].targets[1]'].problem).toContain('gone');
    expect(paid['config.targets[1].targets[0]']).toMatchObject({ when: 'never', share: 0 });
    const free = await run({});
    expect(free['config.targets[1]'].why).toContain('default');
    const shares = [0, 1, 2].map((index) => free[`config.targets[1].targets[${index}]`].share);
    expect(shares).toEqual([0.75, 0.25, 0]);
    expect([...a.asked, ...b.asked]).toEqual([]);

    const wrong = await gateway.api.post('/v1/configs/dry-run', { config: { targets: [{ weight: -1 }] } });
    expect(wrong).toMatchObject({ status: 400, json: { error: { param: 'config.targets[0].weight' } } });
    const schema = await gateway.api.get('/v1/config-schema');
    expect(schema.json.properties.retry.properties.attempts).toMatchObject({ maximum: 5 });
  });

  describe('with a cache', () => {
    const cached = { virtual_key: 'a', cache: { mode: 'simple', max_age: 60 } };
    const statusOf = (reply: { headers: Headers }) => reply.headers.get('x-gateway-cache-status');
    const question = () => ({ ...chat, seed: Math.floor(Math.random() * 1e9) });

    test('answers the same question once, byte by byte, and charges nothing for the second', async () => {
      const body = question();
      const first = await ask(cached, body);
      const second = await ask(cached, body);
      expect([statusOf(first), statusOf(second)]).toEqual(['MISS', 'HIT']);
      expect(second.text).toBe(first.text);
      expect(a.asked).toHaveLength(1);
      expect((await gateway.logOf(second)).cost).toBe(0);
    });

    test('asks again when told to, and for another workspace, namespace or question', async () => {
      const body = question();
      await ask(cached, body);
      expect(statusOf(await ask(cached, body, { 'x-gateway-cache-force-refresh': 'true' }))).toBe('REFRESH');
      expect(statusOf(await ask(cached, body, { 'x-gateway-cache-namespace': 'other' }))).toBe('MISS');
      expect(statusOf(await ask(cached, question()))).toBe('MISS');
      const workspace = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
      await gateway.given.virtualKey({ slug: 'a', workspace_id: workspace.id, custom_host: a.url });
      const foreign = await gateway.api.post('/v1/chat/completions', body, {
        key,
        headers: { 'x-gateway-config': JSON.stringify(cached) },
      });
      expect(statusOf(foreign)).toBe('MISS');
    });

    test('never keeps an error', async () => {
      const body = question();
      a.answers.push(Response.json({ error: {} }, { status: 500 }));
      expect((await ask(cached, body)).status).toBe(500);
      expect([(await ask(cached, body)).status, a.asked.length]).toEqual([200, 2]);
    });

    test('replays a stream as a stream', async () => {
      const stream = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n';
      a.answers.push(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }));
      const body = { ...question(), stream: true };
      await ask(cached, body);
      const second = await ask(cached, body);
      expect([statusOf(second), second.text, second.headers.get('content-type')]).toEqual([
        'HIT',
        stream,
        'text/event-stream',
      ]);
    });

    test('lets twenty that ask the same at once wait for one', async () => {
      const body = question();
      a.answers.push(async () => {
        await Bun.sleep(100);
        return Response.json({ id: 'slow' });
      });
      const replies = await Promise.all(Array.from({ length: 20 }, () => ask(cached, body)));
      expect(new Set(replies.map(({ json }) => json.id))).toEqual(new Set(['slow']));
      expect(a.asked).toHaveLength(1);
    });
  });
});

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`stored configs on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    test('are used by their slug, change with their versions, and are gone when deleted', async () => {
      const made = await gateway.api.post('/v1/configs', { name: 'Main', config: { virtual_key: 'sim' } });
      expect(made.json).toMatchObject({
        object: 'config',
        slug: 'main',
        status: 'active',
        config: { virtual_key: 'sim' },
      });
      const ask = () => gateway.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-config': 'main' } });
      expect((await ask()).status).toBe(200);

      const changed = await gateway.api.put('/v1/configs/main', { config: { virtual_key: 'demo' } });
      expect(changed.json.version_id).not.toBe(made.json.version_id);
      expect((await gateway.logOf(await ask())).virtual_key).toBe('demo');
      const versions = await gateway.api.get('/v1/configs/main/versions');
      expect(versions.json.data.map(({ config }: { config: object }) => config)).toEqual([
        { virtual_key: 'demo' },
        { virtual_key: 'sim' },
      ]);
      expect((await gateway.api.get('/v1/configs')).json).toMatchObject({ total: 1, has_more: false });

      expect((await gateway.api.delete('/v1/configs/main')).json).toMatchObject({ object: 'config', deleted: true });
      expect((await ask()).json.error.code).toBe('unknown_config');
      expect((await gateway.api.get('/v1/configs/main')).status).toBe(404);
    });

    test('never show a credential, and refuse a masked one', async () => {
      const config = { provider: 'openai', api_key: 'sk-very-secret-credential' };
      const made = await gateway.api.post('/v1/configs', { name: 'Secret', config });
      expect(made.text).not.toContain('very-secret');
      const read = await gateway.api.get('/v1/configs/secret');
      expect(read.text).not.toContain('very-secret');
      const refused = await gateway.api.put('/v1/configs/secret', { config: read.json.config });
      expect([refused.status, refused.json.error.param]).toEqual([400, 'config.api_key']);
    });

    test('of another workspace are missing', async () => {
      await gateway.api.post('/v1/configs', { name: 'Mine', config: { virtual_key: 'sim' } });
      const workspace = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({
        workspace_id: workspace.id,
        scopes: ['completions.write', 'configs.read', 'configs.update', 'configs.delete'],
      });
      expect((await gateway.api.get('/v1/configs/mine', { key })).status).toBe(404);
      expect((await gateway.api.put('/v1/configs/mine', { name: 'x' }, { key })).status).toBe(404);
      expect((await gateway.api.delete('/v1/configs/mine', { key })).status).toBe(404);
      const used = await gateway.api.post('/v1/chat/completions', chat, {
        key,
        headers: { 'x-gateway-config': 'mine' },
      });
      expect(used.json.error.code).toBe('unknown_config');
    });
  });
}
