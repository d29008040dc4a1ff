import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { message, type Recorder, startRecorder } from '../mcp/recorder.ts';
import { startReferenceServer } from '../mcp/reference-server.ts';

let gateway: TestGateway;
let key: string;
let echo: Recorder;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.given.apiKey());
  // Answers with the text it was given, as a result or as the events of a stream.
  echo = startRecorder(({ body, headers }) => {
    const { id, params } = JSON.parse(body || '{}');
    const { text, isStream } = params?.arguments ?? {};
    const result = { content: [{ type: 'text', text: text ?? 'nothing' }], structuredContent: { said: text } };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result });
    if (!isStream && headers.accept !== 'text/event-stream')
      return new Response(answer, { headers: { 'content-type': 'application/json' } });
    const progress = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { message: 'half' } });
    return new Response(`data: ${progress}\n\ndata: ${answer}\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
  });
  await guardrail('no-walrus', [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }], true);
  await guardrail('noticed', [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }], false);
  await guardrail(
    'no-mail',
    [{ id: 'default.pii', parameters: { categories: ['EMAIL_ADDRESS'], redact: true } }],
    false,
  );
});
afterAll(async () => {
  await gateway.stop();
  echo.stop();
});

const guardrail = async (slug: string, checks: object[], deny: boolean) => {
  const reply = await gateway.api.post('/v1/guardrails', { name: slug, slug, checks, actions: { deny } });
  if (reply.status !== 200) throw new Error(reply.text);
};
const register = async (slug: string, configurations: Record<string, unknown>, url = echo.url) => {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
};
const say = (text: unknown, more: Record<string, unknown> = {}) =>
  message('tools/call', { name: 'say', arguments: { text, ...more } });
const send = (slug: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.api.post(`/${slug}/mcp`, body, { key, headers });

const DENIED = {
  jsonrpc: '2.0',
  id: 1,
  error: { code: 446, data: { type: 'hooks_failed', code: 'guardrail_denied' } },
};

describe('arguments', () => {
  test('that are denied do not reach the server', async () => {
    await register('input', { input_guardrails: ['no-walrus'] });
    const before = echo.requests.length;
    for (const body of [
      say('a walrus'),
      say(['deep', { in: 'a walrus' }]),
      message('prompts/get', { name: 'p', arguments: { about: 'walrus' } }),
      message('resources/read', { uri: 'search://walrus' }),
      message('completion/complete', {
        ref: { type: 'ref/prompt', name: 'p' },
        argument: { name: 'a', value: 'walrus' },
      }),
    ]) {
      const reply = await send('input', body);
      expect([body, reply.status]).toEqual([body, 446]);
      expect(reply.json).toMatchObject(DENIED);
      expect(reply.json.error.data.hook_results.before_request_hooks[0]).toMatchObject({
        id: 'no-walrus',
        verdict: false,
      });
    }
    expect(echo.requests).toHaveLength(before);
    const log = await gateway.logOf(await send('input', say('a walrus')));
    expect(log).toMatchObject({ status: 446, error_code: 'guardrail_denied', model: 'say' });
    expect(log.hook_results.before_request_hooks).toHaveLength(1);
  });

  test('pass as they are when nothing is wrong with them, and names are no arguments', async () => {
    await register('passing', { input_guardrails: ['no-walrus'] });
    const body = '{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{"name":"walrus","arguments":{"n":1.10}}}';
    const reply = await send('passing', body, { 'content-type': 'application/json' });
    expect(reply.status).toBe(200);
    expect(echo.last.body).toBe(body);
  });

  test('are blacked out on the way, also where headers repeat them', async () => {
    await register('redacted', { input_guardrails: ['no-mail'] });
    const body = say('write to ada@example.com', { region: 'ada@example.com', limit: 5 });
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'say',
      'mcp-param-region': 'ada@example.com',
      'mcp-param-limit': '5',
    };
    expect((await send('redacted', body, headers)).status).toBe(200);
    const sent = JSON.parse(echo.last.body).params;
    expect(sent.arguments.text).toMatch(/^write to \{\{EMAIL_ADDRESS_\d\}\}$/);
    expect(echo.last.headers['mcp-param-region']).toBe(sent.arguments.region);
    expect(echo.last.headers['mcp-param-limit']).toBe('5');
    expect(JSON.stringify(echo.last)).not.toContain('ada@example.com');
  });

  test('cannot be hidden in a header', async () => {
    await register('smuggled', { input_guardrails: ['no-walrus'] });
    const before = echo.requests.length;
    const reply = await send('smuggled', say('nothing'), { 'mcp-param-text': 'walrus' });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: -32_020 });
    expect(echo.requests).toHaveLength(before);
  });
});

describe('results', () => {
  for (const isStream of [false, true]) {
    const kind = isStream ? 'events' : 'JSON';

    test(`that are denied do not reach the client (${kind})`, async () => {
      const slug = `output-${kind.toLowerCase()}`;
      await register(slug, { output_guardrails: ['no-walrus'] });
      const reply = await send(slug, say('a walrus', { isStream }));
      expect(reply.text).not.toContain('a walrus');
      const [answer] = isStream ? reply.text.split('data: ').slice(-1) : [reply.text];
      expect(JSON.parse(answer!)).toMatchObject(DENIED);
      expect(reply.status).toBe(isStream ? 200 : 446);
      if (isStream) expect(reply.text).toContain('"message":"half"');
      const log = await gateway.logOf(reply);
      expect(log).toMatchObject({ error_code: 'guardrail_denied', failed_by: 'gateway' });
      expect(log.hook_results.after_request_hooks[0]).toMatchObject({ id: 'no-walrus', verdict: false });
    });

    test(`are blacked out (${kind})`, async () => {
      const slug = `redacting-${kind.toLowerCase()}`;
      await register(slug, { output_guardrails: ['no-mail'] });
      const { text, status } = await send(slug, say('from ada@example.com', { isStream }));
      expect(status).toBe(200);
      expect(text).not.toContain('ada@example.com');
      expect(text.match(/\{\{EMAIL_ADDRESS_\d\}\}/g)).toHaveLength(2);
    });

    test(`that only fail are given on, and the log knows (${kind})`, async () => {
      const slug = `noticing-${kind.toLowerCase()}`;
      await register(slug, { output_guardrails: ['noticed'] });
      const reply = await send(slug, say('a walrus', { isStream }));
      expect(reply.status).toBe(200);
      expect(reply.text).toContain('a walrus');
      expect((await gateway.logOf(reply)).hook_results.after_request_hooks[0]).toMatchObject({
        id: 'noticed',
        verdict: false,
      });
    });
  }

  test('on a stream of its own are judged event by event, while it is open', async () => {
    let say!: (text: string | null) => void;
    const server = serve(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start(controller) {
              say = (text) => (text === null ? controller.close() : controller.enqueue(Buffer.from(text)));
              say(': hello\n\n');
            },
          }),
          { headers: { 'content-type': 'text/event-stream' } },
        ),
    );
    await register('watching', { output_guardrails: ['no-walrus'] }, `${server.origin}/mcp`);
    const response = await fetch(`${gateway.url}/watching/mcp`, { headers: { 'x-gateway-api-key': key } });
    const reader = response.body!.getReader();
    const next = async () => Buffer.from((await reader.read()).value ?? []).toString();
    expect(await next()).toBe(': hello\n\n');
    say('id: 1\ndata: {"method":"notifications/message","params":{"data":{"type":"text","text":"a walrus"}}}\n\n');
    expect(await next()).toBe('id: 1\n: withheld\n\n');
    say('id: 2\ndata: {"method":"notifications/message","params":{"data":"fine"}}\n\n');
    expect(await next()).toContain('"fine"');
    say(null);
    expect((await reader.read()).done).toBe(true);
    server.stop();
  });
});

test('guardrails that are not there, or on the wrong side, are refused when a server is saved', async () => {
  await guardrail('input-only', [{ id: 'default.modelWhitelist', parameters: { models: ['x'] } }], true);
  for (const [configurations, param] of [
    [{ input_guardrails: ['no-walrus', 'nowhere'] }, 'configurations.input_guardrails[1]'],
    [{ output_guardrails: ['input-only'] }, 'configurations.output_guardrails[0]'],
    [{ output_guardrails: 'no-walrus' }, 'configurations.output_guardrails'],
  ] as const) {
    const made = await gateway.api.post('/v1/mcp-servers', { name: 'x', url: echo.url, configurations });
    expect([made.status, made.json.error.param]).toEqual([400, param]);
    const changed = await gateway.api.put('/v1/mcp-servers/input', { configurations });
    expect([changed.status, changed.json.error.param]).toEqual([400, param]);
  }
});

test('descriptions of tools are judged like any other text', async () => {
  const server = startRecorder(() =>
    Response.json({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'x', description: 'ask the walrus' }] } }),
  );
  await register('described', { output_guardrails: ['no-walrus'] }, server.url);
  expect((await send('described', message('tools/list'))).status).toBe(446);
  server.stop();
});

test('guardrails of the workspace hold for tools, too', async () => {
  const workspace = await gateway.given.workspace({ name: 'Guarded', defaults: {} });
  const made = await gateway.api.post('/v1/guardrails', {
    name: 'local',
    workspace_id: workspace.id,
    checks: [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }],
    actions: { deny: true },
  });
  await gateway.api.put(`/v1/admin/workspaces/${workspace.id}`, { defaults: { input_guardrails: [made.json.slug] } });
  const theirs = await gateway.given.apiKey({ workspace_id: workspace.id });
  const reply = await gateway.api.post('/v1/mcp-servers', {
    name: 'g',
    slug: 'guarded',
    url: echo.url,
    workspace_id: workspace.id,
  });
  expect(reply.status).toBe(200);
  expect((await gateway.api.post('/guarded/mcp', say('walrus'), { key: theirs.key })).status).toBe(446);
  expect((await gateway.api.post('/guarded/mcp', say('seal'), { key: theirs.key })).status).toBe(200);
});

for (const mode of ['legacy', 'modern'] as const) {
  test(`the official client goes through guardrails on both sides (${mode})`, async () => {
    const reference = startReferenceServer();
    const slug = `client-${mode}`;
    await register(slug, { input_guardrails: ['no-walrus'], output_guardrails: ['no-walrus'] }, reference.url);
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: mode === 'modern' ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/${slug}/mcp`), {
        requestInit: { headers: { 'x-gateway-api-key': key } },
      }),
    );
    expect((await client.listTools()).tools.length).toBeGreaterThan(3);
    const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
    expect(content).toEqual([{ type: 'text', text: 'This is a simple text response for testing.' }]);
    const denied = client.callTool({ name: 'test_simple_text', arguments: { about: 'walrus' } });
    await expect(denied).rejects.toThrow(/no-walrus|446/);
    await client.close();
    reference.stop();
  });
}
