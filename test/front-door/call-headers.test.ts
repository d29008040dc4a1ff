import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'other' });
});
afterAll(() => gateway.stop());

const SIM = { 'x-gateway-virtual-key': 'sim' };
const chat = (headers: Record<string, string>) =>
  gateway.api.post(
    '/v1/chat/completions',
    { model: 'gpt', messages: [{ role: 'user', content: 'hi' }] },
    { headers: { ...SIM, ...headers } },
  );

const refused = (reply: Reply, code: string, param: string) => {
  expect(reply.status).toBe(400);
  expect(reply.json.error).toMatchObject({ code, param });
};

const batchFile = async (): Promise<string> => {
  const form = new FormData();
  form.set('purpose', 'batch');
  const body = { model: 'gpt', messages: [{ role: 'user', content: 'hi' }] };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
  form.set('file', new File([line], 'requests.jsonl'));
  return (await gateway.api.call('POST', '/v1/files', { body: form })).json.id;
};

describe('every route that needs a virtual key', () => {
  const routes: [string, string][] = [
    ['GET', '/v1/threads/thread_x/messages'],
    ['POST', '/v1/threads/thread_x/runs'],
    ['POST', '/v1/threads/thread_x/runs/run_x'],
    ['GET', '/v1/batches'],
    ['POST', '/v1/batches/batch_x/cancel'],
    ['GET', '/v1/fine_tuning/jobs'],
    ['POST', '/v1/fine_tuning/jobs'],
    ['POST', '/v1/fine_tuning/jobs/ftjob-x/cancel'],
  ];
  const bodies: Record<string, unknown> = {
    'POST /v1/threads/thread_x/runs': { assistant_id: 'asst_x' },
    'POST /v1/fine_tuning/jobs': { model: 'gpt', training_file: 'file-x' },
  };
  for (const [method, path] of routes) {
    const call = (headers: Record<string, string>, key?: string) =>
      gateway.api.call(method, path, { headers, body: bodies[`${method} ${path}`], ...(key && { key }) });

    test(`${method} ${path} refuses one beside a provider or a host`, async () => {
      const provider = 'x-gateway-provider';
      refused(await call({ ...SIM, [provider]: 'openai' }), 'conflicting_provider', provider);
      refused(await call({ ...SIM, [provider]: '@other' }), 'conflicting_provider', provider);
      const host = 'x-gateway-custom-host';
      refused(await call({ ...SIM, [host]: 'https://models.example/v1' }), 'conflicting_provider', host);
    });

    test(`${method} ${path} takes no provider by name for one, though the key has a default`, async () => {
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      const reply = await call({ 'x-gateway-provider': 'openai', authorization: 'Bearer sk-own' }, key);
      refused(reply, 'missing_virtual_key', 'x-gateway-virtual-key');
    });

    test(`${method} ${path} takes @slug as the provider`, async () => {
      expect([200, 404]).toContain((await call({ 'x-gateway-provider': '@sim' })).status);
    });
  }
});

describe('a header that says yes or no', () => {
  test('takes true and false, however they are written', async () => {
    for (const value of ['true', 'false', 'True', 'FALSE'])
      expect((await chat({ 'x-gateway-debug': value })).status).toBe(200);
    const silent = await chat({ 'x-gateway-debug': 'False' });
    expect((await gateway.logOf(silent)).request?.body ?? null).toBeNull();
    expect((await gateway.logOf(await chat({}))).request.body).not.toBeNull();
  });

  test('is refused when it says something else, before the provider is asked', async () => {
    const before = gateway.provider.calls;
    refused(await chat({ 'x-gateway-debug': '0' }), 'invalid_header', 'x-gateway-debug');
    const config = { 'x-gateway-config': JSON.stringify({ virtual_key: 'sim', cache: { mode: 'simple' } }) };
    const refresh = 'x-gateway-cache-force-refresh';
    refused(await chat({ ...config, [refresh]: 'yes' }), 'invalid_header', refresh);
    expect(gateway.provider.calls).toBe(before);
  });
});

describe('what a run or a batch could not use later is refused when it is asked for', () => {
  const rows: [string, string, string][] = [
    ['x-gateway-metadata', '{broken', 'invalid_header'],
    ['x-gateway-metadata', '{"a":1}', 'invalid_header'],
    ['x-gateway-request-timeout', 'soon', 'invalid_header'],
    ['x-gateway-debug', 'off', 'invalid_header'],
    ['x-gateway-config', 'nowhere', 'unknown_config'],
    ['x-gateway-config', '{"virtual_key":"sim"}', 'invalid_header'],
  ];
  for (const [header, value, code] of rows) {
    test(`${header}: ${value}`, async () => {
      const headers = { ...SIM, [header]: value };
      const assistant = (await gateway.api.post('/v1/assistants', { model: 'gpt' })).json.id;
      const thread = (await gateway.api.post('/v1/threads', {}, { headers: SIM })).json.id;
      const path = `/v1/threads/${thread}/runs`;
      refused(await gateway.api.post(path, { assistant_id: assistant }, { headers }), code, header);
      expect((await gateway.api.get(path, { headers: SIM })).json.data).toEqual([]);

      const order = { input_file_id: await batchFile(), endpoint: '/v1/chat/completions', completion_window: '24h' };
      refused(await gateway.api.post('/v1/batches', order, { headers }), code, header);
    });
  }

  test('the lines of a batch are logged without bodies when its request said so', async () => {
    const order = { input_file_id: await batchFile(), endpoint: '/v1/chat/completions', completion_window: '24h' };
    const made = await gateway.api.post('/v1/batches', order, { headers: { ...SIM, 'x-gateway-debug': 'false' } });
    expect(made.status).toBe(200);
    let lines: { id: string }[] = [];
    await eventually('its lines are logged', async () => {
      lines = (await gateway.api.get(`/v1/logs?trace_id=${made.json.id}`)).json.data;
      return lines.length > 0;
    });
    expect(lines).toHaveLength(1);
    expect((await gateway.api.get(`/v1/logs/${lines[0]!.id}`)).json.request?.body ?? null).toBeNull();
  });
});
