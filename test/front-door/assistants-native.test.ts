import { afterAll, beforeAll, expect, test } from 'bun:test';
import { conversation, historyOf, stepsOf, weather } from '../assistants/client.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
/** A provider that still has the API: as it happens, another gateway. */
let provider: TestGateway;
const recorder = startRecorder();

beforeAll(async () => {
  gateway = await startGateway();
  provider = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
  recorder.stop();
});

const nativeKey = async (custom_host: string, key = 'sk-test-credential') => {
  const { slug } = await gateway.given.virtualKey({ key, custom_host, configurations: { assistants: 'native' } });
  return { slug, key: (await gateway.given.apiKey({ defaults: { virtual_key: slug } })).key as string };
};

test("the vendor's client works through a virtual key that leaves assistants to its provider", async () => {
  const theirs = await provider.given.apiKey({ defaults: { virtual_key: 'sim' } });
  const openai = openaiClient(gateway.url, (await nativeKey(`${provider.url}/v1`, theirs.key)).key);
  const said = 'call get_weather {"city":"Oslo"}';
  const { assistant_id, thread_id } = await conversation(openai, { assistant: { tools: [weather] }, said });
  const stream = openai.beta.threads.runs.stream(thread_id, { assistant_id });
  const asked = await stream.finalRun();
  const [call] = asked.required_action!.submit_tool_outputs.tool_calls;
  const run = await openai.beta.threads.runs.submitToolOutputsAndPoll(asked.id, {
    thread_id,
    tool_outputs: [{ tool_call_id: call!.id, output: 'sunny' }],
  });

  expect(run.status).toBe('completed');
  expect(await historyOf(openai, thread_id)).toHaveLength(2);
  expect(await stepsOf(openai, thread_id, run.id)).toHaveLength(2);
  // It is all there and nothing here.
  const of = async ({ api }: TestGateway) =>
    (await api.get(`/v1/threads/${thread_id}`, { headers: { 'x-gateway-virtual-key': 'sim' } })).status;
  expect([await of(provider), await of(gateway)]).toEqual([200, 404]);
});

test('the provider gets what was checked, both beta headers, its own credential and nothing of ours', async () => {
  const { key, slug } = await nativeKey(`${recorder.origin}/v1`);
  recorder.answers(() => Response.json({ id: 'msg_1', object: 'thread.message' }));
  const path = '/v1/threads/thread_x/messages?limit=2';
  const reply = await gateway.api.get(path, { key, headers: { 'x-gateway-metadata': '{"a":"b"}' } });

  expect([reply.status, reply.json]).toEqual([200, { id: 'msg_1', object: 'thread.message' }]);
  expect([recorder.last.method, recorder.last.path]).toEqual(['GET', path]);
  expect(recorder.last.headers.get('openai-beta')).toBe('assistants=v2');
  expect(recorder.last.headers.get('vendor-beta')).toBe('assistants=v2');
  expect(recorder.last.headers.get('authorization')).toBe('Bearer sk-test-credential');
  expect([...recorder.last.headers.keys()].filter((name) => name.startsWith('x-gateway-'))).toEqual([]);
  expect((await gateway.logOf(reply)).virtual_key).toBe(slug);

  const body = { role: 'user', content: 'Hello', metadata: { a: 'b' } };
  await gateway.api.post('/v1/threads/thread_x/messages', body, { key });
  expect(recorder.last.json).toEqual(body);
  await gateway.api.post('/v1/threads/thread_x/runs/run_y/cancel', undefined, { key });
  expect([recorder.last.path, recorder.last.text]).toEqual(['/v1/threads/thread_x/runs/run_y/cancel', '']);

  recorder.answers(() =>
    Response.json({ error: { message: 'Gone.', type: 'x', param: null, code: null } }, { status: 404 }),
  );
  const gone = await gateway.api.delete('/v1/assistants/asst_x', { key });
  expect([gone.status, gone.json.error.message]).toEqual([404, 'Gone.']);
  expect(gone.headers.get('x-gateway-error-origin')).toBe('provider');
});

test('what breaks the rules of the API does not reach the provider', async () => {
  const { key } = await nativeKey(`${recorder.origin}/v1`);
  const before = recorder.requests.length;
  const refused = async (path: string, body: unknown, headers = {}) => {
    const { status, json } = await gateway.api.post(path, body, { key, headers });
    return [status, json.error.param, json.error.code];
  };
  expect(await refused('/v1/assistants', { model: 'gpt-4o', nonsense: 1 })).toEqual([
    400,
    'nonsense',
    'unknown_parameter',
  ]);
  expect(await refused('/v1/threads/t/runs', {})).toEqual([400, 'assistant_id', 'missing_required_parameter']);
  expect(await refused('/v1/threads', {}, { 'openai-beta': 'assistants=v1' })).toEqual([
    400,
    'openai-beta',
    'invalid_beta',
  ]);
  const config = { 'x-gateway-config': 'pc-some' };
  expect((await refused('/v1/threads', {}, config)).slice(0, 2)).toEqual([400, 'x-gateway-config']);
  expect(recorder.requests.length).toBe(before);
});

test('a mode that does not exist is refused when the key is saved', async () => {
  const reply = await gateway.api.post('/v1/virtual-keys', {
    name: 'x',
    provider: 'openai',
    key: 'sk-test',
    configurations: { assistants: 'natve' },
  });
  expect([reply.status, reply.json.error.param]).toEqual([400, 'configurations.assistants']);
  expect(reply.json.error.message).toContain('managed, native');
});
