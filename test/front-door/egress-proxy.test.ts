import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCollector } from '../collector.ts';
import { serve, startGateway, startProvider, type TestGateway, type TestProvider } from '../gateway.ts';
import { openLive } from '../live-client.ts';
import { startMailServer } from '../mail-server.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { eventually } from '../process.ts';
import { startProxy, type TestProxy } from '../proxy.ts';
import { startS3, type TestS3 } from '../s3.ts';

const PASSWORD = 'hunter2-of-the-proxy';

let proxy: TestProxy;
let provider: TestProvider;
let s3: TestS3;
let collector: ReturnType<typeof startCollector>;
let identity: ReturnType<typeof serve>;
let gateway: TestGateway;
/** The same server under a name that exists nowhere: whoever reaches it came through the proxy. */
const named = (origin: string, name: string) => origin.replace('127.0.0.1', `${name}.test`);
const portOf = (origin: string) => new URL(origin).port;

beforeAll(async () => {
  proxy = await startProxy({ credentials: `gateway:${PASSWORD}` });
  provider = startProvider();
  s3 = startS3();
  collector = startCollector();
  identity = serve(({ url }) => {
    const issuer = `http://identity.test:${new URL(url).port}`;
    return Response.json({
      ...{
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
      },
      ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
      id_token_signing_alg_values_supported: ['RS256'],
    });
  });
  gateway = await startGateway({
    environment: {
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1,*.test',
      GATEWAY_EGRESS_PROXY: `http://gateway:${PASSWORD}@127.0.0.1:${proxy.port}`,
      GATEWAY_EGRESS_PROXY_EXCEPT: '*.direct.test',
      GATEWAY_BLOB_URL: `s3://${s3.bucket}/files?endpoint=${named(s3.origin, 'storage')}&region=${s3.region}`,
      GATEWAY_BLOB_ACCESS_KEY_ID: s3.accessKeyId,
      GATEWAY_BLOB_SECRET_ACCESS_KEY: s3.secretAccessKey,
      GATEWAY_OIDC_ISSUER: named(identity.origin, 'identity'),
      GATEWAY_OIDC_CLIENT_ID: 'gateway',
      GATEWAY_OIDC_CLIENT_SECRET: 'a secret of tests',
      OTEL_EXPORTER_OTLP_ENDPOINT: named(collector.origin, 'collector'),
    },
  });
  await gateway.given.virtualKey({ slug: 'far', custom_host: named(provider.url, 'models') });
});
afterAll(async () => {
  await gateway.stop();
  for (const each of [proxy, provider, s3, collector, identity]) each.stop();
});

const askedOf = (name: string) => proxy.asked.filter((target) => target.startsWith(`${name}.test:`));
const chat = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  gateway.api.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content: 'Hello' }], ...more },
    { headers: { 'x-gateway-virtual-key': 'far', ...headers } },
  );

test('calls and streams to a provider go through the proxy, one connection for many', async () => {
  for (let call = 0; call < 3; call++) expect((await chat()).status).toBe(200);
  const stream = await chat({ stream: true });
  expect(stream.text).toContain('data: [DONE]');

  expect(askedOf('models')).toEqual([`models.test:${portOf(provider.origin)}`]);
  expect(provider.calls).toBe(4);
});

test('so does a conversation in real time', async () => {
  const before = askedOf('models').length;
  const live = await openLive(gateway.url, { path: '/v1/realtime?model=%40far%2Fgpt-realtime' });
  await live.until('session.created');
  live.close();

  expect(askedOf('models').length).toBeGreaterThan(before);
});

test('so do MCP servers', async () => {
  const server = startSmallServer({ era: 'older', tools: ['look'] });
  const url = named(server.url, 'tools');
  const made = await gateway.api.post('/v1/mcp-servers', { name: 'tools', slug: 'tools', url });
  expect([made.status, made.text]).toEqual([200, expect.any(String)]);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const headers = { accept: 'application/json, text/event-stream' };
  const reply = await gateway.api.post(
    '/tools/mcp',
    { jsonrpc: '2.0', id: 1, method: 'initialize', params },
    { headers },
  );

  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  expect(askedOf('tools').length).toBeGreaterThan(0);
  server.stop();
});

test('so do channels of alerts, mail included', async () => {
  const told: string[] = [];
  const listener = serve(async (request) => {
    told.push(await request.text());
    return new Response(null, { status: 204 });
  });
  const mail = await startMailServer();
  const hook = { name: 'hook', kind: 'webhook', settings: { url: named(`${listener.origin}/told`, 'hook') } };
  const settings = {
    host: 'mail.test',
    port: mail.port,
    security: 'none',
    from: 'a@example.com',
    to: ['b@example.com'],
  };
  for (const body of [hook, { name: 'mail', kind: 'email', settings }]) {
    const { id } = (await gateway.api.post('/v1/alert-channels', body)).json;
    const tried = await gateway.api.post(`/v1/alert-channels/${id}/test`, {});
    expect([tried.status, tried.text]).toEqual([200, expect.any(String)]);
  }

  await eventually('both are told', () => told.length === 1 && mail.mails.length === 1);
  expect(askedOf('hook')).toEqual([`hook.test:${portOf(listener.origin)}`]);
  expect(askedOf('mail')).toEqual([`mail.test:${mail.port}`]);
  listener.stop();
  await mail.stop();
});

