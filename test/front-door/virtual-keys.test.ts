import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, expired, type Reply, startGateway, startProvider, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SECRET = 'sk-provider-secret-0123456789';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`virtual keys on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GROQ_API_KEY: 'gsk-from-the-environment' } });
    });
    afterAll(() => gateway.stop());

    const make = (body: Record<string, unknown>) =>
      gateway.api.post('/v1/virtual-keys', { name: 'made', provider: 'openai', key: SECRET, ...body });
    const credentialOf = async (slug: string) => {
      const reply = await gateway.api.get('/v1/echo', { headers: { 'x-gateway-virtual-key': slug } });
      return reply.json.headers?.authorization ?? reply.json.error?.code;
    };
    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };

    describe('one that is paid by who calls', () => {
      const TOKEN = 'Bearer sk-ant-oat01-of-a-person';
      const evil = startRecorder();
      afterAll(() => evil.stop());
      const paid = (body: Record<string, unknown> = {}) =>
        make({
          ...{ provider: 'anthropic', key: undefined, custom_host: gateway.provider.url },
          ...{ configurations: { paid_by: 'caller' }, ...body },
        });
      const through = (slug: string, headers: Record<string, string> = {}, key: string | null = ADMIN_KEY) =>
        gateway.api.get('/v1/echo', {
          key,
          headers: {
            'x-gateway-virtual-key': slug,
            authorization: TOKEN,
            'anthropic-beta': 'oauth-2025-04-20',
            ...headers,
          },
        });
      const says = (reply: Reply) => `${reply.status} ${reply.json.error?.code ?? reply.json.headers?.authorization}`;

      test("sends the caller's Authorization as it came, and no other credential", async () => {
        const { slug } = (await paid()).json;
        const { headers } = (await through(slug)).json;
        expect(headers).toMatchObject({ authorization: TOKEN, 'anthropic-beta': 'oauth-2025-04-20' });
        expect(headers['x-api-key']).toBeUndefined();
        expect(headers['x-gateway-api-key']).toBeUndefined();
      });

      test('is no use to who brings none, and sends no key or token of the gateway anywhere', async () => {
        const { slug } = (await paid()).json;
        const { key } = await gateway.given.apiKey();
        const calls = gateway.provider.calls;
        const missing = '400 callers_authorization_missing';
        expect(says(await through(slug, { authorization: '' }))).toBe(missing);
        expect(says(await through(slug, { authorization: `Bearer ${key}` }))).toBe(missing);
        expect(says(await through(slug, { authorization: `Bearer ${key}` }, null))).toBe(missing);
        expect(says(await through(slug, { authorization: key, 'x-api-key': 'sk-ant-x' }))).toBe(missing);
        for (const ours of ['gwl_x', 'gwlr_x', 'gwt_x', 'gw-other'])
          expect(says(await through(slug, { authorization: `Bearer ${ours}` }))).toBe(missing);
        const { key: bound } = await gateway.given.apiKey({ forbidden: ['api_key'] });
        expect(says(await through(slug, {}, bound))).toBe('403 forbidden_by_rule');
        expect(gateway.provider.calls).toBe(calls);
      });

      test('leads to its own host alone, whatever the caller says', async () => {
        const { slug } = (await paid()).json;
        const config = { strategy: { mode: 'single' }, targets: [{ virtual_key: slug, custom_host: evil.origin }] };
        for (const headers of [
          { 'x-gateway-custom-host': evil.origin },
          { 'x-gateway-config': JSON.stringify({ virtual_key: slug, custom_host: evil.origin }) },
          { 'x-gateway-config': JSON.stringify(config) },
        ] as Record<string, string>[])
          await through(slug, headers);
        expect(evil.requests).toEqual([]);
      });

      test('is counted and limited in tokens, and no answer is shared between two subscriptions', async () => {
        const limited = await paid({ usage_limits: { type: 'tokens', credit_limit: 1 } });
        const open = await paid();
        const ask = (slug: string, headers: Record<string, string> = {}) =>
          gateway.api.post(
            '/v1/messages',
            { model: 'claude-x', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
            { headers: { authorization: TOKEN, 'x-gateway-virtual-key': slug, ...headers } },
          );
        const first = await ask(open.json.slug);
        expect([first.status, first.text]).toEqual([200, first.text]);
        expect(await gateway.logOf(first)).toMatchObject({
          virtual_key: open.json.slug,
          total_tokens: expect.any(Number),
        });
        const config = JSON.stringify({ virtual_key: open.json.slug, cache: { mode: 'simple' } });
        const cached = async (authorization: string) =>
          (await ask(open.json.slug, { 'x-gateway-config': config, authorization })).headers.get(
            'x-gateway-cache-status',
          );
        expect([await cached(TOKEN), await cached(TOKEN), await cached(`${TOKEN}-else`)]).toEqual([
          'MISS',
          'HIT',
          'MISS',
        ]);
        const statuses = [];
        for (let each = 0; each < 3; each++) statuses.push((await ask(limited.json.slug)).status);
        expect(statuses.at(-1)).toBe(412);
      });

      test('holds no credential, and is for providers that take subscriptions', async () => {
        const refused = async (body: Record<string, unknown>) => {
          const { status, json } = await paid(body);
          return `${status} ${json.error?.param}`;
        };
        expect(await refused({ key: SECRET })).toBe('400 key');
        expect(await refused({ provider: 'groq' })).toBe('400 configurations.paid_by');
        expect(await refused({ configurations: { paid_by: 'me' } })).toBe('400 configurations.paid_by');
        const { slug } = (await paid()).json;
        const changed = await gateway.api.put(`/v1/virtual-keys/${slug}`, { key: SECRET });
        expect([changed.status, changed.json.error.param]).toEqual([400, 'key']);
      });
    });

    test('creating one answers the object without its credential', async () => {
      const reply = await make({ name: 'My OpenAI Key', note: 'paid by research', custom_host: gateway.provider.url });

      expect(reply.status).toBe(200);
      expect(reply.json.id).toMatch(UUID);
      expect(reply.json).toMatchObject({
        object: 'virtual-key',
        slug: 'my-openai-key',
        name: 'My OpenAI Key',
        note: 'paid by research',
        provider: 'openai',
        masked_key: 'sk-***789',
        custom_host: gateway.provider.url,
        configurations: {},
        status: 'active',
        expires_at: null,
      });
      expect(reply.text).not.toContain(SECRET);
      expect(await credentialOf('my-openai-key')).toBe(`Bearer ${SECRET}`);
    });

    test('a credential that no header can carry is refused when it is saved, and not shown', async () => {
      const refused = await gateway.api.post('/v1/virtual-keys', {
        name: 'Pasted',
        provider: 'openai',
        key: 'sk-secret…',
      });
      expect([refused.status, refused.json.error.param]).toEqual([400, 'key']);
      expect(refused.text).not.toContain('sk-secret');
    });

    test('the credential is shown by no later answer, and neither are secret configurations', async () => {
      const configurations = {
        aws_region: 'eu-west-1',
        aws_access_key_id: 'AKIASECRETSECRET',
        aws_secret_access_key: 'aws-secret-of-the-deepest-kind',
        custom_headers: { 'x-team': 'header-secret-value' },
      };
      const made = await make({ slug: 'hidden', provider: 'bedrock', configurations });
      expect(made.status).toBe(200);
      const texts = [
        made.text,
        (await gateway.api.get('/v1/virtual-keys/hidden')).text,
        (await gateway.api.get('/v1/virtual-keys?page_size=1000')).text,
        (await gateway.api.put('/v1/virtual-keys/hidden', { note: 'changed' })).text,
        (await gateway.api.get('/v1/logs?limit=1000')).text,
      ];
      for (const text of texts) {
        expect(text).not.toContain(SECRET);
        expect(text).not.toContain('AKIASECRETSECRET');
        expect(text).not.toContain('aws-secret-of-the-deepest-kind');
        expect(text).not.toContain('header-secret-value');
      }
      const shown = (await gateway.api.get('/v1/virtual-keys/hidden')).json;
      expect(shown.configurations).toEqual({
        aws_region: 'eu-west-1',
        aws_access_key_id: 'AKI***RET',
        aws_secret_access_key: 'aws***ind',
        custom_headers: { 'x-team': 'hea***lue' },
      });
    });

    test('a slug made from the name gets a suffix when it is taken', async () => {
      const first = (await make({ name: 'Twice' })).json;
      const second = (await make({ name: 'Twice' })).json;
      expect(first.slug).toBe('twice');
      expect(second.slug).toMatch(/^twice-[0-9a-f]{6}$/);
    });

    test('a slug that was asked for and is taken is refused', async () => {
      expect((await make({ slug: 'Mine_1' })).json.slug).toBe('Mine_1');
      refusal(await make({ slug: 'Mine_1' }), 400, { code: 'slug_taken', param: 'slug' });
    });

    test('the same slug may be used in another workspace', async () => {
      const workspace = await gateway.given.workspace({ name: 'Slugs' });
      expect((await make({ slug: 'shared', custom_host: gateway.provider.url })).status).toBe(200);
      const other = await make({
        slug: 'shared',
        workspace_id: workspace.id,
        key: 'sk-of-the-other',
        custom_host: gateway.provider.url,
      });
      expect(other.status).toBe(200);
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
      const reply = await gateway.api.get('/v1/echo', { key, headers: { 'x-gateway-virtual-key': 'shared' } });
      expect(reply.json.headers.authorization).toBe('Bearer sk-of-the-other');
      expect(await credentialOf('shared')).toBe(`Bearer ${SECRET}`);
    });

    test('an update changes what it names and nothing else, and holds for the next request', async () => {
      const made = (await make({ slug: 'changing', custom_host: gateway.provider.url })).json;
      expect(await credentialOf('changing')).toBe(`Bearer ${SECRET}`);

      const renamed = await gateway.api.put('/v1/virtual-keys/changing', { name: 'Changed' });
      expect(renamed.json).toEqual({ ...made, name: 'Changed', last_updated_at: expect.any(String) });
      expect(await credentialOf('changing')).toBe(`Bearer ${SECRET}`);

      const replaced = await gateway.api.put('/v1/virtual-keys/changing', { key: 'sk-another-secret-1' });
      expect(replaced.json.masked_key).toBe('sk-***t-1');
      expect(await credentialOf('changing')).toBe('Bearer sk-another-secret-1');
    });

    test('moving the host asks for the credential again, and nothing changes without it', async () => {
      const elsewhere = startProvider();
      await make({ slug: 'moving', custom_host: gateway.provider.url });
      for (const change of [
        { custom_host: elsewhere.url },
        { custom_host: null },
        { provider: 'groq' },
        { configurations: { custom_headers: { 'x-a': 'b' } } },
      ]) {
        const reply = await gateway.api.put('/v1/virtual-keys/moving', change);
        refusal(reply, 400, { code: 'invalid_request', param: 'key' });
      }
      expect(await credentialOf('moving')).toBe(`Bearer ${SECRET}`);
      expect(elsewhere.calls).toBe(0);

      const moved = await gateway.api.put('/v1/virtual-keys/moving', { custom_host: elsewhere.url, key: 'sk-new' });
      expect(moved.status).toBe(200);
      expect(await credentialOf('moving')).toBe('Bearer sk-new');
      expect(elsewhere.calls).toBe(1);
      elsewhere.stop();
    });

    test('a deleted one is unknown to the very next request', async () => {
      await make({ slug: 'short', custom_host: gateway.provider.url });
      expect(await credentialOf('short')).toBe(`Bearer ${SECRET}`);
      const reply = await gateway.api.delete('/v1/virtual-keys/short');
      expect(reply.json).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        object: 'virtual-key',
        deleted: true,
      });
      expect(await credentialOf('short')).toBe('unknown_virtual_key');
      refusal(await gateway.api.get('/v1/virtual-keys/short'), 404, { code: 'virtual_key_not_found' });
      refusal(await gateway.api.delete('/v1/virtual-keys/short'), 404, { code: 'virtual_key_not_found' });
      refusal(await gateway.api.put('/v1/virtual-keys/short', { name: 'x' }), 404, { code: 'virtual_key_not_found' });
    });

    test('one for a host that the gateway does not call is refused, and the field is named', async () => {
      const reply = await make({ custom_host: 'https://10.0.0.1/v1' });
      refusal(reply, 400, { code: 'egress_refused', param: 'custom_host' });
    });

    test('one that has expired says so', async () => {
      const members = { slug: 'expiring', custom_host: gateway.provider.url };
      await expired((expires_at) => make({ ...members, expires_at }));
      expect(await credentialOf('expiring')).toBe('expired_virtual_key');
      expect((await gateway.api.get('/v1/virtual-keys/expiring')).json.status).toBe('expired');
      await gateway.api.put('/v1/virtual-keys/expiring', { expires_at: null });
      expect(await credentialOf('expiring')).toBe(`Bearer ${SECRET}`);
    });

    test('demo is there from the start, and says that it is simulated', async () => {
      const demo = (await gateway.api.get('/v1/virtual-keys/demo')).json;
      expect(demo).toMatchObject({ provider: 'simulator', masked_key: '' });
      expect(demo.name).toContain('simulated');
      const reply = await gateway.api.get('/v1/models', { headers: { 'x-gateway-virtual-key': 'demo' } });
      expect(reply.headers.get('x-simulated')).toBe('true');
    });

    describe("a provider's variable in the environment", () => {
      test('is a virtual key of its name, masked, in the default workspace only', async () => {
        const shown = (await gateway.api.get('/v1/virtual-keys/groq')).json;
        expect(shown).toMatchObject({ slug: 'groq', provider: 'groq', masked_key: 'gsk***ent', status: 'active' });
        const { key } = await gateway.given.apiKey({
          workspace_id: (await gateway.given.workspace({ name: 'Elsewhere' })).id,
          scopes: ['virtual_keys.read', 'virtual_keys.list'],
        });
        refusal(await gateway.api.get('/v1/virtual-keys/groq', { key }), 404, { code: 'virtual_key_not_found' });
        expect((await gateway.api.get('/v1/virtual-keys', { key })).json.data).toEqual([]);
      });

      test('is changed there and not here', async () => {
        refusal(await gateway.api.delete('/v1/virtual-keys/groq'), 400, { code: 'virtual_key_fixed' });
        refusal(await gateway.api.put('/v1/virtual-keys/groq', { name: 'x' }), 400, { code: 'virtual_key_fixed' });
      });

      test('is counted once in a list, whatever the size of its pages', async () => {
        const all = (await gateway.api.get('/v1/virtual-keys?page_size=1000')).json;
        const slugs = all.data.map(({ slug }: { slug: string }) => slug);
        expect(slugs.filter((slug: string) => slug === 'groq')).toEqual(['groq']);
        expect(all.total).toBe(slugs.length);

        const paged: string[] = [];
        for (let page = 0; ; page++) {
          const { json } = await gateway.api.get(`/v1/virtual-keys?page_size=2&current_page=${page}`);
          expect(json.data.length).toBeLessThanOrEqual(2);
          expect(json.total).toBe(slugs.length);
          paged.push(...json.data.map(({ slug }: { slug: string }) => slug));
          if (!json.has_more) break;
        }
        expect(paged).toEqual(slugs);
      });
    });

    test('lists come in pages', async () => {
      const { id: workspace } = await gateway.given.workspace({ name: 'Paged' });
      for (const name of ['a', 'b', 'c']) await make({ name, workspace_id: workspace });
      const pages: [number, number, string[], boolean][] = [
        [2, 0, ['a', 'b'], true],
        [2, 1, ['c'], false],
        [2, 2, [], false],
        [3, 0, ['a', 'b', 'c'], false],
        [3, 1, [], false],
        [4, 0, ['a', 'b', 'c'], false],
      ];
      for (const [size, at, slugs, has_more] of pages) {
        const { json } = await gateway.api.get(
          `/v1/virtual-keys?workspace_id=${workspace}&page_size=${size}&current_page=${at}`,
        );
        expect(json).toMatchObject({ object: 'list', total: 3, has_more });
        expect(json.data.map(({ slug }: { slug: string }) => slug)).toEqual(slugs);
      }
      refusal(await gateway.api.get('/v1/virtual-keys?page_size=1001'), 400, { param: 'page_size' });
      refusal(await gateway.api.get('/v1/virtual-keys?current_page=-1'), 400, { param: 'current_page' });
    });

    describe('a body is refused that has', () => {
      const rows: [string, Record<string, unknown>, string][] = [
        ['no name', { name: undefined }, 'name'],
        ['no provider', { provider: undefined }, 'provider'],
        ['an unknown provider', { provider: 'nobody' }, 'provider'],
        ['a slug with a slash', { slug: 'a/b' }, 'slug'],
        ['an empty slug', { slug: '' }, 'slug'],
        ['an unknown field', { colour: 'red' }, 'colour'],
        ['an unknown configuration', { configurations: { aws_region: 'x' } }, 'configurations.aws_region'],
        ['a credential with control characters', { key: 'sk-\u0001' }, 'key'],
        ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
        ['rate limits that say nothing', { rate_limits: [{}] }, 'rate_limits[0].type'],
        ['usage limits that say nothing', { usage_limits: {} }, 'usage_limits.credit_limit'],
        [
          'custom headers that are a list',
          { configurations: { custom_headers: ['a'] } },
          'configurations.custom_headers',
        ],
        [
          'a custom header that is not text',
          { configurations: { custom_headers: { 'x-a': 1 } } },
          'configurations.custom_headers',
        ],
        [
          'a custom header with a line break',
          { configurations: { custom_headers: { 'x-a': 'b\r\nx-c: d' } } },
          'configurations.custom_headers',
        ],
        [
          'a custom header that belongs to the connection',
          { configurations: { custom_headers: { Host: 'example.com' } } },
          'configurations.custom_headers',
        ],
      ];
      for (const [name, body, param] of rows) {
        test(name, async () => {
          refusal(await make(body), 400, { code: 'invalid_request', param });
        });
      }

      test('a host that is no address', async () => {
        for (const custom_host of ['models.example.com', 'ftp://example.com', 'https://a:b@example.com']) {
          refusal(await make({ custom_host }), 400, { param: 'custom_host' });
        }
      });

      test('too few configurations for its provider', async () => {
        refusal(await make({ provider: 'azure-openai' }), 400, {
          code: 'missing_provider_option',
          param: 'azure_resource_name',
        });
      });

      test('a slug in an update', async () => {
        await make({ slug: 'settled' });
        refusal(await gateway.api.put('/v1/virtual-keys/settled', { slug: 'x' }), 400, { param: 'slug' });
      });

      test('broken JSON, another content type, or too many bytes', async () => {
        const json = { headers: { 'content-type': 'application/json' } };
        const text = { headers: { 'content-type': 'text/plain' } };
        refusal(await gateway.api.post('/v1/virtual-keys', '{', json), 400, { code: 'invalid_json' });
        refusal(await gateway.api.post('/v1/virtual-keys', '{}', text), 415, { code: 'unsupported_media_type' });
        refusal(await make({ note: 'x'.repeat(1 << 20) }), 413, { code: 'body_too_large' });
      });
    });
  });
}

test('what is shown masked cannot take the place of the secret', async () => {
  const gateway = await startGateway();
  const configurations = {
    aws_region: 'eu-central-1',
    aws_access_key_id: 'AKIAEXAMPLEEXAMPLE12',
    aws_secret_access_key: 'a-secret-that-is-long-enough-to-mask',
    custom_headers: { 'x-team': 'a-header-that-is-long-enough' },
  };
  const made = await gateway.api.post('/v1/virtual-keys', { name: 'Bedrock', provider: 'bedrock', configurations });
  expect([made.status, made.text]).toEqual([200, expect.any(String)]);
  const shown = made.json.configurations;
  expect(shown.aws_secret_access_key).not.toBe(configurations.aws_secret_access_key);
  const path = `/v1/virtual-keys/${made.json.slug}`;

  const change = async (body: object) => {
    const { status, json } = await gateway.api.put(path, { configurations: body });
    return [status, json.error?.param ?? null];
  };
  expect(await change(shown)).toEqual([400, 'configurations.aws_access_key_id']);
  const { custom_headers } = shown;
  expect(await change({ ...configurations, custom_headers })).toEqual([400, 'configurations.custom_headers.x-team']);
  expect(await change({ ...configurations, aws_region: 'eu-west-1' })).toEqual([200, null]);
  expect((await gateway.api.put(path, { name: 'Other' })).json.configurations.aws_region).toBe('eu-west-1');
  await gateway.stop();
});
