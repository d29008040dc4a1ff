import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { message, type Recorder, startRecorder } from '../../mcp/recorder.ts';

/** Callers who name a method so that a lenient server takes it for one that the policy would have refused. */

let gateway: TestGateway;
let recorder: Recorder;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.given.apiKey());
  recorder = startRecorder();
  const checks = [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }];
  await gateway.api.post('/v1/guardrails', { name: 'none', slug: 'no-walrus', checks, actions: { deny: true } });
  const policies: Record<string, object> = {
    off: {},
    authorized: { tool_authorization: { danger: { required_claims: ['clearance'] } } },
    pinned: { tool_pinning: { mode: 'block', first_seen: 'pending' } },
    guarded: { input_guardrails: ['no-walrus'] },
    counted: { rate_limits: [{ type: 'requests', unit: 'rpm', value: 1, tool: 'danger' }] },
  };
  for (const [slug, configurations] of Object.entries(policies)) {
    const server = { name: slug, slug, url: recorder.url, configurations };
    expect((await gateway.api.post('/v1/mcp-servers', server)).status).toBe(200);
  }
  const capabilities = [{ type: 'tool', name: 'danger', enabled: false }];
  await gateway.api.put('/v1/mcp-servers/off/capabilities', { capabilities });
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const send = (slug: string, body: string | object) =>
  gateway.api.post(`/${slug}/mcp`, typeof body === 'string' ? JSON.parse(body) : body, { key });
const sendText = (path: string, body: string) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
    body,
  });

const DISGUISES = [
  'tools/call ',
  ' tools/call',
  'tools/call\t',
  'tools/call\n',
  'tools/call\0',
  'tools/call\u00a0',
  'tools/call\u200b',
  'tools/call\u2028',
  '\ufefftools/call',
  'tools / call',
  'tools\\call',
  'tools//call',
  './tools/call',
  '/tools/call',
  'tools/call/',
  'tools/./call',
  'tools.call',
  'tools-call',
  'toolsCall',
  'tools%2fcall',
  '%74ools/call',
  'tools/call?',
  'tools/call;a=b',
  'Tools/Call',
  'toolſ/call',
  'ｔools/call',
  'tools／call',
  'tools/callBatch',
];

test('a method that is nearly a known one reaches no server that has a policy', async () => {
  const before = recorder.requests.length;
  for (const slug of ['off', 'authorized', 'pinned', 'guarded', 'counted']) {
    for (const method of DISGUISES) {
      const reply = await send(slug, message(method, { name: 'danger', arguments: { text: 'walrus' } }));
      expect([slug, method, reply.status, reply.json.error.data.code]).toEqual([
        slug,
        method,
        400,
        'mcp_message_refused',
      ]);
    }
  }
  expect(recorder.requests).toHaveLength(before);
});

test('nor does one in a batch, in a second member, in an escape, or in another spelling of the member', async () => {
  const before = recorder.requests.length;
  const params = '"params":{"name":"danger","arguments":{}}';
  const bodies = [
    `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call ",${params}}]`,
    `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",${params}}`,
    `{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call",${params}}`,
    `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call",${params}}`,
    `{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall\\u0020",${params}}`,
    `{"jsonrpc":"2.0","id":1,"method":{"toString":"tools/call"},${params}}`,
    `{"jsonrpc":"2.0","id":1,"method":["tools/call"],${params}}`,
  ];
  for (const body of bodies) {
    const reply = await sendText('/off/mcp', body);
    expect([body, reply.status]).toEqual([body, 400]);
  }
  // Escapes that every reader reads alike are judged like the letters.
  const plain = await sendText('/off/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools\\u002fc\\u0061ll",${params}}`);
  expect(await plain.json()).toMatchObject({ error: { code: -32_602 } });
  for (const method of DISGUISES) {
    const reply = await gateway.api.post('/mcp', message(method, { name: 'off__danger', arguments: {} }), { key });
    expect([method, reply.status]).toEqual([method, 400]);
  }
  expect(recorder.requests).toHaveLength(before);
});

test('what is none of them goes on: other methods, and every method of a server without a policy', async () => {
  for (const method of ['ping', 'logging/setLevel', 'tasks/get', 'vendor.example/tools', 'roots/list'])
    expect([method, (await send('off', message(method))).status]).toEqual([method, 200]);
  const open = { name: 'open', slug: 'open', url: recorder.url };
  expect((await gateway.api.post('/v1/mcp-servers', open)).status).toBe(200);
  expect((await send('open', message('tools/callBatch'))).status).toBe(200);
  expect(recorder.last.body).toContain('tools/callBatch');
});