test("so do guardrails' webhooks, files in a bucket, the identity provider and traces", async () => {
  const judge = serve(() => Response.json({ verdict: true }));
  const config = {
    virtual_key: 'far',
    input_guardrails: [{ id: 'hook', 'default.webhook': { webhookURL: named(`${judge.origin}/`, 'judge') } }],
  };
  const judged = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] },
    { headers: { 'x-gateway-config': JSON.stringify(config) } },
  );
  expect([judged.status, judged.text]).toEqual([200, expect.any(String)]);
  expect(askedOf('judge')).toHaveLength(1);
  judge.stop();

  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new File(['kept far away'], 'a.txt'));
  expect((await gateway.api.post('/v1/files', form)).status).toBe(200);
  expect(s3.objects.size).toBe(1);
  expect(askedOf('storage').length).toBeGreaterThan(0);

  expect((await gateway.api.get('/v1/sessions/oidc')).status).toBe(302);
  expect(askedOf('identity').length).toBeGreaterThan(0);

  await eventually('the collector has spans', () => askedOf('collector').length > 0 && collector.requests.length > 0);
});

test('what is excepted, and this machine, is called without the proxy', async () => {
  const before = proxy.asked.length;
  await gateway.given.virtualKey({ slug: 'excepted', custom_host: named(provider.url, 'models.direct') });
  // The name exists nowhere, so that no other way leads there.
  const reply = await chat({}, { 'x-gateway-virtual-key': 'excepted' });
  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_unreachable']);
  expect((await chat({}, { 'x-gateway-virtual-key': 'sim' })).status).toBe(200);

  expect(proxy.asked.slice(before).filter((target) => !target.startsWith('collector.test'))).toEqual([]);
});

test('the egress policy decides before the proxy is asked', async () => {
  const before = proxy.asked.length;
  for (const host of [
    'https://10.0.0.7/v1',
    'https://169.254.169.254/v1',
    'http://example.com/v1',
    'https://db.internal/v1',
  ]) {
    const headers = { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': host, authorization: 'Bearer own' };
    const { 'x-gateway-virtual-key': _, ...rest } = { 'x-gateway-virtual-key': '', ...headers };
    const reply = await gateway.api.post('/v1/chat/completions', { model: 'demo', messages: [] }, { headers: rest });
    expect([host, reply.status, reply.json.error.code]).toEqual([host, 400, 'egress_refused']);
  }
  expect(proxy.asked.slice(before).filter((target) => !target.startsWith('collector.test'))).toEqual([]);
});

test('a proxy that refuses is named in the error and the log, its credentials nowhere, and the call may be tried again', async () => {
  await gateway.given.virtualKey({ slug: 'closed', custom_host: named(provider.url, 'closed') });
  proxy.refusal = 403;
  const config = JSON.stringify({ virtual_key: 'closed', retry: { attempts: 1, on_status_codes: [502] } });
  const calls = provider.calls;
  const reply = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] },
    { headers: { 'x-gateway-config': config } },
  );
  proxy.refusal = null;

  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_unreachable']);
  expect(reply.json.error.message).toContain(
    `the proxy 127.0.0.1:${proxy.port} does not let this gateway connect there`,
  );
  expect(reply.json.error.message).toContain('Nothing was sent');
  expect(askedOf('closed').length).toBe(2);
  expect(provider.calls).toBe(calls);
  const entry = JSON.stringify(await gateway.logOf(reply));
  for (const secret of [PASSWORD, Buffer.from(`gateway:${PASSWORD}`).toString('base64')]) {
    expect(reply.text).not.toContain(secret);
    expect(entry).not.toContain(secret);
  }
});

test('no other part of the program opens connections to the outside', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const dials = /\bBun\.connect\b|\bconnect\b[^;]* from 'node:(?:net|tls|https?|http2)'|new WebSocket\(/;
  const found = files.filter((name) => {
    const text = readFileSync(join('src', name), 'utf8');
    // A `fetch` that a part is given goes through the egress policy; the one of the runtime does not.
    const usesGlobal = /(?<![.\w#]|async )fetch\(/.test(text) && !/\bfetch\b ?[:,})]|\{ fetch\b/.test(text);
    return dials.test(text) || usesGlobal;
  });

  expect(found.filter((name) => !name.startsWith('cli/')).sort()).toEqual([
    'http/client/connection.ts',
    'http/client/tunnel.ts',
    'http/client/websocket.ts',
    // The browser's, in a page.
    'http/docs-page.ts',
  ]);
});
