import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';

/** Ways around a limit, a guardrail or the log that must lead nowhere. */

let gateway: TestGateway;
const provider = startRecorder();
const pictures = startRecorder();
beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'openai-like', custom_host: `${provider.origin}/v1` });
  await gateway.given.virtualKey({ slug: 'gemini', provider: 'google', custom_host: `${provider.origin}/v1beta` });
  await gateway.given.virtualKey({
    ...{ slug: 'bedrock', provider: 'bedrock', key: 'bedrock-api-key', custom_host: provider.origin },
    configurations: { aws_region: 'us-east-1' },
  });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
  pictures.stop();
});

const via = (slug: string, more: Record<string, string> = {}) => ({ 'x-gateway-virtual-key': slug, ...more });
const question = [{ role: 'user', content: 'Hello' }];

describe('a second model', () => {
  const filler = 'x'.repeat(3 << 20);
  const large = (second: string) =>
    `{"model":"cheap","messages":${JSON.stringify(question)},"user":"${filler}",${second}:"dear"}`;
  const json = { 'content-type': 'application/json' };

  for (const second of ['"model"', '"mod\\u0065l"'])
    test(`far behind the first, spelt ${second}, is refused and reaches no provider whole`, async () => {
      const before = gateway.provider.calls;
      const headers = { ...via('openai-like'), ...json };
      const reply = await gateway.api.post('/v1/chat/completions', large(second), { headers });
      expect([reply.status, reply.json.error.param]).toEqual([400, 'model']);
      expect(provider.requests.filter(({ text }) => text.includes('dear'))).toEqual([]);
      expect(gateway.provider.calls).toBe(before);
    });

  test('is refused, too, where the body is held or passed on untouched', async () => {
    const config = JSON.stringify({ virtual_key: 'openai-like', override_params: { user: 'x' } });
    for (const [path, headers] of [
      ['/v1/chat/completions', { 'x-gateway-config': config }],
      ['/v1/chat/completions', via('gemini')],
      ['/v1/proxy/chat/completions', via('openai-like')],
    ] as const) {
      const reply = await gateway.api.post(path, large('"model"'), { headers: { ...headers, ...json } });
      expect([path, reply.status, reply.json.error.param]).toEqual([path, 400, 'model']);
    }
  });

  test('inside other members is none', async () => {
    provider.answers(() => Response.json({ choices: [] }));
    const body = `{"model":"cheap","user":"${filler}","metadata":{"model":"\\"model\\":1"},"messages":[]}`;
    const reply = await gateway.api.post('/v1/chat/completions', body, { headers: { ...via('openai-like'), ...json } });
    expect(reply.status).toBe(200);
    expect(provider.last.text).toBe(body);
  });
});

describe('a model in the address', () => {
  const native = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
  const ask = (model: string, body: object = native, key?: string) =>
    gateway.api.post(`/v1/v1beta/models/${model}:generateContent`, body, { headers: via('gemini'), key });

  test('is the one that limits and the log go by, whatever the body says', async () => {
    provider.answers(() => Response.json({ candidates: [] }));
    const made = await gateway.api.post('/v1/policies/rate-limits', {
      ...{ name: 'Dear models', type: 'requests', unit: 'rpm', value: 1 },
      conditions: [{ key: 'model', value: 'dear' }],
      group_by: [{ key: 'model' }],
    });
    expect(made.status).toBe(200);
    const first = await ask('dear', { ...native, model: 'cheap' });
    expect(first.status).toBe(200);
    expect((await gateway.logOf(first)).model).toBe('dear');
    expect((await ask('dear', { ...native, model: 'cheap' })).status).toBe(429);
    expect((await ask('d%65ar')).status).toBe(429);
    expect((await ask('cheap', { ...native, model: 'dear' })).status).toBe(200);
  });

  test('is the one that guardrails judge', async () => {
    const guardrail = await gateway.api.post('/v1/guardrails', {
      name: 'Cheap ones only',
      checks: [{ id: 'default.modelWhitelist', parameters: { models: ['cheap'] } }],
      actions: { deny: true },
    });
    const { key } = await gateway.given.apiKey({
      defaults: { input_guardrails: [guardrail.json.slug] },
    });
    provider.answers(() => Response.json({ candidates: [] }));
    const before = provider.requests.length;
    expect((await ask('expensive', { ...native, model: 'cheap' }, key)).status).toBe(446);
    expect(provider.requests.length).toBe(before);
    expect((await ask('cheap', { ...native, model: 'expensive' }, key)).status).toBe(200);
  });
});

