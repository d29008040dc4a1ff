import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  ADMIN_KEY,
  expired,
  type Reply,
  startGateway,
  startProvider,
  type TestGateway,
  type TestProvider,
} from '../gateway.ts';

let gateway: TestGateway;
/** A second provider, to tell who was called. */
let second: TestProvider;
/** A key whose default virtual key is `by-default`. */
let defaulted: string;

beforeAll(async () => {
  gateway = await startGateway();
  second = startProvider();
  const { given, provider } = gateway;
  const openai = { provider: 'openai', custom_host: provider.url };
  await given.virtualKey({ ...openai, slug: 'by-header', key: 'sk-by-header' });
  await given.virtualKey({ ...openai, slug: 'by-model', key: 'sk-by-model' });
  await given.virtualKey({ ...openai, slug: 'by-default', key: 'sk-by-default' });
  defaulted = (await given.apiKey({ defaults: { virtual_key: 'by-default' } })).key;
});
afterAll(async () => {
  await gateway.stop();
  second.stop();
});

const credentialOf = (reply: Reply) => reply.json?.headers?.authorization;
const custom = () => ({ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': second.url });

/** Asks who is called: the simulator's echo shows the credential it was sent. */
const ask = (headers: Record<string, string>, { key = ADMIN_KEY, model }: { key?: string; model?: string } = {}) =>
  gateway.api.post('/v1/echo', model === undefined ? {} : { model }, { key, headers });

describe('who is called', () => {
  const rows: [string, () => Record<string, string>, { model?: string; isDefaulted?: true }, string][] = [
    ['the slug in the model', () => ({}), { model: '@by-model/gpt' }, 'Bearer sk-by-model'],
    [
      'the slug in the model before the virtual key in the header',
      () => ({ 'x-gateway-virtual-key': 'by-header' }),
      { model: '@by-model/gpt' },
      'Bearer sk-by-model',
    ],
    [
      'the slug in the model before the default of the key',
      () => ({}),
      { model: '@by-model/gpt', isDefaulted: true },
      'Bearer sk-by-model',
    ],
    ['the virtual key in the header', () => ({ 'x-gateway-virtual-key': 'by-header' }), {}, 'Bearer sk-by-header'],
    [
      'the virtual key in the header before the default of the key',
      () => ({ 'x-gateway-virtual-key': 'by-header' }),
      { isDefaulted: true },
      'Bearer sk-by-header',
    ],
    [
      'the virtual key in the header, whatever Authorization says',
      () => ({ 'x-gateway-virtual-key': 'by-header', authorization: 'Bearer sk-of-the-caller' }),
      {},
      'Bearer sk-by-header',
    ],
    ['@slug as the provider', () => ({ 'x-gateway-provider': '@by-header' }), {}, 'Bearer sk-by-header'],
    [
      'the named provider with the credential of the caller',
      () => ({ ...custom(), authorization: 'Bearer sk-of-the-caller' }),
      {},
      'Bearer sk-of-the-caller',
    ],
    [
      'the named provider before the default of the key',
      () => ({ ...custom(), authorization: 'Bearer sk-of-the-caller' }),
      { isDefaulted: true },
      'Bearer sk-of-the-caller',
    ],
    ['the default of the key', () => ({}), { isDefaulted: true }, 'Bearer sk-by-default'],
    [
      'the default of the key, when the headers are empty',
      () => ({ 'x-gateway-virtual-key': '', 'x-gateway-provider': '', 'x-gateway-custom-host': '' }),
      { isDefaulted: true },
      'Bearer sk-by-default',
    ],
  ];
  for (const [name, headers, { model, isDefaulted }, credential] of rows) {
    test(name, async () => {
      const reply = await ask(headers(), { key: isDefaulted ? defaulted : ADMIN_KEY, model });
      expect(reply.status).toBe(200);
      expect(credentialOf(reply)).toBe(credential);
    });
  }

  test('a change of the default takes effect on the next request', async () => {
    const { id, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'by-default' } });
    expect(credentialOf(await ask({}, { key }))).toBe('Bearer sk-by-default');
    await gateway.api.put(`/v1/api-keys/${id}`, { defaults: { virtual_key: 'by-header' } });
    expect(credentialOf(await ask({}, { key }))).toBe('Bearer sk-by-header');
  });
});

