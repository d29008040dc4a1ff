import { afterAll, beforeAll, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';
import { eventually } from '../../process.ts';

/** A caller under a budget tries to keep the provider from telling what a call took. */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

const limited = () => gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 10_000_000 } });
const spent = async (id: string): Promise<number> =>
  [(await gateway.api.get(`/v1/api-keys/${id}`)).json.usage].flat()[0].current_usage;
const settled = async (id: string) => {
  await eventually('the call is settled', async () => (await spent(id)) > 0);
  return spent(id);
};
const headers = { 'x-gateway-virtual-key': 'sim', 'content-type': 'application/json' };

const messages = '"messages":[{"role":"user","content":"hello"}],"max_tokens":4000';
const roads: [string, string, string][] = [
  [
    'an explicit no',
    '/v1/chat/completions',
    `{"model":"m",${messages},"stream":true,"stream_options":{"include_usage":false}}`,
  ],
  [
    'a yes and a no',
    '/v1/chat/completions',
    `{"model":"m",${messages},"stream":true,"stream_options":{"include_usage":true},"stream_options":{"include_usage":false}}`,
  ],
  ['a stream that is denied first', '/v1/chat/completions', `{"model":"m",${messages},"stream":false,"stream":true}`],
  ['a text completion', '/v1/completions', '{"model":"m","prompt":"hello","max_tokens":4000,"stream":true}'],
  [
    'a body of more than a megabyte',
    '/v1/chat/completions',
    `{"model":"m","messages":[{"role":"user","content":"${'a '.repeat(700_000)}"}],"max_tokens":4000,"stream":true}`,
  ],
];
for (const [name, path, body] of roads) {
  test(`usage is asked for, whatever the client says: ${name}`, async () => {
    const { key, id } = await limited();
    const reply = await gateway.api.post(path, body, { key, headers });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('data: ');
    expect(reply.text).not.toMatch(/"choices":\s*\[\]/);
    const entry = await gateway.logOf(reply);
    expect(entry.total_tokens).toBeGreaterThan(0);
    // The estimate would be more than 4000.
    expect(await settled(id)).toBe(entry.total_tokens);
  });
}

for (const [path, body] of [
  ['/v1/proxy/chat/completions', `{"model":"m",${messages},"stream":true}`],
  ['/v1/proxy/chat/completions', `{"model":"m",${messages},"stream":true,"stream_options":{"include_usage":false}}`],
  ['/v1/proxy/completions', '{"model":"m","prompt":"hello","max_tokens":4000,"stream":true}'],
] as const) {
  test(`below /proxy no word is added, and what the answer does not tell costs its estimate: ${path}`, async () => {
    const { key, id } = await limited();
    const reply = await gateway.api.post(path, body, { key, headers });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('data: ');
    expect(await settled(id)).toBeGreaterThan(4000);
  });
}

test('a budget ends for calls below /proxy, whose answers tell nothing', async () => {
  const { key } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 10_000 } });
  const body = `{"model":"m",${messages},"stream":true}`;
  const statuses: number[] = [];
  for (let call = 0; call < 4; call++)
    statuses.push((await gateway.api.post('/v1/proxy/chat/completions', body, { key, headers })).status);
  expect(statuses).toEqual([200, 200, 412, 412]);
});

test('a client that asks for usage gets it', async () => {
  const { key } = await limited();
  const body = `{"model":"m",${messages},"stream":true,"stream_options":{"include_usage":true}}`;
  const reply = await gateway.api.post('/v1/chat/completions', body, { key, headers });
  expect(reply.text).toMatch(/"choices":\s*\[\]/);
});

test('where the provider tells nothing, a text without spaces costs by its bytes', async () => {
  const silent = serve(async (request) => {
    await request.arrayBuffer();
    return Response.json({ choices: [{ message: { content: 'ok' } }] });
  });
  try {
    await gateway.given.virtualKey({ slug: 'silent', custom_host: `${silent.origin}/v1` });
    const texts = [
      'word_word-word/'.repeat(8_000),
      '中文'.repeat(20_000),
      'word\n'.repeat(24_000),
      'YWJj'.repeat(30_000),
    ];
    for (const content of texts) {
      const { key, id } = await limited();
      const body = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] };
      const reply = await gateway.api.post('/v1/chat/completions', body, {
        key,
        headers: { 'x-gateway-virtual-key': 'silent' },
      });
      expect(reply.status).toBe(200);
      expect(await settled(id)).toBeGreaterThanOrEqual(Buffer.byteLength(content) / 4);
    }
  } finally {
    silent.stop();
  }
});
