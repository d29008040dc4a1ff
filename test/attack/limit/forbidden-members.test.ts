import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { FORBIDDABLE } from '../../../src/core/forbidden.ts';
import { configSchema } from '../../../src/routing/config.ts';
import { conversation, weather } from '../../assistants/client.ts';
import { beginBatch, chatLine, ended, linesIn } from '../../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';
import { TOLD_MS } from '../../nodes.ts';
import { givenBrowser } from '../../people.ts';
import { eventually } from '../../process.ts';
import { openaiClient } from '../../sdk-clients.ts';

/** A platform team forbids what calls may bring along; callers try every other way to bring it. */

const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] };

/** Where a config may hide a member. */
const nested = (member: object) => ({
  strategy: { mode: 'fallback' },
  targets: [{ virtual_key: 'up' }, { strategy: { mode: 'single' }, targets: [{ virtual_key: 'up', ...member }] }],
});

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`forbidden members on ${engine}`, () => {
    let gateway: TestGateway;
    let provider: ReturnType<typeof serve>;
    let asked = 0;

    beforeAll(async () => {
      gateway = await startGateway({ engine });
      provider = serve(async (request) => {
        await request.arrayBuffer();
        asked++;
        return Response.json({ choices: [{ message: { role: 'assistant', content: 'ok' } }], usage: {} });
      });
      await gateway.given.virtualKey({ slug: 'up', custom_host: `${provider.origin}/v1` });
      const config = { virtual_key: 'up', retry: { attempts: 1 } };
      await gateway.api.post('/v1/configs', { name: 'stored', slug: 'stored', config });
    });
    afterAll(async () => {
      provider.stop();
      await gateway.stop();
    });

    const keyWith = async (forbidden: readonly string[], more: object = {}) =>
      gateway.given.apiKey({ name: 'app', forbidden, defaults: { virtual_key: 'up' }, ...more });

    /** What came of a call that brings this along, and how often the provider was asked. */
    const bring = async (
      key: string,
      headers: Record<string, string>,
      body: object = chat,
      path = '/chat/completions',
    ) => {
      asked = 0;
      const reply = await gateway.api.post(`/v1${path}`, body, { key, headers });
      return { status: reply.status, asked, code: reply.json?.error?.code, where: reply.json?.error?.param, reply };
    };
    const inline = (config: object) => ({ 'x-gateway-config': JSON.stringify(config) });
    const refused = (where: string) => ({ status: 403, asked: 0, code: 'forbidden_by_rule', where });

    test('an inline config is refused on every road, a stored one is not', async () => {
      const { key } = await keyWith(['inline_config']);
      const roads: [string, object][] = [
        ['/chat/completions', chat],
        ['/responses', { model: 'gpt-4o', input: 'hello' }],
        ['/some/other/path', {}],
        ['/proxy/chat/completions', chat],
        ['/batches', { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' }],
        ['/threads/runs', { assistant_id: 'asst_1' }],
        ['/fine_tuning/jobs', { model: 'gpt-4o', training_file: 'file-1' }],
      ];
      for (const [path, body] of roads)
        expect(await bring(key, inline({ virtual_key: 'up' }), body, path)).toMatchObject(refused('x-gateway-config'));
      expect(await bring(key, { 'x-gateway-config': ' \t{"virtual_key": "up"}' })).toMatchObject(
        refused('x-gateway-config'),
      );
      expect(await bring(key, inline({ nonsense: true }))).toMatchObject(refused('x-gateway-config'));
      expect(await bring(key, { 'x-gateway-config': 'stored' })).toMatchObject({ status: 200, asked: 1 });
    });

    test('a member is refused wherever it stands, in a header, too, and under its other names', async () => {
      const cases: [rule: string, where: string, headers: Record<string, string>, body?: object][] = [
        ['retry', 'config.retry', inline({ virtual_key: 'up', retry: { attempts: 0 } })],
        ['retry', 'config.targets[1].targets[0].retry', inline(nested({ retry: { attempts: 1 } }))],
        ['cache', 'config.targets[1].targets[0].cache', inline(nested({ cache: { mode: 'simple' } }))],
        ['cache', 'x-gateway-cache-force-refresh', { 'x-gateway-cache-force-refresh': 'true' }],
        ['cache', 'x-gateway-cache-namespace', { 'x-gateway-cache-namespace': 'mine' }],
        ['request_timeout', 'x-gateway-request-timeout', { 'x-gateway-request-timeout': '5000' }],
        ['request_timeout', 'config.request_timeout', inline({ virtual_key: 'up', request_timeout: 5_000 })],
        ['targets', 'config.targets', inline(nested({}))],
        [
          'override_params',
          'config.targets[1].targets[0].override_params',
          inline(nested({ override_params: { n: 1 } })),
        ],
        ['forward_headers', 'config.forward_headers', inline({ virtual_key: 'up', forward_headers: ['x-team'] })],
        [
          'input_guardrails',
          'config.before_request_hooks',
          inline({ virtual_key: 'up', before_request_hooks: [{ 'default.regexMatch': { rule: 'x', not: true } }] }),
        ],
        [
          'strict_open_ai_compliance',
          'x-gateway-strict-open-ai-compliance',
          { 'x-gateway-strict-open-ai-compliance': 'false' },
        ],
        ['debug', 'x-gateway-debug', { 'x-gateway-debug': 'false' }],
        ['config', 'x-gateway-config', { 'x-gateway-config': 'stored' }],
        ['config', 'x-gateway-config', inline({ virtual_key: 'up' })],
        // Whose credential pays.
        ['virtual_key', 'x-gateway-virtual-key', { 'x-gateway-virtual-key': 'sim' }],
        ['virtual_key', 'x-gateway-provider', { 'x-gateway-provider': '@sim' }],
        ['virtual_key', 'model', {}, { ...chat, model: '@sim/gpt-4o' }],
        ['virtual_key', 'config.provider', inline({ provider: '@sim' })],
        ['virtual_key', 'config.override_params.model', inline({ override_params: { model: '@sim/gpt-4o' } })],
        ['provider', 'x-gateway-provider', { 'x-gateway-provider': 'openai', authorization: 'Bearer sk-own' }],
        ['provider', 'config.provider', inline({ provider: 'openai', api_key: 'sk-own' })],
        ['api_key', 'authorization', { 'x-gateway-provider': 'openai', authorization: 'Bearer sk-own' }],
        ['api_key', 'authorization', { ...inline({ provider: 'openai' }), 'x-api-key': 'sk-own' }],
        [
          'api_key',
          'config.targets[1].targets[0].api_key',
          inline({
            strategy: { mode: 'fallback' },
            targets: [
              { virtual_key: 'up' },
              { strategy: { mode: 'single' }, targets: [{ provider: 'openai', api_key: 'sk-own' }] },
            ],
          }),
        ],
        [
          'api_key',
          'x-gateway-aws-secret-access-key',
          { 'x-gateway-provider': 'bedrock', 'x-gateway-aws-secret-access-key': 's' },
        ],
        [
          'aws_region',
          'x-gateway-aws-region',
          { 'x-gateway-provider': 'bedrock', 'x-gateway-aws-region': 'eu-central-1' },
        ],
        ['azure_resource_name', 'config.resource_name', inline({ provider: 'azure-openai', resource_name: 'mine' })],
        // To whose host.
        [
          'custom_host',
          'x-gateway-custom-host',
          { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': provider.origin },
        ],
        ['custom_host', 'config.custom_host', inline({ provider: 'openai', custom_host: provider.origin })],
        [
          'custom_host',
          'config.azure_foundry_url',
          inline({ provider: 'azure-ai', azure_foundry_url: provider.origin }),
        ],
        [
          'custom_host',
          'x-gateway-azure-foundry-url',
          { 'x-gateway-provider': 'azure-ai', 'x-gateway-azure-foundry-url': provider.origin },
        ],
        [
          'custom_host',
          'config.input_guardrails[0].default.webhook.webhookURL',
          inline({ virtual_key: 'up', input_guardrails: [{ 'default.webhook': { webhookURL: provider.origin } }] }),
        ],
      ];
      for (const [rule, where, headers, body] of cases) {
        const { key, id } = await keyWith([rule]);
        expect({ rule, ...(await bring(key, headers, body)) }).toMatchObject({ rule, ...refused(where) });
        await gateway.api.delete(`/v1/api-keys/${id}`);
      }
    });

    test('what the gateway or an operator chose is not the caller’s to be forbidden', async () => {
      const everything = [...FORBIDDABLE];
      const { key } = await keyWith(everything, { defaults: { config: 'stored', metadata: { team: 'search' } } });
      // An SDK sends the key it was given wherever it can, and a placeholder where it must.
      expect(await bring(key, { authorization: 'Bearer placeholder' })).toMatchObject({ status: 200, asked: 1 });
      expect(await bring(key, { 'x-gateway-trace-id': 'mine', 'x-gateway-config': '' })).toMatchObject({ status: 200 });
    });

    test('the strictest of organisation, workspace and key holds, and the refusal names who forbade it', async () => {
      const { id, slug } = await gateway.given.workspace({ name: 'Strict', forbidden: ['retry'] });
      await gateway.given.virtualKey({ slug: 'up', custom_host: `${provider.origin}/v1`, workspace_id: id });
      const { key } = await keyWith(['cache', 'custom_host'], { workspace_id: id });
      const said = async (headers: Record<string, string>) => (await bring(key, headers)).reply.json?.error?.message;

      expect(await said(inline({ retry: { attempts: 1 } }))).toStartWith(
        `config.retry: workspace ${slug} forbids retry. Leave it out`,
      );
      expect(await said(inline({ cache: { mode: 'simple' } }))).toContain('API key app forbids cache.');

      expect((await gateway.api.put('/v1/admin/organisation', { forbidden: ['custom_host'] })).json.forbidden).toEqual([
        'custom_host',
      ]);
      expect(await said({ 'x-gateway-custom-host': 'https://x.example' })).toContain(
        'the organisation forbids custom_host.',
      );
      // The admin key and signed-in users are callers like others.
      expect(await said({})).toBeUndefined();
      const { browser } = await givenBrowser(gateway, { role: 'admin' });
      const byBrowser = await browser.call('POST', '/v1/chat/completions', chat, {
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': provider.origin,
      });
      expect(byBrowser.json.error).toMatchObject({ code: 'forbidden_by_rule', param: 'x-gateway-custom-host' });

      expect((await gateway.api.put('/v1/admin/organisation', { forbidden: [] })).json.forbidden).toBeNull();
      expect(await said({ 'x-gateway-custom-host': 'https://x.example' })).toContain(
        'API key app forbids custom_host.',
      );
      expect((await gateway.api.put(`/v1/admin/workspaces/${slug}`, { forbidden: null })).json.forbidden).toBeNull();
      expect(await said(inline({ retry: { attempts: 1 } }))).toBeUndefined();
      const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
      const [from, to] = [-60_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString());
      const audit = await gateway.api.get(
        `/v1/audit-logs?start_time=${from}&end_time=${to}&organisation_id=${organisation}&resource_type=organisation`,
      );
      const bodies = audit.json.records.map(({ request_body }: { request_body: string }) => JSON.parse(request_body));
      expect(bodies).toContainEqual({ forbidden: ['custom_host'] });
    });

    test('a rule holds for the lines of a batch, and for what is left of a run that began before it', async () => {
      const { key } = await keyWith(['virtual_key']);
      const batching = openaiClient(gateway.url, key);
      const lines = [chatLine('default'), chatLine('another', 'hello', { model: '@sim/gpt-4o' })];
      const batch = await beginBatch(batching, lines);
      const running = await keyWith([], { defaults: { virtual_key: 'sim' } });
      const openai = openaiClient(gateway.url, running.key);
      const said = 'call get_weather {"city":"Oslo"}';
      const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools: [weather] }, said });
      const { runs } = openai.beta.threads;
      const headers = { 'x-gateway-request-timeout': '5000' };
      const waiting = await runs.createAndPoll(thread_id, { assistant_id }, { headers });
      const [call] = waiting.required_action!.submit_tool_outputs.tool_calls;
      await gateway.api.put(`/v1/api-keys/${running.id}`, { forbidden: ['request_timeout'] });

      const tool_outputs = [{ tool_call_id: call!.id, output: 'sunny' }];
      const run = await runs.submitToolOutputsAndPoll(waiting.id, { thread_id, tool_outputs });
      const { output_file_id, error_file_id } = await ended(batching, batch.id);

      expect(run.last_error?.message).toContain('API key app forbids request_timeout.');
      const all = [...(await linesIn(batching, output_file_id)), ...(await linesIn(batching, error_file_id))];
      const statuses = Object.fromEntries(all.map(({ custom_id, response }) => [custom_id, response?.status_code]));
      expect(statuses).toEqual({ default: 200, another: 403 });
    });

    test('where hosts are forbidden, who manages a workspace stores none; who manages the organisation does', async () => {
      const { id } = await gateway.given.workspace({ name: 'No hosts', forbidden: ['custom_host'] });
      const scopes = [
        'virtual_keys.create',
        'virtual_keys.update',
        'configs.create',
        'configs.update',
        'workspaces.update',
      ];
      const { key } = await gateway.given.apiKey({ workspace_id: id, scopes });
      const named = { name: 'own', provider: 'openai', key: 'sk-own' };
      const host = { ...named, custom_host: provider.origin };

      const attempts = [
        gateway.api.post('/v1/virtual-keys', host, { key }),
        gateway.api.post(
          '/v1/virtual-keys',
          { name: 'ai', provider: 'azure-ai', key: 'k', configurations: { azure_foundry_url: provider.origin } },
          { key },
        ),
        gateway.api.post(
          '/v1/virtual-keys',
          { ...named, configurations: { batch_storage: { uri: 's3://bucket', endpoint: provider.origin } } },
          { key },
        ),
        gateway.api.post(
          '/v1/configs',
          { name: 'own', config: nested({ virtual_key: undefined, provider: 'openai', custom_host: provider.origin }) },
          { key },
        ),
      ];
      for (const reply of await Promise.all(attempts))
        expect(reply.json.error).toMatchObject({ code: 'forbidden_by_rule' });
      const stored = await gateway.api.post('/v1/virtual-keys', { ...named, slug: 'own' }, { key });
      expect(stored.status).toBe(200);
      const moved = await gateway.api.put('/v1/virtual-keys/own', { ...named, custom_host: provider.origin }, { key });
      expect(moved.json.error).toMatchObject({ code: 'forbidden_by_rule', param: 'custom_host' });
      expect((await gateway.api.post('/v1/virtual-keys', { ...host, workspace_id: id, slug: 'theirs' })).status).toBe(
        200,
      );
      // A key that may manage what is there already can rename it.
      expect((await gateway.api.put('/v1/virtual-keys/theirs', { name: 'renamed' }, { key })).status).toBe(200);
      const lifted = await gateway.api.put(`/v1/admin/workspaces/${id}`, { forbidden: [] }, { key });
      expect(lifted.json.error).toMatchObject({ code: 'insufficient_scope' });
    });

    test('a key does not get rid of its rules through another key', async () => {
      const scopes = ['api_keys.create', 'api_keys.update', 'api_keys.rotate', 'completions.write'];
      const strict = await keyWith(['inline_config', 'retry'], { scopes });
      const free = await keyWith([], { scopes: ['completions.write'] });
      const as = { key: strict.key };
      const attempts = [
        gateway.api.post('/v1/api-keys', { name: 'new' }, as),
        gateway.api.post('/v1/api-keys', { name: 'new', scopes: ['completions.write'], forbidden: ['retry'] }, as),
        gateway.api.put(`/v1/api-keys/${strict.id}`, { forbidden: [] }, as),
        gateway.api.post(`/v1/api-keys/${free.id}/rotate`, {}, as),
        gateway.api.put(`/v1/api-keys/${free.id}`, { name: 'mine' }, as),
      ];
      for (const reply of await Promise.all(attempts.slice(1)))
        expect(reply.json.error).toMatchObject({ code: 'rule_not_liftable', param: 'forbidden' });
      expect((await attempts[0]!).status).toBe(403);
      const forbidden = ['inline_config', 'retry', 'cache'];
      const made = await gateway.api.post(
        '/v1/api-keys',
        { name: 'new', scopes: ['completions.write'], forbidden },
        as,
      );
      expect(made.json.forbidden).toEqual(forbidden);
    });

    test('a rule that names nothing is refused with the names there are', async () => {
      for (const forbidden of [['retries'], ['retry', 'retry'], 'retry', [null]]) {
        const reply = await gateway.api.put('/v1/admin/organisation', { forbidden });
        expect(reply.json.error).toMatchObject({ code: 'invalid_request' });
        expect(reply.json.error.param).toStartWith('forbidden');
      }
    });

    if (engine === 'postgres')
      test('a rule that one node was told holds on the others before they would look by themselves', async () => {
        const other = await startGateway({ engine, databaseUrl: gateway.databaseUrl! });
        const { key } = await keyWith([]);
        const call = () =>
          other.api.post('/v1/chat/completions', chat, { key, headers: { 'x-gateway-debug': 'true' } });
        expect((await call()).status).toBe(200);

        await gateway.api.put('/v1/admin/organisation', { forbidden: ['debug'] });
        await eventually('the other node refuses it', async () => (await call()).status === 403, TOLD_MS);
        await gateway.api.put('/v1/admin/organisation', { forbidden: null });
        await eventually('the other node allows it', async () => (await call()).status === 200, TOLD_MS);
        await other.stop();
      });
  });

test('every member of a config can be forbidden', () => {
  const schema = configSchema([]) as unknown as { shape: Record<string, unknown> };
  const others = [
    'before_request_hooks',
    'after_request_hooks',
    'resource_name',
    'deployment_id',
    'api_version',
    'prompt_id',
    'fetch_integrated_models',
  ];
  const missing = Object.keys(schema.shape).filter(
    (name) => !others.includes(name) && !FORBIDDABLE.includes(name as never),
  );
  expect(missing).toEqual([]);
});
