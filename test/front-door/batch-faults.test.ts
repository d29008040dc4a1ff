import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { beginBatch, chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { completion, type Respond, responding, throughProvider } from '../batch-provider.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  openai = openaiClient(gateway.url, key);
});
afterAll(() => gateway.stop());

const answer = (said: string) => Response.json(completion(said));

/** A batch through a provider of the test's own making. */
async function throughProviderThat(respond: Respond, { slug, lines }: { slug: string; lines: number }) {
  const provider = serve(responding(respond));
  try {
    return await throughProvider({ gateway, openai, origin: provider.origin, slug, lines });
  } finally {
    provider.stop();
  }
}

test('a provider that refuses half of all requests answers every one in the end', async () => {
  const refusal = () =>
    Response.json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '0.05' } });
  const { batch, output } = await throughProviderThat(
    async (said) => {
      await Bun.sleep(2);
      return Math.random() < 0.5 ? refusal() : answer(said);
    },
    { slug: 'refusing', lines: 200 },
  );
  expect(batch.status).toBe('completed');
  expect(output).toHaveLength(200);
});

test('a provider that dies for a while costs time and nothing else', async () => {
  let deadUntil = 0;
  let asked = 0;
  const { batch, output } = await throughProviderThat(
    (said) => {
      if (++asked === 40) deadUntil = performance.now() + 2_000;
      if (performance.now() < deadUntil) return new Response('gone', { status: 503 });
      return answer(said);
    },
    { slug: 'dying', lines: 150 },
  );
  expect(batch.status).toBe('completed');
  expect(output).toHaveLength(150);
});

test('answers that cannot be right are in the error file, with what was answered', async () => {
  const { batch, output, errors } = await throughProviderThat(
    (said) => (said === 'n3' ? new Response('<p>no</p>', { status: 404 }) : answer(said)),
    { slug: 'malformed', lines: 20 },
  );
  expect(batch.request_counts).toEqual({ total: 20, completed: 19, failed: 1 });
  expect(output).toHaveLength(19);
  expect(errors[0]).toMatchObject({ custom_id: 'n3', response: { status_code: 404 } });
  expect(JSON.stringify(errors[0])).toContain('<p>no</p>');
});

test('a batch whose window is over keeps what it has, and says so of the rest', async () => {
  const lines = Array.from({ length: 400 }, (_, index) =>
    chatLine(`r${index}`, index < 10 ? 'Hello' : '[[simulate: delay=4000]] Hello'),
  );
  const { id } = await beginBatch(openai, lines);
  await eventually('some are answered', async () => {
    return (await openai.batches.retrieve(id)).request_counts!.completed > 0;
  });
  const state = new Database(join(gateway.dataDir, 'state.db'));
  state.run('pragma busy_timeout = 5000');
  state.run('update batches set expires_at = 1000 where id = ?', [id]);
  state.close();
  const batch = await ended(openai, id);
  expect(batch).toMatchObject({ status: 'expired', completed_at: null, cancelled_at: null });
  expect(batch.expired_at).toBeGreaterThan(0);
  const output = await linesIn(openai, batch.output_file_id);
  const errors = await linesIn(openai, batch.error_file_id);
  expect(output.length + errors.length).toBe(400);
  expect(output.length).toBeGreaterThan(0);
  expect(errors[0]!.error).toEqual({
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  });
});

test('requests of a batch whose key was deleted fail and say so', async () => {
  const { key, id: keyId } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  const client = openaiClient(gateway.url, key);
  const lines = Array.from({ length: 900 }, (_, index) => chatLine(`r${index}`, '[[simulate: delay=1000]] Hello'));
  const { id } = await beginBatch(client, lines);
  expect((await gateway.api.delete(`/v1/api-keys/${keyId}`)).status).toBeLessThan(300);
  const batch = await ended(openai, id);
  const errors = await linesIn(openai, batch.error_file_id);
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.at(-1)!.response).toMatchObject({ status_code: 401, body: { error: { code: 'caller_gone' } } });
});

test('each fault of a new batch is a 400 that names it', async () => {
  const good = await uploadLines(openai, [chatLine('a')]);
  const other = await openai.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'user_data' });
  const body = { input_file_id: good.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const headers = { 'x-gateway-virtual-key': 'sim' };
  const post = (change: Record<string, unknown>, sent: Record<string, string> = headers) =>
    gateway.api.post('/v1/batches', { ...body, ...change }, { headers: sent });
  const cases: [Record<string, unknown>, number, string | null][] = [
    [{ input_file_id: undefined }, 400, 'input_file_id'],
    [{ input_file_id: 7 }, 400, 'input_file_id'],
    [{ input_file_id: other.id }, 400, 'input_file_id'],
    [{ input_file_id: 'file-unknown' }, 404, 'id'],
    [{ endpoint: undefined }, 400, 'endpoint'],
    [{ endpoint: '/v1/videos' }, 400, 'endpoint'],
    [{ completion_window: undefined }, 400, 'completion_window'],
    [{ completion_window: '1h' }, 400, 'completion_window'],
    [{ metadata: { a: 1 } }, 400, 'metadata.a'],
    [{ metadata: { ['k'.repeat(65)]: 'v' } }, 400, null],
    [{ output_expires_after: { anchor: 'created_at', seconds: 10 } }, 400, 'output_expires_after.seconds'],
  ];
  for (const [change, status, param] of cases) {
    const reply = await post(change);
    expect([JSON.stringify(change), reply.status]).toEqual([JSON.stringify(change), status]);
    if (param) expect([JSON.stringify(change), reply.json.error.param]).toEqual([JSON.stringify(change), param]);
  }
  const withoutKey = await post({}, {});
  expect([withoutKey.status, withoutKey.json.error.code]).toEqual([400, 'missing_virtual_key']);
  const inline = await post({}, { ...headers, 'x-gateway-config': '{"retry":{"attempts":1}}' });
  expect([inline.status, inline.json.error.param]).toEqual([400, 'x-gateway-config']);
  const unknownMembers = await post({ endpoint: '/chat/completions', surprise: true, completion_window: 'immediate' });
  expect(unknownMembers.status).toBe(200);
  expect(unknownMembers.json).toMatchObject({ endpoint: '/v1/chat/completions', completion_window: 'immediate' });
});

test("another workspace's batch, and its files, answer like missing ones", async () => {
  const workspace = await gateway.given.workspace();
  const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
  await gateway.given.virtualKey({ slug: 'theirs', name: 'theirs', workspace_id: workspace.id });
  const file = await uploadLines(openai, [chatLine('a')]);
  const { id } = await openai.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const stranger = { key, headers: { 'x-gateway-virtual-key': 'theirs' } };
  for (const reply of [
    await gateway.api.get(`/v1/batches/${id}`, stranger),
    await gateway.api.get(`/v1/batches/${id}/output`, stranger),
    await gateway.api.post(`/v1/batches/${id}/cancel`, undefined, stranger),
  ]) {
    expect(reply.status).toBe(404);
    expect(reply.json.error.message).toBe(`No batch found with id '${id}'.`);
  }
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  expect((await gateway.api.post('/v1/batches', body, stranger)).status).toBe(404);
  const list = await gateway.api.get('/v1/batches', stranger);
  expect(list.json).toEqual({ object: 'list', data: [], first_id: '', last_id: '', has_more: false });
  expect((await gateway.api.get('/v1/batches?limit=101', stranger)).json.error.code).toBe('integer_above_max_value');
  await ended(openai, id);
});
