import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';

let gateway: TestGateway;
let key: string;
let keyId: string;
let recorder: Recorder;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key, id: keyId } = await gateway.given.apiKey());
  recorder = startRecorder();
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const register = async (slug: string, configurations: Record<string, unknown> = {}, url = recorder.url) => {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
};
const send = (slug: string, body: unknown, headers: Record<string, string> = {}, given = key) =>
  gateway.api.post(`/${slug}/mcp`, body, { key: given, headers });
const statuses = async (slug: string, bodies: readonly unknown[], given = key) => {
  const found: number[] = [];
  for (const body of bodies) found.push((await send(slug, body, {}, given)).status);
  return found;
};

describe('rate limits', () => {
  test('of a server hold for all its calls and callers', async () => {
    await register('limited', { rate_limits: [{ type: 'requests', unit: 'rpd', value: 3 }] });
    const other = await gateway.given.apiKey();
    expect(await statuses('limited', [toolCall('a'), message('tools/list')])).toEqual([200, 200]);
    expect(await statuses('limited', [toolCall('b'), toolCall('b')], other.key)).toEqual([200, 429]);
    const refused = await send('limited', toolCall('a'));
    expect(refused.json.error).toMatchObject({ code: 429, data: { code: 'rate_limited' } });
    expect(refused.json.error.message).toContain('MCP server "limited"');
    expect(refused.headers.get('retry-after')).not.toBeNull();
  });

  test('of a tool hold for that tool, and no batch goes around them', async () => {
    await register('limited-tool', { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1, tool: 'slow' }] });
    expect(await statuses('limited-tool', [toolCall('slow'), toolCall('slow'), toolCall('fast')])).toEqual([
      200, 429, 200,
    ]);
    expect((await send('limited-tool', [toolCall('slow'), toolCall('slow')])).status).toBe(400);
    const twice = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fast","name":"slow"}}';
    expect((await send('limited-tool', twice, { 'content-type': 'application/json' })).status).toBe(400);
  });

  test('of policies count tools by key, server and tool', async () => {
    await register('policed-one');
    await register('policed-two');
    const made = await gateway.api.post('/v1/policies/rate-limits', {
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_server', value: ['policed-one', 'policed-two'] }],
      group_by: [{ key: 'mcp_server' }, { key: 'mcp_tool' }],
      type: 'requests',
      unit: 'rpd',
      value: 1,
    });
    expect(made.json).toMatchObject({ target: 'mcp_tools', object: 'policy_rate_limits' });
    expect(await statuses('policed-one', [toolCall('a'), toolCall('a'), toolCall('b')])).toEqual([200, 429, 200]);
    expect(await statuses('policed-two', [toolCall('a'), toolCall('a')])).toEqual([200, 429]);
    // Lists are no calls of tools.
    expect(await statuses('policed-one', [message('tools/list'), message('tools/list')])).toEqual([200, 200]);
    // What cannot be read in time may be one.
    const large = message('tools/call', { name: 'c', arguments: { text: 'x'.repeat(300_000) } });
    expect(await statuses('policed-one', [large, large])).toEqual([200, 429]);
    const { status } = await gateway.api.post(
      '/v1/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: 'x' }] },
      { key, headers: { 'x-gateway-virtual-key': 'sim' } },
    );
    expect(status).toBe(200);
    const path = `/v1/policies/rate-limits/${made.json.id}`;
    expect((await gateway.api.put(path, { target: 'llm' })).json.error.param).toBe('target');
    expect((await gateway.api.put(path, { conditions: [{ key: 'model', value: 'x' }] })).json.error.param).toBe(
      'conditions[0].key',
    );
    expect((await gateway.api.delete(path)).status).toBe(200);
  });

  test('of policies ask only what calls of their target have', async () => {
    const policy = (more: Record<string, unknown>) =>
      gateway.api.post('/v1/policies/rate-limits', {
        conditions: [{ key: 'api_key', value: '*' }],
        group_by: [{ key: 'api_key' }],
        type: 'requests',
        unit: 'rpm',
        value: 1,
        ...more,
      });
    const mcp = { target: 'mcp_tools' };
    for (const [more, param] of [
      [{ target: 'tools' }, 'target'],
      [{ ...mcp, conditions: [{ key: 'model', value: 'x' }] }, 'conditions[0].key'],
      [{ ...mcp, group_by: [{ key: 'mcp_tool' }, { key: 'virtual_key' }] }, 'group_by[1].key'],
      [{ ...mcp, type: 'tokens' }, 'type'],
      [{ group_by: [{ key: 'mcp_tool' }] }, 'group_by[0].key'],
    ] as const) {
      const reply = await policy(more);
      expect([reply.status, reply.json.error.param]).toEqual([400, param]);
    }
  });
});

describe('the log', () => {
  test('tells the shapes of arguments and the names of claims, and no value of either', async () => {
    await register('shapes', {
      user_identity_forwarding: { method: 'claims_header', include_claims: ['sub', 'scope'] },
    });
    const body = message('tools/call', {
      name: 'mail',
      arguments: { to: 'ada@example.com', copies: ['x', 'y'], n: 7 },
    });
    const entry = await gateway.logOf(await send('shapes', body));
    expect(entry).toMatchObject({
      virtual_key: 'shapes',
      model: 'mail',
      status: 200,
      api_key_id: keyId,
      metadata: {
        'mcp.method': 'tools/call',
        'mcp.auth': 'api_key',
        'mcp.identity': 'claims_header',
        'mcp.claims': 'sub scope',
        'mcp.arguments': '{to:text(15),copies:[2],n:number}',
      },
    });
    expect(entry.duration_ms).toBeGreaterThan(0);
    expect(JSON.stringify(entry)).not.toMatch(/ada@example|mcp\.invoke/);
  });

  test('holds messages and answers only where a server is set to that', async () => {
    await register('full', { log_bodies: true });
    const body = message('tools/call', { name: 'mail', arguments: { to: 'ada@example.com' } });
    const entry = await gateway.logOf(await send('full', body));
    expect(JSON.stringify(entry)).toContain('ada@example.com');
  });

  test('names the user behind a key', async () => {
    const user = (await gateway.api.post('/v1/admin/users', { email: 'log@example.com', role: 'member' })).json;
    const hers = await gateway.given.apiKey({ user_id: user.id });
    await register('named');
    const entry = await gateway.logOf(await send('named', toolCall(), {}, hers.key));
    expect(entry).toMatchObject({ user_id: user.id, api_key_id: hers.id });
  });

  test('knows of errors that come with a good status', async () => {
    const answers: readonly [string, unknown, string][] = [
      ['rpc', { error: { code: -32_603, message: 'no' } }, 'jsonrpc_-32603'],
      ['tool', { result: { content: [], isError: true } }, 'tool_error'],
    ];
    for (const [name, part, code] of answers) {
      for (const isStream of [false, true]) {
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...(part as object) });
        const server = startRecorder(
          () =>
            new Response(isStream ? `data: ${text}\n\n` : text, {
              headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
            }),
        );
        const slug = `errs-${name}-${isStream ? 'stream' : 'json'}`;
        await register(slug, {}, server.url);
        const reply = await send(slug, toolCall());
        expect(reply.text).toContain(text);
        expect(await gateway.logOf(reply)).toMatchObject({ status: 200, failed_by: 'provider', error_code: code });
        server.stop();
      }
    }
  });
});