describe('a refused choice is 400, says why, and nothing is sent', () => {
  const rows: [string, () => Record<string, string>, string | undefined, { code: string; param?: string | null }][] = [
    ['no provider at all', () => ({}), undefined, { code: 'missing_provider' }],
    [
      'an unknown provider',
      () => ({ 'x-gateway-provider': 'nobody', authorization: 'Bearer x' }),
      undefined,
      { code: 'unknown_provider', param: 'x-gateway-provider' },
    ],
    [
      'an unknown virtual key',
      () => ({ 'x-gateway-virtual-key': 'nobody' }),
      undefined,
      { code: 'unknown_virtual_key', param: 'x-gateway-virtual-key' },
    ],
    ['an unknown slug in the model', () => ({}), '@nobody/gpt', { code: 'unknown_virtual_key' }],
    [
      'a virtual key beside a provider',
      () => ({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-provider': 'openai' }),
      undefined,
      { code: 'conflicting_provider', param: 'x-gateway-provider' },
    ],
    [
      'a virtual key beside a custom host',
      () => ({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-custom-host': second.url }),
      undefined,
      { code: 'conflicting_provider', param: 'x-gateway-custom-host' },
    ],
    [
      'a slug in the model beside a custom host',
      () => ({ 'x-gateway-custom-host': second.url }),
      '@by-model/gpt',
      { code: 'conflicting_provider', param: 'x-gateway-custom-host' },
    ],
    [
      'a slug as the provider beside a custom host',
      () => ({ 'x-gateway-provider': '@by-header', 'x-gateway-custom-host': second.url }),
      undefined,
      { code: 'conflicting_provider', param: 'x-gateway-custom-host' },
    ],
    [
      'a custom host without a provider',
      () => ({ 'x-gateway-custom-host': second.url }),
      undefined,
      { code: 'invalid_header', param: 'x-gateway-custom-host' },
    ],
    ['a provider without a credential', custom, undefined, { code: 'missing_credential', param: 'authorization' }],
    [
      'a provider that lacks an option',
      () => ({ 'x-gateway-provider': 'azure-openai', authorization: 'Bearer x' }),
      undefined,
      { code: 'missing_provider_option', param: 'azure_resource_name' },
    ],
    ['@ without a slug', () => ({}), '@/gpt', { code: 'invalid_request', param: 'model' }],
    ['@ without a model', () => ({}), '@by-model/', { code: 'invalid_request', param: 'model' }],
    ['@ without a slash', () => ({}), '@by-model', { code: 'invalid_request', param: 'model' }],
    [
      'a config that does not exist',
      () => ({ 'x-gateway-config': 'nowhere' }),
      undefined,
      { code: 'unknown_config', param: 'x-gateway-config' },
    ],
  ];
  for (const [name, headers, model, error] of rows) {
    test(name, async () => {
      const before = gateway.provider.calls + second.calls;
      const reply = await ask(headers(), { model });
      expect(reply.status).toBe(400);
      expect(reply.json.error).toMatchObject({ type: 'invalid_request_error', ...error });
      expect(reply.headers.get('x-gateway-error-origin')).toBe('gateway');
      expect(gateway.provider.calls + second.calls).toBe(before);
    });
  }

  test('an empty provider slug', async () => {
    const reply = await ask({ 'x-gateway-provider': '@' });
    expect(reply.status).toBe(400);
  });

  test('a virtual key that has expired', async () => {
    await gateway.given.virtualKey({ slug: 'short-lived' });
    await expired((expires_at) => gateway.api.put('/v1/virtual-keys/short-lived', { expires_at }));
    const reply = await ask({ 'x-gateway-virtual-key': 'short-lived' });
    expect(reply.status).toBe(400);
    expect(reply.json.error.code).toBe('expired_virtual_key');
  });
});

describe('model "@slug/name"', () => {
  const send = (body: string, path = '/v1/echo', headers: Record<string, string> = {}) =>
    gateway.api.post(path, body, { headers: { 'content-type': 'application/json', ...headers } });

  const spliced: [string, string, string][] = [
    [
      'leaves every other byte as it was',
      '{ "seed":18446744073709551615,\n "model" : "@by-model/gpt-5", "a":1, "a":2.0, "u":"\\u00e9" }\n',
      '{ "seed":18446744073709551615,\n "model" : "gpt-5", "a":1, "a":2.0, "u":"\\u00e9" }\n',
    ],
    ['keeps slashes of the name', '{"model":"@by-model/meta/llama/3"}', '{"model":"meta/llama/3"}'],
    ['is read through escapes', '{"mod\\u0065l":"@by-model\\/gpt"}', '{"mod\\u0065l":"gpt"}'],
    [
      'is not sought in nested objects or in text',
      '{"model":"@by-model/gpt","messages":[{"model":"@by-header/x","content":"\\"model\\":\\"@by-header/y\\""}]}',
      '{"model":"gpt","messages":[{"model":"@by-header/x","content":"\\"model\\":\\"@by-header/y\\""}]}',
    ],
    ['keeps names that must be escaped', '{"model":"@by-model/g\\"p\\u00e9t"}', '{"model":"g\\"pét"}'],
  ];
  for (const [name, body, arrived] of spliced) {
    test(name, async () => {
      const reply = await send(body);
      expect(reply.status).toBe(200);
      expect(credentialOf(reply)).toBe('Bearer sk-by-model');
      expect(reply.json.body_text).toBe(arrived);
    });
  }

  test('is found at the start of a body of several megabytes, and the rest follows unchanged', async () => {
    const filler = 'é'.repeat(1 << 20);
    const reply = await send(`{"model":"@by-model/gpt","content":"${filler}"}`);
    expect(reply.status).toBe(200);
    const expected = new Bun.CryptoHasher('sha256').update(`{"model":"gpt","content":"${filler}"}`).digest('hex');
    expect(reply.json.body_sha256).toBe(expected);
  });

  test('that is given twice is refused: which one counts would be up to the provider', async () => {
    for (const body of [
      '{"model":"@by-model/gpt","model":"gpt"}',
      '{"model":"gpt","model":"@by-model/gpt"}',
      '{"model":"@by-model/a","model":"@by-header/b"}',
    ]) {
      const { calls } = gateway.provider;
      const reply = await send(body, '/v1/echo', { 'x-gateway-virtual-key': 'by-header' });
      expect(reply.status).toBe(400);
      expect(reply.json.error).toMatchObject({ code: 'invalid_request', param: 'model' });
      expect(gateway.provider.calls).toBe(calls);
    }
  });

  test('is left alone by a forced pass-through and in bodies that are not JSON', async () => {
    const body = '{"model":"@by-model/gpt"}';
    const headers = { 'x-gateway-virtual-key': 'by-header' };
    const forced = await send(body, '/v1/proxy/echo', headers);
    const text = await send(body, '/v1/echo', { ...headers, 'content-type': 'text/plain' });
    for (const reply of [forced, text]) {
      expect(reply.status).toBe(200);
      expect(credentialOf(reply)).toBe('Bearer sk-by-header');
      expect(reply.json.body_text).toBe(body);
    }
  });

  test('is answered by the model behind the slash', async () => {
    const chat = { model: '@demo/any/model', messages: [{ role: 'user', content: 'hello' }] };
    const reply = await gateway.api.post('/v1/chat/completions', chat);
    expect(reply.status).toBe(200);
    expect(reply.json.model).toBe('any/model');
  });
});

describe('a custom host', () => {
  const mine = { 'x-gateway-provider': 'openai', authorization: 'Bearer sk-of-the-caller' };

  test('replaces the base, version included', async () => {
    const { calls } = second;
    const reply = await gateway.api.get('/v1/echo', {
      headers: { ...mine, 'x-gateway-custom-host': `${second.origin}/deep/v7/` },
    });
    expect(reply.status).toBe(404); // the simulator knows no such path; it is shown in the error
    expect(reply.json.error.message).toContain('/deep/v7/echo');
    expect(second.calls).toBe(calls + 1);
  });

  const refused: [string, string, string][] = [
    ['plain http to a host that is not trusted', 'http://example.com/v1', 'plain http'],
    ['a private address', 'https://10.0.0.1/v1', 'not globally reachable'],
    ['loopback by another name', 'https://127.0.0.2/v1', 'not globally reachable'],
    ['loopback written as one number', 'https://2130706434/v1', 'not globally reachable'],
    ['the metadata address', 'https://169.254.169.254/latest', 'not globally reachable'],
    ['loopback in IPv6', 'https://[::1]/v1', 'not globally reachable'],
    ['loopback mapped into IPv6', 'https://[::ffff:127.0.0.2]/v1', 'not globally reachable'],
    ['a local name', 'https://printer.local/v1', 'TRUSTED_CUSTOM_HOSTS'],
  ];
  for (const [name, host, rule] of refused) {
    test(`that is ${name} is refused`, async () => {
      const reply = await gateway.api.get('/v1/models', { headers: { ...mine, 'x-gateway-custom-host': host } });
      expect(reply.status).toBe(400);
      expect(reply.json.error.code).toBe('egress_refused');
      expect(reply.json.error.message).toContain(rule);
    });

    test(`that is ${name} cannot be stored`, async () => {
      const reply = await gateway.api.post('/v1/virtual-keys', {
        name: 'refused',
        provider: 'openai',
        key: 'sk-refused',
        custom_host: host,
      });
      expect(reply.status).toBe(400);
      expect(reply.json.error.code).toBe('egress_refused');
    });
  }

  for (const host of [
    'ftp://example.com',
    'https://user:secret@example.com/v1',
    'not a host',
    'https://a.example/?q=1',
  ]) {
    test(`cannot be "${host}"`, async () => {
      const reply = await gateway.api.get('/v1/models', { headers: { ...mine, 'x-gateway-custom-host': host } });
      expect(reply.status).toBe(400);
      expect(reply.text).not.toContain('secret');
    });
  }

  test('never gets a stored credential, however it is combined', async () => {
    const { calls } = second;
    const host = { 'x-gateway-custom-host': second.url };
    const replies = await Promise.all([
      ask({ ...host, 'x-gateway-virtual-key': 'by-header' }),
      ask({ ...host, 'x-gateway-provider': '@by-header' }),
      ask({ ...host, 'x-gateway-provider': 'openai' }),
      ask({ ...host, 'x-gateway-provider': 'openai' }, { key: defaulted }),
      ask(host, { key: defaulted }),
      ask(host, { model: '@by-model/gpt' }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400]);
    expect(second.calls).toBe(calls);
  });

  test("cannot be moved by a provider's options beside a virtual key", async () => {
    await gateway.given.virtualKey({
      slug: 'azure-fixed',
      provider: 'azure-openai',
      key: 'azure-secret',
      custom_host: `${gateway.provider.origin}/openai/v1`,
      configurations: { azure_resource_name: 'ours' },
    });
    const reply = await gateway.api.get('/v1/models', {
      headers: {
        'x-gateway-virtual-key': 'azure-fixed',
        'x-gateway-azure-resource-name': 'theirs',
        'x-simulate': 'echo',
      },
    });
    expect(reply.status).toBe(200);
    expect(reply.json.headers.host).toBe(new URL(gateway.provider.url).host);
    expect(reply.text).not.toContain('theirs');
  });
});

describe('each provider is spoken to in its own way', () => {
  const shown = async (slug: string, path: string, headers: Record<string, string> = {}) =>
    (await gateway.api.get(path, { headers: { 'x-gateway-virtual-key': slug, 'x-simulate': 'echo', ...headers } }))
      .json;

  test('anthropic gets x-api-key and a version, or the version of the client', async () => {
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-1' });
    const plain = await shown('claude', '/v1/proxy/models');
    expect(plain.headers).toMatchObject({ 'x-api-key': 'sk-ant-1', 'anthropic-version': '2023-06-01' });
    expect(plain.headers.authorization).toBeUndefined();
    const own = await shown('claude', '/v1/proxy/models', { 'anthropic-version': '2099-01-01' });
    expect(own.headers['anthropic-version']).toBe('2099-01-01');
  });

  test('google gets x-goog-api-key, and its version segment is not doubled', async () => {
    const host = `${gateway.provider.origin}/v1beta`;
    await gateway.given.virtualKey({ slug: 'gemini', provider: 'google', key: 'goog-1', custom_host: host });
    for (const path of ['/v1/v1beta/models', '/v1/proxy/models', '/v1/proxy/v1beta/models']) {
      const seen = await shown('gemini', path);
      expect(seen.path).toBe('/v1beta/models');
      expect(seen.headers['x-goog-api-key']).toBe('goog-1');
      expect(seen.headers.authorization).toBeUndefined();
    }
  });

  test('a path that only starts like the version keeps it', async () => {
    const seen = await shown('sim', '/v1/v1beta/models');
    expect(seen.path).toBe('/v1/v1beta/models');
  });

  test('azure gets api-key, its deployment and its api-version', async () => {
    await gateway.given.virtualKey({
      slug: 'azure',
      provider: 'azure-openai',
      key: 'azure-1',
      custom_host: `${gateway.provider.origin}/openai`,
      configurations: {
        azure_resource_name: 'ours',
        azure_deployment_id: 'gpt-here',
        azure_api_version: '2024-10-21',
      },
    });
    const seen = await shown('azure', '/v1/chat/completions');
    expect(seen.headers['api-key']).toBe('azure-1');
    expect(seen.headers.authorization).toBeUndefined();
    expect(seen.path + seen.search).toBe('/openai/deployments/gpt-here/chat/completions?api-version=2024-10-21');
  });

  test('openai gets its organisation and project', async () => {
    await gateway.given.virtualKey({
      slug: 'with-project',
      configurations: { openai_organization: 'org-1', openai_project: 'proj-1' },
    });
    const seen = await shown('with-project', '/v1/models');
    expect(seen.headers).toMatchObject({ 'openai-organization': 'org-1', 'openai-project': 'proj-1' });
  });

  test('custom headers of a virtual key are sent, before those of the client', async () => {
    await gateway.given.virtualKey({ slug: 'extra', configurations: { custom_headers: { 'x-extra': 'stored' } } });
    const seen = await shown('extra', '/v1/models', { 'x-extra': 'of the client' });
    expect(seen.headers['x-extra']).toBe('stored');
  });

  test("the caller's own credential may come in the header the provider's SDK uses", async () => {
    const headers = { 'x-gateway-custom-host': gateway.provider.url, 'x-simulate': 'echo' };
    const anthropic = await gateway.api.get('/v1/proxy/models', {
      headers: { ...headers, 'x-gateway-provider': 'anthropic', 'x-api-key': 'sk-ant-mine' },
    });
    expect(anthropic.json.headers['x-api-key']).toBe('sk-ant-mine');
    const google = await gateway.api.get('/v1/proxy/models', {
      headers: { ...headers, 'x-gateway-provider': 'google', 'x-goog-api-key': 'goog-mine' },
    });
    expect(google.json.headers['x-goog-api-key']).toBe('goog-mine');
  });
});

describe('x-gateway-metadata', () => {
  for (const [name, value] of [
    ['text that is not JSON', 'a=b'],
    ['a list', '["a"]'],
    ['null', 'null'],
    ['a number as value', '{"a":1}'],
    ['an object as value', '{"a":{"b":"c"}}'],
    ['a value of 129 characters', JSON.stringify({ a: 'x'.repeat(129) })],
  ] as const) {
    test(`refuses ${name}`, async () => {
      const { calls } = gateway.provider;
      const reply = await ask({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-metadata': value });
      expect(reply.status).toBe(400);
      expect(reply.json.error).toMatchObject({ code: 'invalid_header', param: 'x-gateway-metadata' });
      expect(gateway.provider.calls).toBe(calls);
    });
  }

  test('takes an object of strings of up to 128 characters', async () => {
    const metadata = JSON.stringify({ _user: 'ada', note: 'x'.repeat(128) });
    const reply = await ask({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-metadata': metadata });
    expect(reply.status).toBe(200);
  });
});

describe('x-gateway-request-timeout', () => {
  test('ends a call that takes longer with 408, and the provider is let go', async () => {
    const { aborted } = gateway.provider.simulator;
    const reply = await ask({
      'x-gateway-virtual-key': 'by-header',
      'x-gateway-request-timeout': '50',
      'x-simulate': 'stall=headers',
    });
    expect(reply.status).toBe(408);
    expect(reply.json.error).toMatchObject({ code: 'request_timeout', type: 'timeout_error' });
    while (gateway.provider.simulator.aborted === aborted) await Bun.sleep(5);
  });

  test('lets a call pass that is quicker', async () => {
    const reply = await ask({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-request-timeout': '20000' });
    expect(reply.status).toBe(200);
  });

  for (const value of ['0', '-1', '1.5', 'soon']) {
    test(`refuses "${value}"`, async () => {
      const { calls } = gateway.provider;
      const reply = await ask({ 'x-gateway-virtual-key': 'by-header', 'x-gateway-request-timeout': value });
      expect(reply.status).toBe(400);
      expect(reply.json.error).toMatchObject({ code: 'invalid_header', param: 'x-gateway-request-timeout' });
      expect(gateway.provider.calls).toBe(calls);
    });
  }
});