describe('a file that the gateway has to fetch', () => {
  const asked = (text: string) => ({
    model: 'anthropic.claude-3-haiku-20240307-v1:0',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: `${pictures.origin}/dot.png` } },
        ],
      },
    ],
  });
  const png = Buffer.from('iVBORw0KGgo=', 'base64');

  test('is fetched when limits and guardrails have let the call through, and not before', async () => {
    pictures.answers(() => new Response(png, { headers: { 'content-type': 'image/png' } }));
    provider.answers(() =>
      Response.json({
        output: { message: { role: 'assistant', content: [{ text: 'A dot.' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      }),
    );
    const guardrail = await gateway.api.post('/v1/guardrails', {
      name: 'No secrets',
      checks: [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }],
      actions: { deny: true },
    });
    const { key } = await gateway.given.apiKey({
      defaults: { virtual_key: 'bedrock', input_guardrails: [guardrail.json.slug] },
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }],
    });
    const ask = (text: string) => gateway.api.post('/v1/chat/completions', asked(text), { key });

    expect((await ask('secret')).status).toBe(446);
    expect(pictures.requests.length).toBe(0);
    expect((await ask('What is this?')).status).toBe(200);
    expect(pictures.requests.length).toBe(1);
    expect(provider.last.json.messages[0].content[1].image.source.bytes).toBe(png.toString('base64'));
    expect((await ask('What is this?')).status).toBe(429);
    expect(pictures.requests.length).toBe(1);
  });

  test('that is not there is 400, and what was held for the call is free again', async () => {
    pictures.answers(() => new Response('', { status: 404 }));
    const { key } = await gateway.given.apiKey({
      defaults: { virtual_key: 'bedrock' },
      rate_limits: [{ type: 'tokens', unit: 'rpm', value: 6_000 }],
    });
    for (let turn = 0; turn < 5; turn++) {
      const reply = await gateway.api.post('/v1/chat/completions', asked('What is this?'), { key });
      expect([reply.status, reply.json.error.code]).toEqual([400, 'media_unreachable']);
    }
  });
});

describe('a provider that fails inside its stream', () => {
  const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const chunk = { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Half' } }] };
  const broken = `data: ${JSON.stringify(chunk)}\n\ndata: {"error":{"message":"overloaded","code":500}}\n\n`;
  const gemini = 'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\n\n';

  for (const [slug, answer] of [
    ['openai-like', broken],
    ['gemini', gemini],
  ] as const)
    test(`is logged as having failed: ${slug}`, async () => {
      provider.answers(() => stream(answer));
      const body = { model: 'm', messages: question, stream: true };
      const reply = await gateway.api.post('/v1/chat/completions', body, { headers: via(slug) });
      expect(reply.status).toBe(200);
      expect(reply.text).toContain('overloaded');
      expect(await gateway.logOf(reply)).toMatchObject({
        failed_by: 'provider',
        error_code: 'stream_failed',
        status: 200,
      });
    });

  test('is asked again instead of being answered from the cache', async () => {
    const config = JSON.stringify({ virtual_key: 'openai-like', cache: { mode: 'simple' } });
    const body = { model: 'cached', messages: question, stream: true };
    const ask = () => gateway.api.post('/v1/chat/completions', body, { headers: { 'x-gateway-config': config } });
    provider.answers(() => stream(broken));
    await ask();
    provider.answers(() => stream(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`));
    const second = await ask();
    expect(second.headers.get('x-gateway-cache-status')).toBe('MISS');
    expect(second.text).not.toContain('overloaded');
    expect((await ask()).headers.get('x-gateway-cache-status')).toBe('HIT');
  });

  test('and one that only speaks of errors is not', async () => {
    const said = { ...chunk, choices: [{ index: 0, delta: { content: '{"error":{}}' }, finish_reason: 'stop' }] };
    provider.answers(() => stream(`data: ${JSON.stringify(said)}\n\ndata: [DONE]\n\n`));
    const body = { model: 'm', messages: question, stream: true };
    const reply = await gateway.api.post('/v1/chat/completions', body, { headers: via('openai-like') });
    expect(await gateway.logOf(reply)).toMatchObject({ failed_by: null, error_code: null });
  });
});
