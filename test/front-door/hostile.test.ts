import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { openSocket, startRawUpstream } from '../socket.ts';

/** A caller, a config or a provider that means harm. */

let gateway: TestGateway;
let provider: ReturnType<typeof startRecorder>;
beforeAll(async () => {
  gateway = await startGateway();
  provider = startRecorder();
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
const withConfig = (config: object | string) => ({
  'x-gateway-config': typeof config === 'string' ? config : JSON.stringify(config),
});
const ask = (headers: Record<string, string>, body: unknown = chat, key: string | null = ADMIN_KEY) =>
  gateway.api.post('/v1/chat/completions', body, { key, headers });
const here = () => ({ provider: 'openai', api_key: 'sk-of-the-config', custom_host: provider.origin });

describe('a credential', () => {
  test('of the gateway is not forwarded, whatever a config names and wherever it was sent', async () => {
    const names = ['authorization', 'x-api-key', 'x-goog-api-key', 'proxy-authorization', 'cookie'];
    const config = { ...here(), provider: 'google', forward_headers: names };
    const sent: [string | null, Record<string, string>][] = [
      [null, { authorization: `Bearer ${ADMIN_KEY}` }],
      [null, { 'x-api-key': ADMIN_KEY }],
      [ADMIN_KEY, { authorization: `Bearer ${ADMIN_KEY}`, cookie: `key=${ADMIN_KEY}` }],
    ];
    for (const [key, headers] of sent) {
      await gateway.api.post('/v1/proxy/x', {}, { key, headers: { ...headers, ...withConfig(config) } });
      expect(JSON.stringify([...provider.last.headers])).not.toContain(ADMIN_KEY);
    }
  });

  test('of the caller is forwarded where a config names it', async () => {
    const config = { ...here(), provider: 'anthropic', forward_headers: ['Authorization'] };
    const headers = { authorization: 'Bearer of-the-caller', ...withConfig(config) };
    await gateway.api.post('/v1/proxy/x', {}, { headers });
    expect(provider.last.headers.get('authorization')).toBe('Bearer of-the-caller');
  });

  test('of a stored config is not led to a host that a header names', async () => {
    const made = await gateway.api.post('/v1/configs', {
      name: 'foundry',
      slug: 'foundry',
      config: { provider: 'azure-ai', api_key: 'sk-stored' },
    });
    expect(made.status).toBe(200);
    const before = provider.requests.length;

    const reply = await ask({ ...withConfig('foundry'), 'x-gateway-azure-foundry-url': provider.origin });

    expect([reply.status, reply.json.error.code]).toEqual([400, 'missing_provider_option']);
    expect(provider.requests.length).toBe(before);
  });

  test('that is stored does not stand beside a host of the config in silence', async () => {
    for (const [member, value] of [
      ['custom_host', 'https://elsewhere.example'],
      ['api_key', 'sk-other'],
    ] as const) {
      const reply = await ask(withConfig({ provider: '@sim', [member]: value }));
      expect([reply.status, reply.json.error.param]).toEqual([400, `config.${member}`]);
    }
  });
});

test('names of members that every object has are no headers that were sent', async () => {
  await ask(withConfig({ ...here(), forward_headers: ['constructor', '__proto__', 'toString'] }));
  expect(['constructor', '__proto__', 'tostring'].filter((name) => provider.last.headers.has(name))).toEqual([]);
});

test('a body that names two models is refused, however the second is spelt', async () => {
  const type = { 'content-type': 'application/json', 'x-gateway-virtual-key': 'sim' };
  const messages = JSON.stringify(chat.messages);
  for (const second of ['"model"', '"mod\\u0065l"', '"\\u006D\\u006fdel"']) {
    const calls = gateway.provider.calls;
    const reply = await ask(type, `{"model":"cheap","messages":${messages},${second}:"dear"}`);
    expect([reply.status, reply.json.error.param]).toEqual([400, 'model']);
    expect(gateway.provider.calls).toBe(calls);
  }
  const inside = await ask(type, JSON.stringify({ ...chat, metadata: { model: 'x' }, user: 'a "model" \u0006' }));
  expect(inside.status).toBe(200);
});

test('an answer that stands is not asked for again', async () => {
  const reply = await ask(withConfig({ virtual_key: 'sim', retry: { attempts: 5, on_status_codes: [500, 200] } }));
  expect([reply.status, reply.json.error.param]).toEqual([400, 'config.retry.on_status_codes']);
});

test('a workspace cannot open the breaker of another by sending the same config', async () => {
  const other = await gateway.given.workspace();
  const { key } = await gateway.given.apiKey({ workspace_id: other.id });
  await gateway.given.virtualKey({ slug: 'first', workspace_id: other.id, custom_host: provider.origin });
  await gateway.given.virtualKey({ slug: 'second', workspace_id: other.id });
  await gateway.given.virtualKey({ slug: 'first' });
  await gateway.given.virtualKey({ slug: 'second' });
  const config = withConfig({
    strategy: { mode: 'fallback', cb_config: { failure_threshold: 1 } },
    targets: [{ virtual_key: 'first' }, { virtual_key: 'second' }],
  });
  provider.answers(() => new Response('broken', { status: 500 }));
  const used = (reply: { headers: Headers }) => reply.headers.get('x-gateway-last-used-option-index');

  const theirs = [await ask(config, chat, key), await ask(config, chat, key)];
  const calls = provider.requests.length;
  const third = await ask(config, chat, key);
  const ours = await ask(config);

  expect([...theirs, third].map(used)).toEqual(Array(3).fill('config.targets[1]'));
  expect(provider.requests.length).toBe(calls);
  expect(used(ours)).toBe('config.targets[0]');
  provider.answers(() => Response.json({}));
});

test('an answer is kept for the account that it came from', async () => {
  let answers = 0;
  provider.answers(() => Response.json({ id: `answer ${++answers}`, choices: [] }));
  const config = (deployment: string) =>
    withConfig({
      provider: 'azure-openai',
      api_key: 'sk-same',
      custom_host: provider.origin,
      azure_resource_name: 'same',
      azure_deployment_id: deployment,
      azure_api_version: '2024-10-21',
      cache: { mode: 'simple' },
    });
  const ids: string[] = [];
  for (const deployment of ['large', 'small', 'large']) ids.push((await ask(config(deployment))).json.id);
  expect(ids).toEqual(['answer 1', 'answer 2', 'answer 1']);
  provider.answers(() => Response.json({}));
});

describe('a provider', () => {
  const asked = { 'x-gateway-provider': 'anthropic', authorization: 'Bearer sk' };
  const head = (type: string) => `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

  /** Sends the same piece for ever, as fast as it is taken. */
  const endless = (start: string, piece: string) =>
    startRawUpstream((socket) => {
      socket.write(start);
      const more = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('drain', more);
      more();
    });

  for (const [name, type, text, stream] of [
    ['answer', 'application/json', ' '.repeat(1 << 20), false],
    ['stream of events', 'text/event-stream', `data: {"type":"ping","x":"${'x'.repeat(64 << 10)}"}\n\n`, true],
  ] as const) {
    test(`whose ${name} never ends is cut off instead of filling the memory`, async () => {
      const upstream = await endless(head(type), chunk(text));
      const headers = { ...asked, 'x-gateway-custom-host': upstream.url };
      const reply = await ask(headers, { ...chat, stream }).catch((error: Error) => error);
      const said = reply instanceof Error ? 'the connection was cut' : reply.text;
      expect(said).toMatch(/larger than \d+ bytes|the connection was cut/);
      await upstream.stop();
    });
  }

  test('that answers a translated call without content has failed', async () => {
    for (const status of [204, 302, 304]) {
      provider.answers(() => new Response(null, { status, headers: { location: 'https://elsewhere.example' } }));
      for (const stream of [false, true]) {
        const reply = await ask({ ...asked, 'x-gateway-custom-host': provider.origin }, { ...chat, stream });
        expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_failed']);
        expect(reply.headers.get('location')).toBe(null);
      }
    }
    provider.answers(() => Response.json({}));
  });

  test('that sends one endless event to a stream whose usage is counted fills no memory', async () => {
    const { key } = await gateway.given.apiKey({
      rate_limits: [{ type: 'tokens', unit: 'rpm', value: 1_000_000 }],
    });
    const upstream = await endless(`${head('text/event-stream')}${chunk('data: "')}`, chunk('x'.repeat(64 << 10)));
    const body = JSON.stringify({ ...chat, stream: true, max_tokens: 5 });
    const { socket, until } = openSocket(gateway.url);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nx-gateway-api-key: ${key}\r\nx-gateway-provider: openai\r\n` +
        `authorization: Bearer sk\r\nx-gateway-custom-host: ${upstream.url}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    // What was held back would not have come.
    const received = await until((text) => text.length > 500_000);
    expect(received).toContain('data: "xxxx');
    socket.destroy();
    await upstream.stop();
  });
});

test('the names of members that were left out fit into a header', async () => {
  provider.answers(() =>
    Response.json({ id: 'x', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} }),
  );
  const headers = {
    'x-gateway-provider': 'anthropic',
    authorization: 'Bearer sk',
    'x-gateway-custom-host': provider.origin,
  };
  const reply = await ask(headers, { ...chat, ['z'.repeat(60_000)]: 1, 'a\r\nset-cookie: b': 2 });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-dropped')).toContain('zzzz...');
  expect(reply.headers.get('x-gateway-dropped')!.length).toBeLessThan(300);
  expect(reply.headers.has('set-cookie')).toBe(false);
  provider.answers(() => Response.json({}));
});

test('a server name that would break out of a header is refused like any other', async () => {
  for (const name of ['a%22b', 'a%0d%0aset-cookie:x', '%E2%80%A8']) {
    const reply = await gateway.api.post(`/${name}/mcp`, {}, { key: null });
    expect([name, reply.status, reply.json.error.code]).toEqual([name, 401, 'missing_api_key']);
    expect(reply.headers.get('www-authenticate')).toContain(`/${encodeURIComponent(decodeURIComponent(name))}/mcp"`);
  }
});

test('a body that says the same a hundred thousand times is edited in one go', async () => {
  const messages = JSON.stringify(chat.messages);
  const body = `{"model":"m","messages":${messages}${',"user":"x","seed":1'.repeat(100_000)}}`;
  const config = { ...here(), override_params: { user: 'only' }, drop_params: ['seed'] };
  const reply = await ask({ 'content-type': 'application/json', ...withConfig(config) }, body);
  expect(reply.status).toBe(200);
  expect(provider.last.text).toBe(`{"model":"m","messages":${messages},"user":"only"}`);
});
