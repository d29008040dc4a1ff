import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let key: string;
    let reference: ReferenceServer;
    let recorder: Recorder;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      ({ key } = await gateway.given.apiKey());
      reference = startReferenceServer();
      recorder = startRecorder(({ body }) => Response.json(answerTo(JSON.parse(body || '{}'))));
    });
    afterAll(async () => {
      await gateway.stop();
      reference.stop();
      recorder.stop();
    });

    const TOOLS = ['echo', 'delete_all', 'read'].map((name) => ({ name, inputSchema: { type: 'object' } }));

    // biome-ignore lint/suspicious/noExplicitAny: whatever the gateway sent on
    function answerTo(asked: any): unknown {
      if (Array.isArray(asked)) return asked.map(answerTo);
      const { id, method, params } = asked;
      const result =
        method === 'tools/list'
          ? params?.cursor === 'second'
            ? { tools: TOOLS.slice(2) }
            : { tools: TOOLS.slice(0, 2), nextCursor: 'second', ttlMs: 1, cacheScope: 'public' }
          : {};
      return { jsonrpc: '2.0', id, result };
    }

    const register = async (slug: string, url: string, configurations: Record<string, unknown> = {}) => {
      const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
      if (reply.status !== 200) throw new Error(reply.text);
      return reply.json;
    };
    const switchOff = async (slug: string, ...capabilities: [type: string, name: string][]) => {
      const reply = await gateway.api.put(`/v1/mcp-servers/${slug}/capabilities`, {
        capabilities: capabilities.map(([type, name]) => ({ type, name, enabled: false })),
      });
      if (reply.status !== 200) throw new Error(reply.text);
      return reply.json;
    };
    const send = (slug: string, body: unknown, headers: Record<string, string> = {}, given: string = key) =>
      gateway.api.post(`/${slug}/mcp`, body, {
        key: given,
        headers: { 'content-type': 'application/json', ...headers },
      });

    const UNAVAILABLE = { error: { code: -32_602, data: { code: 'mcp_capability_unavailable' } } };

    describe('what is switched off', () => {
      for (const mode of ['legacy', 'modern'] as const) {
        test(`is neither listed nor called by the official client (${mode})`, async () => {
          const slug = `switched-${mode}`;
          await register(slug, reference.url);
          await switchOff(
            slug,
            ['tool', 'test_simple_text'],
            ['prompt', 'test_simple_prompt'],
            ['resource', 'test://static-text'],
          );
          const client = new Client(
            { name: 'test', version: '1.0.0' },
            { versionNegotiation: mode === 'modern' ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' } },
          );
          await client.connect(
            new StreamableHTTPClientTransport(new URL(`${gateway.url}/${slug}/mcp`), {
              requestInit: { headers: { 'x-gateway-api-key': key } },
            }),
          );
          const tools = (await client.listTools()).tools.map(({ name }) => name);
          expect(tools).not.toContain('test_simple_text');
          expect(tools.length).toBeGreaterThan(3);
          expect((await client.listPrompts()).prompts.map(({ name }) => name)).not.toContain('test_simple_prompt');
          expect((await client.listResources()).resources.map(({ uri }) => uri)).not.toContain('test://static-text');

          const runs = reference.runs.get('test_simple_text') ?? 0;
          for (const refused of [
            () => client.callTool({ name: 'test_simple_text', arguments: {} }),
            () => client.getPrompt({ name: 'test_simple_prompt' }),
            () => client.readResource({ uri: 'test://static-text' }),
          ])
            await expect(refused()).rejects.toMatchObject({ code: -32_602 });
          expect(reference.runs.get('test_simple_text') ?? 0).toBe(runs);
          const { content } = await client.callTool({ name: 'test_image_content', arguments: {} });
          expect(content).toHaveLength(1);
          await client.close();
        });
      }

      test('does not reach the server, and the log says what was tried', async () => {
        await register('off', recorder.url);
        await switchOff('off', ['tool', 'delete_all']);
        const before = recorder.requests.length;
        const reply = await send('off', toolCall('delete_all'));
        expect(reply.status).toBe(200);
        expect(reply.json).toMatchObject({ jsonrpc: '2.0', id: 1, ...UNAVAILABLE });
        expect(recorder.requests).toHaveLength(before);
        expect(await gateway.logOf(reply)).toMatchObject({
          status: 200,
          failed_by: 'gateway',
          error_code: 'mcp_capability_unavailable',
          virtual_key: 'off',
          model: 'delete_all',
        });
        expect((await send('off', toolCall('echo'))).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
      });

      test('is gone from each page, the pages stay, and no cache may share them', async () => {
        await register('paged', recorder.url);
        await switchOff('paged', ['tool', 'delete_all'], ['tool', 'read']);
        const first = await send('paged', message('tools/list'));
        expect(first.json.result).toEqual({ tools: [TOOLS[0]], nextCursor: 'second', ttlMs: 1, cacheScope: 'private' });
        const second = await send('paged', message('tools/list', { cursor: 'second' }));
        expect(second.json.result).toEqual({ tools: [] });
      });

      test('is back when it is switched on', async () => {
        await register('again', recorder.url);
        await switchOff('again', ['tool', 'echo']);
        expect((await send('again', toolCall('echo'))).json).toMatchObject(UNAVAILABLE);
        await gateway.api.put('/v1/mcp-servers/again/capabilities', {
          capabilities: [{ type: 'tool', name: 'echo', enabled: true }],
        });
        expect((await send('again', toolCall('echo'))).json.result).toEqual({});
      });

      test('cannot be reached by a message that says two things', async () => {
        await register('hostile', recorder.url);
        await switchOff('hostile', ['tool', 'delete_all']);
        const before = recorder.requests.length;
        const call = (params: string, more = '') =>
          `{"jsonrpc":"2.0","id":1,"method":"tools/call"${more},"params":${params}}`;
        const refused: readonly [string, Record<string, string>][] = [
          [call('{"name":"echo","name":"delete_all"}'), {}],
          [call('{"name":"echo","n\\u0061me":"delete_all"}'), {}],
          [call('{"name":"echo","NAME":"delete_all"}'), {}],
          [call('{"name":"echo"},"Params":{"name":"delete_all"}'), {}],
          [call('{"name":"echo"}', ',"method":"tools/list"'), {}],
          [call('{"name":["delete_all"]}'), {}],
          [`[${call('{"name":"delete_all"}')}]`, { 'mcp-protocol-version': '2025-11-25' }],
          [call('{"name":"echo"}'), { 'mcp-name': 'delete_all' }],
          [call('{"name":"delete_all"}'), { 'mcp-name': 'echo', 'mcp-protocol-version': '2026-07-28' }],
          [call('{"name":"echo"}'), { 'mcp-method': 'tools/list' }],
        ];
        for (const [body, headers] of refused) {
          const reply = await send('hostile', body, headers);
          expect([body, reply.status]).toEqual([body, 400]);
          expect(reply.json).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
        }
        for (const body of [
          call('{"name":"delete_all"}'),
          call('{"name":"delete\\u005fall"}'),
          call('{"name":"DELETE_ALL"}'),
          call('{"name":" delete_all"}'),
          call('{"name":"delete_\\u200ball"}'),
          `[${call('{"name":"echo"}')},${call('{"name":"delete_all"}')}]`,
        ])
          expect((await send('hostile', body)).json).toMatchObject(UNAVAILABLE);
        expect(recorder.requests).toHaveLength(before);
      });

      test('leaves all other messages as they were sent', async () => {
        await register('bytes', recorder.url);
        await switchOff('bytes', ['tool', 'delete_all']);
        const body =
          '{ "id" :12345678901234567890, "method":"tools/call","jsonrpc":"2.0",\t"params":{"arguments":{"n":1.10},"name":"echo"}}\n';
        await send('bytes', body);
        expect(recorder.last.body).toBe(body);
      });

      test('cannot be hidden in a message that is too large to be read', async () => {
        await register('large', recorder.url);
        await switchOff('large', ['tool', 'delete_all']);
        const before = recorder.requests.length;
        const large = message('tools/call', { name: 'delete_all', arguments: { text: 'x'.repeat(5 << 20) } });
        const reply = await send('large', large);
        expect(reply.status).toBe(413);
        const small = message('tools/call', { name: 'delete_all', arguments: { text: 'x'.repeat(1 << 20) } });
        expect((await send('large', small)).json).toMatchObject(UNAVAILABLE);
        expect(recorder.requests).toHaveLength(before);
      });

      test('is filtered in streams, too, and in those that replay an answer', async () => {
        const listed = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: TOOLS } });
        const server = startRecorder(
          () => new Response(`id: 3\ndata: ${listed}\n\n`, { headers: { 'content-type': 'text/event-stream' } }),
        );
        await register('streams', server.url);
        await switchOff('streams', ['tool', 'delete_all']);
        const posted = await send('streams', message('tools/list'));
        const replayed = await gateway.api.get('/streams/mcp', { key, headers: { 'last-event-id': '2' } });
        for (const { text } of [posted, replayed]) {
          expect(text).toStartWith('id: 3\ndata: {');
          expect(text).not.toContain('delete_all');
          expect(text).toContain('echo');
        }
        server.stop();
      });

      test('belongs to its server: another workspace can neither see nor switch it', async () => {
        await register('mine', recorder.url);
        const workspace = await gateway.given.workspace();
        const foreign = await gateway.given.apiKey({
          workspace_id: workspace.id,
          scopes: ['mcp_servers.read', 'mcp_servers.update'],
        });
        const options = { key: foreign.key };
        expect((await gateway.api.get('/v1/mcp-servers/mine/capabilities', options)).status).toBe(404);
        const body = { capabilities: [{ type: 'tool', name: 'echo', enabled: false }] };
        expect((await gateway.api.put('/v1/mcp-servers/mine/capabilities', body, options)).status).toBe(404);
        expect((await send('mine', toolCall('echo'))).json.result).toEqual({});
      });

      test('is neither seen nor reached through the common address, and a closed server not at all', async () => {
        const workspace = await gateway.given.workspace({ name: 'Common' });
        const theirs = await gateway.given.apiKey({ workspace_id: workspace.id });
        for (const slug of ['common-open', 'common-closed']) {
          const body = { name: slug, slug, url: reference.url, workspace_id: workspace.id };
          expect((await gateway.api.post('/v1/mcp-servers', body)).status).toBe(200);
        }
        await switchOff('common-open', ['tool', 'test_simple_text']);
        await gateway.api.put('/v1/mcp-servers/common-closed/user-access', { default_user_access: 'deny' });
        const options = { key: theirs.key, headers: { 'mcp-protocol-version': '2025-11-25' } };
        const { json } = await gateway.api.post('/mcp', message('tools/list'), options);
        const names: string[] = json.result.tools.map(({ name }: { name: string }) => name);
        expect(names.some((name) => name.includes('test_image_content'))).toBe(true);
        expect(names.filter((name) => name.includes('test_simple_text') || name.includes('closed'))).toEqual([]);
        expect(JSON.stringify(json.result._meta)).not.toContain('common-closed');
        const runs = reference.runs.get('test_simple_text') ?? 0;
        const image = names.find((each) => each.includes('test_image_content'))!;
        const name = image.replace('test_image_content', 'test_simple_text');
        const called = await gateway.api.post('/mcp', toolCall(name), options);
        expect(called.text).toContain('-32602');
        expect(reference.runs.get('test_simple_text') ?? 0).toBe(runs);
      });

      test('is named in full, or refused', async () => {
        await register('forms', recorder.url);
        const one = { type: 'tool', name: 'a', enabled: false };
        for (const [body, param] of [
          [{}, 'capabilities'],
          [{ capabilities: [] }, 'capabilities'],
          [{ capabilities: [{ ...one, type: 'gadget' }] }, 'capabilities[0].type'],
          [{ capabilities: [{ ...one, enabled: 'no' }] }, 'capabilities[0].enabled'],
          [{ capabilities: [{ ...one, name: '' }] }, 'capabilities[0].name'],
          [{ capabilities: [{ ...one, more: 1 }] }, 'capabilities[0].more'],
        ] as const) {
          const reply = await gateway.api.put('/v1/mcp-servers/forms/capabilities', body);
          expect([reply.status, reply.json.error.param]).toEqual([400, param]);
        }
      });
    });

    describe('claims', () => {
      test('decide who sees and uses a tool', async () => {
        const user = (await gateway.api.post('/v1/admin/users', { email: 'ada@example.com', role: 'member' })).json;
        const hers = await gateway.given.apiKey({ user_id: user.id });
        await register('claims', recorder.url, {
          tool_authorization: { 'delete_*': { claim_values: { email: { values: ['ada@example.com'] } } } },
          resource_authorization: { 'secret://*': { required_claims: ['email'] } },
        });
        const names = async (given: string) =>
          (await send('claims', message('tools/list'), {}, given)).json.result.tools.map(
            ({ name }: { name: string }) => name,
          );
        expect(await names(key)).toEqual(['echo']);
        expect(await names(hers.key)).toEqual(['echo', 'delete_all']);
        expect((await send('claims', toolCall('delete_all'))).json).toMatchObject(UNAVAILABLE);
        expect((await send('claims', toolCall('delete_all'), {}, hers.key)).json.result).toEqual({});
        const read = message('resources/read', { uri: 'secret://x' });
        expect((await send('claims', read)).json.error).toMatchObject({ code: -32_602, data: { uri: 'secret://x' } });
        expect((await send('claims', read, {}, hers.key)).json.result).toEqual({});
      });

      test('are written in one form', async () => {
        for (const [configurations, param] of [
          [{ tool_authorization: { a: {} } }, 'configurations.tool_authorization.a'],
          [
            { tool_authorization: { a: { required_claims: [] } } },
            'configurations.tool_authorization.a.required_claims',
          ],
          [
            { tool_authorization: { a: { claim_values: { b: { values: '(', matchType: 'regex' } } } } },
            'configurations.tool_authorization.a.claim_values.b.values',
          ],
          [{ tool_pinning: { mode: 'ask' } }, 'configurations.tool_pinning.mode'],
          [{ rate_limits: [{ type: 'tokens', unit: 'rpm', value: 1 }] }, 'configurations.rate_limits[0].type'],
          [{ log_bodies: 'yes' }, 'configurations.log_bodies'],
        ] as const) {
          const body = { name: 'x', url: recorder.url, configurations };
          const reply = await gateway.api.post('/v1/mcp-servers', body);
          expect([reply.status, reply.json.error.param]).toEqual([400, param]);
        }
      });
    });

    describe('access by user', () => {
      test('is for everybody, for everybody but some, or for some', async () => {
        const make = async (email: string) => {
          const user = (await gateway.api.post('/v1/admin/users', { email, role: 'member' })).json;
          return {
            id: user.id as string,
            key: (await gateway.given.apiKey({ user_id: user.id, scopes: ['mcp.invoke', 'mcp_servers.list'] }))
              .key as string,
          };
        };
        const [one, two] = [await make('one@example.com'), await make('two@example.com')];
        await register('access', recorder.url);
        const path = '/v1/mcp-servers/access/user-access';
        const statuses = async () =>
          Promise.all([one.key, two.key, key].map(async (each) => (await send('access', toolCall(), {}, each)).status));
        expect(await statuses()).toEqual([200, 200, 200]);

        await gateway.api.put(path, { users: [{ user_id: one.id, enabled: false }] });
        expect(await statuses()).toEqual([403, 200, 200]);
        const refused = await send('access', toolCall(), {}, one.key);
        expect(refused.json.error).toMatchObject({ code: 403, data: { code: 'mcp_access_denied' } });

        const changed = await gateway.api.put(path, {
          default_user_access: 'deny',
          users: [
            { user_id: one.id, enabled: null },
            { user_id: two.id, enabled: true },
          ],
        });
        expect(changed.json).toMatchObject({ object: 'list', default_user_access: 'deny' });
        expect(await statuses()).toEqual([403, 200, 403]);
        const shown = (await gateway.api.get(path)).json.data as { user_id: string }[];
        expect(shown.find(({ user_id }) => user_id === one.id)).toEqual({
          user_id: one.id,
          enabled: false,
          has_override: false,
        } as never);
        expect(shown.find(({ user_id }) => user_id === two.id)).toEqual({
          user_id: two.id,
          enabled: true,
          has_override: true,
        } as never);

        const catalogue = async (given: string) => {
          const { json } = await gateway.api.get('/v0.1/servers?search=access', { key: given });
          return json.servers
            .map(({ server }: { server: { title: string } }) => server.title)
            .filter((title: string) => title === 'access');
        };
        expect([await catalogue(one.key), await catalogue(two.key)]).toEqual([[], ['access']]);

        await gateway.api.delete(`/v1/admin/users/${two.id}`);
        expect((await send('access', toolCall(), {}, key)).status).toBe(403);
      });

      test('is said in one form', async () => {
        await register('access-forms', recorder.url);
        const path = '/v1/mcp-servers/access-forms/user-access';
        for (const body of [
          {},
          { default_user_access: 'maybe' },
          { users: [{ user_id: 'x', enabled: true }] },
          { users: [{ user_id: crypto.randomUUID(), enabled: true }] },
        ])
          expect((await gateway.api.put(path, body)).status).toBe(400);
      });
    });
  });
}
