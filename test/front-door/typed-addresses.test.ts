import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AzureOpenAI, toFile } from 'openai';
import { ENDPOINTS } from '../../src/core/endpoints.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { folded } from '../sdk-clients.ts';

let gateway: TestGateway;
const recorder = startRecorder();
const keys = { sim: '', recorder: '', claude: '' };

beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'recorder', custom_host: `${recorder.origin}/v1` });
  keys.sim = (await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } })).key;
  await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
  keys.claude = (await gateway.given.apiKey({ defaults: { virtual_key: 'claude' } })).key;
  keys.recorder = (await gateway.given.apiKey({ defaults: { virtual_key: 'recorder' } })).key;
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const messages = [{ role: 'user' as const, content: 'Hello' }];
const ANSWER = 'This is a simulated answer. You said: "Hello"';

const BEFORE = ['', '/v1/v1', '/v1/v1/v1', '/openai', '/openai/v1', '/anthropic', '/anthropic/v1', '/v1beta/openai'];

for (const before of BEFORE) {
  test(`${before}/… is ${'/v1/…'}: it answers, and the log shows the route that is meant`, async () => {
    const reply = await gateway.api.post(`${before}/chat/completions`, { model: 'gpt-5', messages }, { key: keys.sim });
    expect(reply.json.choices[0].message.content).toBe(ANSWER);
    expect(await gateway.logOf(reply)).toMatchObject({ path: '/v1/chat/completions', model: 'gpt-5', status: 200 });
    const claude = await gateway.api.post(
      `${before}/messages`,
      { model: 'claude', messages, max_tokens: 9 },
      { key: keys.sim },
    );
    expect(claude.json.content[0].text).toBe(ANSWER);
    expect((await gateway.api.get(`${before}/models/gpt-5`, { key: keys.sim })).json.id).toBe('gpt-5');
  });
}

test('every endpoint of models, and what their clients keep at the gateway, is at the root as well', async () => {
  for (const path of ENDPOINTS.keys()) {
    const body = { model: 'any', input: 'a', prompt: 'a', messages };
    const log = await gateway.logOf(await gateway.api.post(path, body, { key: keys.sim }));
    expect([log.path, log.virtual_key]).toEqual([`/v1${path}`, log.error_code ? log.virtual_key : 'sim']);
  }
  for (const path of ['/models', '/files', '/batches', '/assistants', '/vector_stores', '/openai/v1/files'])
    expect([path, (await gateway.api.get(path, { key: keys.sim })).status]).toEqual([path, 200]);
});

test('a call by another address is counted once, under its route', async () => {
  await gateway.logOf(await gateway.api.get('/models', { key: keys.sim }));
  const before = await gateway.api.get('/metrics');
  const body = { model: 'any', input: 'a' };
  await gateway.logOf(await gateway.api.post('/openai/v1/embeddings', body, { key: keys.sim }));
  const after = await gateway.api.get('/metrics');
  const counted = (text: string) =>
    [...text.matchAll(/^gateway_requests_total\{([^}]*)\} (\d+)/gm)]
      .filter(([, labels]) => labels!.includes('embeddings'))
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  expect(counted(after.text) - counted(before.text)).toBe(1);
  expect(after.text).not.toContain('openai/v1/embeddings');
});

describe("Azure's client of OpenAI, with a new endpoint and key and nothing else", () => {
  const azure = (key: string, options: { deployment?: string } = {}) =>
    new AzureOpenAI({ endpoint: gateway.url, apiKey: key, apiVersion: '2026-10-01', maxRetries: 0, ...options });

  test('gets an answer, a stream, and embeddings', async () => {
    const client = azure(keys.sim);
    const completion = await client.chat.completions.create({ model: 'gpt-5', messages });
    expect(completion.choices[0]?.message.content).toBe(ANSWER);
    expect(completion.model).toBe('gpt-5');
    const stream = await client.chat.completions.create({ model: 'gpt-5', messages, stream: true });
    expect((await folded(stream, (chunk) => chunk.choices[0]?.delta.content)).text).toBe(ANSWER);
    const { data } = await client.embeddings.create({ model: 'text-embedding-3-small', input: ['a'] });
    expect(data[0]?.embedding).toHaveLength(1536);
  });

  test('chooses a virtual key by the name of the deployment', async () => {
    const { key } = await gateway.given.apiKey();
    const completion = await azure(key).chat.completions.create({ model: '@sim/some/model', messages });
    expect(completion.choices[0]?.message.content).toBe(ANSWER);
    expect(completion.model).toBe('some/model');
  });

  test('lists models, uses responses, keeps files', async () => {
    const client = azure(keys.sim);
    expect((await client.models.retrieve('gpt-5')).id).toBe('gpt-5');
    expect((await azure(keys.claude).responses.create({ model: 'gpt-5', input: 'Hello' })).output_text).toBe(ANSWER);
    const file = await client.files.create({ file: await toFile(Buffer.from('{}\n'), 'a.jsonl'), purpose: 'batch' });
    expect(file.bytes).toBe(3);
  });

  test('its deployment is the model, whatever the body says, and Azure’s version stays here', async () => {
    recorder.answers(() => Response.json({ id: 'x', choices: [] }));
    const client = azure(keys.recorder, { deployment: 'mine' });
    await client.chat.completions.create({ model: 'other', messages });
    expect(recorder.last).toMatchObject({ path: '/v1/chat/completions', json: { model: 'mine', messages } });
    expect([...recorder.last.headers.keys()]).not.toContain('api-key');
    const reply = await gateway.api.post(
      '/openai/deployments/a%20b/chat/completions?x=1&api%2dversion=2',
      { messages },
      { key: null, headers: { 'api-key': keys.recorder } },
    );
    expect(recorder.last).toMatchObject({ path: '/v1/chat/completions?x=1', json: { model: 'a b', messages } });
    expect(await gateway.logOf(reply)).toMatchObject({ model: 'a b', path: '/v1/chat/completions?x=1' });
  });

  test('its deployment is the model of a form', async () => {
    recorder.answers(() => Response.json({ text: 'spoken' }));
    const sound = await toFile(Buffer.from('RIFF'), 'a.wav');
    await azure(keys.recorder, { deployment: 'ear' }).audio.transcriptions.create({ model: 'whisper-1', file: sound });
    expect(recorder.last.text).toMatch(/name="model"\r\n\r\near\r\n/);
    expect(recorder.last.text).not.toContain('whisper-1');
    const form = new FormData();
    form.set('file', new File(['RIFF'], 'a.wav'));
    const path = '/openai/deployments/ear/audio/transcriptions';
    await gateway.api.post(path, form, { key: keys.recorder });
    expect(recorder.last.text.match(/name="model"\r\n\r\near\r\n/g)).toHaveLength(1);
  });
});
