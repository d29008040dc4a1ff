import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
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

interface Line {
  readonly custom_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  readonly body?: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  readonly params?: any;
}

const completion = (line: Line) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: line.body.model,
  choices: [
    { index: 0, message: { role: 'assistant', content: line.body.messages[0].content }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 },
});

/** A provider with OpenAI's batch API. A job is over when it was asked about twice, unless it is held. */
function startBatchProvider() {
  const seen: string[] = [];
  const lines: Line[] = [];
  let asked = 0;
  let status = 'validating';
  let metadata: unknown = null;
  const held = { isHeld: false };
  const job = () => ({
    id: 'batch_theirs',
    object: 'batch',
    status,
    metadata,
    endpoint: '/v1/chat/completions',
    output_file_id: ['completed', 'cancelled'].includes(status) ? 'file-out' : null,
    error_file_id: status === 'completed' ? 'file-err' : null,
    errors: null,
  });
  const { origin, stop } = serve(async (request) => {
    const path = new URL(request.url).pathname;
    seen.push(`${request.method} ${path}`);
    if (path === '/v1/files') {
      const form = await request.formData();
      const text = await (form.get('file') as unknown as Blob).text();
      for (const line of text.split('\n').filter(Boolean)) lines.push(JSON.parse(line));
      return Response.json({ id: 'file-in', object: 'file', purpose: form.get('purpose') });
    }
    if (path === '/v1/batches' && request.method === 'POST') {
      ({ metadata } = (await request.json()) as { metadata: unknown });
      return Response.json(job());
    }
    if (path.endsWith('/cancel')) {
      status = 'cancelled';
      return Response.json({ ...job(), status: 'cancelling' });
    }
    if (path === '/v1/batches/batch_theirs') {
      asked++;
      // Away for once: that changes nothing.
      if (asked === 2) return new Response('away', { status: 503 });
      if (status !== 'cancelled') status = asked < 3 || held.isHeld ? 'in_progress' : 'completed';
      return Response.json(job());
    }
    const answered = lines.slice(0, -1).map((line) => ({
      id: 'theirs',
      custom_id: line.custom_id,
      response: { status_code: 200, request_id: 'req_theirs', body: completion(line) },
      error: null,
    }));
    const failed = {
      id: 'theirs',
      custom_id: lines.at(-1)!.custom_id,
      response: { status_code: 400, request_id: 'req_theirs', body: { error: { message: 'no' } } },
      error: null,
    };
    const file = path === '/v1/files/file-out/content' ? answered : [failed];
    return new Response(file.map((line) => `${JSON.stringify(line)}\n`).join(''));
  });
  return { url: `${origin}/v1`, seen, lines, held, metadata: () => metadata, stop };
}

test('a provider with a batch API carries the batch out, and the client sees only our ids', async () => {
  const provider = startBatchProvider();
  await gateway.given.virtualKey({
    slug: 'native',
    name: 'native',
    custom_host: provider.url,
    usage_limits: { type: 'cost', credit_limit: 10 },
    configurations: { batches: 'native' },
  });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'native' } });
  const names = ['first, with spaces', 'second', 'third'];
  const begun = await beginBatch(
    client,
    names.map((name) => chatLine(name, `I am ${name}`)),
  );
  const batch = await ended(client, begun.id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
  expect(batch.model).toBe('gpt-4o-mini');
  expect(batch.usage).toMatchObject({ input_tokens: 2_000_000, output_tokens: 0, total_tokens: 2_000_000 });
  expect(provider.metadata()).toEqual({ gateway_batch_id: batch.id });
  expect(provider.lines.map((line) => line.custom_id)).toEqual(['r0', 'r1', 'r2']);
  expect(provider.seen.filter((call) => call === 'POST /v1/batches')).toHaveLength(1);
  expect(provider.seen.filter((call) => call.includes('/chat/completions'))).toEqual([]);
  const output = await linesIn(client, batch.output_file_id);
  expect(output.map((line) => [line.custom_id, line.response!.body.choices[0].message.content])).toEqual([
    ['first, with spaces', 'I am first, with spaces'],
    ['second', 'I am second'],
  ]);
  const [failed] = await linesIn(client, batch.error_file_id);
  expect(failed).toMatchObject({ custom_id: 'third', error: null, response: { status_code: 400 } });
  expect(JSON.stringify([batch, output, failed])).not.toMatch(/batch_theirs|"theirs"|file-out|file-in/);
  // Two answers of a million tokens each, at half of the list price.
  const { json } = await gateway.api.get('/v1/virtual-keys/native');
  expect(json.usage).toMatchObject([{ type: 'cost', current_usage: 0.15 }]);
  const removed = () => provider.seen.filter((call) => call.startsWith('DELETE'));
  await eventually('nothing is left at the provider', () => removed().length === 3);
  expect(removed()).toEqual(['file-in', 'file-out', 'file-err'].map((file) => `DELETE /v1/files/${file}`));
  provider.stop();
});

test('cancelling asks the provider to, and keeps what it has answered', async () => {
  const provider = startBatchProvider();
  provider.held.isHeld = true;
  await gateway.given.virtualKey({
    slug: 'held',
    name: 'held',
    custom_host: provider.url,
    configurations: { batches: 'native' },
  });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'held' } });
  const begun = await beginBatch(client, [chatLine('a'), chatLine('b'), chatLine('c')]);
  await eventually('the job is there', () => provider.seen.includes('POST /v1/batches'));
  await eventually(
    'it is being followed',
    async () => (await client.batches.retrieve(begun.id)).status === 'in_progress',
  );
  expect((await client.batches.cancel(begun.id)).status).toBe('cancelling');
  const batch = await ended(client, begun.id);
  expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 3, completed: 2, failed: 1 } });
  expect(provider.seen).toContain('POST /v1/batches/batch_theirs/cancel');
  const [left] = await linesIn(client, batch.error_file_id);
  expect(left).toMatchObject({ custom_id: 'c', response: null, error: { code: 'batch_cancelled' } });
  provider.stop();
});

test("chat completions become Anthropic's message batches, and their results chat completions", async () => {
  let requests: Line[] = [];
  const removed: string[] = [];
  const provider = serve(async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method === 'DELETE') {
      removed.push(pathname);
      return Response.json({ id: 'msgbatch_1', type: 'message_batch_deleted' });
    }
    if (request.method === 'POST') {
      ({ requests } = (await request.json()) as { requests: Line[] });
      return Response.json({ id: 'msgbatch_1', type: 'message_batch', processing_status: 'in_progress' });
    }
    if (!pathname.endsWith('/results'))
      return Response.json({ id: 'msgbatch_1', type: 'message_batch', processing_status: 'ended' });
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: 'Good day' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    };
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const results = [{ type: 'errored', error }, { type: 'succeeded', message }, { type: 'expired' }];
    // In another order than they were asked.
    const all = requests.map(({ custom_id }, index) => ({ custom_id, result: results[index] })).reverse();
    return new Response(all.map((line) => JSON.stringify(line)).join('\n'));
  });
  await gateway.given.virtualKey({
    slug: 'claude',
    name: 'claude',
    provider: 'anthropic',
    custom_host: `${provider.origin}/v1`,
    configurations: { batches: 'native' },
  });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'claude' } });
  const body = { model: 'claude-sonnet-4-5', max_tokens: 10 };
  const begun = await beginBatch(client, [
    chatLine('a', 'Hi', body),
    chatLine('b', 'Hello', body),
    chatLine('c', 'Hey', body),
  ]);
  const batch = await ended(client, begun.id);
  expect(requests[1]).toMatchObject({
    custom_id: 'r1',
    params: { model: 'claude-sonnet-4-5', max_tokens: 10, messages: [{ role: 'user' }] },
  });
  expect(batch.request_counts).toEqual({ total: 3, completed: 1, failed: 2 });
  const [good] = await linesIn(client, batch.output_file_id);
  expect(good!.custom_id).toBe('b');
  expect(good!.response!.body).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: 'Good day' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  });
  const errors = await linesIn(client, batch.error_file_id);
  expect(errors.map((line) => [line.custom_id, line.response?.status_code ?? line.error?.code])).toEqual([
    ['a', 529],
    ['c', 'batch_expired'],
  ]);
  expect(errors[0]!.response!.body.error.message).toContain('Overloaded');
  await eventually('nothing is left at the provider', () => removed.includes('/v1/messages/batches/msgbatch_1'));
  provider.stop();
});

test('a provider that refuses the job ends the batch as failed, with its reason', async () => {
  const provider = serve(() => Response.json({ error: { message: 'no batches for you' } }, { status: 403 }));
  await gateway.given.virtualKey({
    slug: 'refused',
    name: 'refused',
    provider: 'mistral-ai',
    custom_host: `${provider.origin}/v1`,
    configurations: { batches: 'native' },
  });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'refused' } });
  const batch = await ended(client, (await beginBatch(client, [chatLine('a')])).id);
  expect(batch.status).toBe('failed');
  expect(batch.errors!.data).toMatchObject([
    { code: 'provider_error', message: expect.stringContaining('no batches for you') },
  ]);
  provider.stop();
});

test('a virtual key says who carries batches out, and what cannot be is refused', async () => {
  const made = { name: 'wrong', provider: 'openai', key: 'sk-x', configurations: { batches: 'sometimes' } };
  const wrong = await gateway.api.post('/v1/virtual-keys', made);
  expect([wrong.status, wrong.json.error.param]).toEqual([400, 'configurations.batches']);
  await gateway.given.virtualKey({
    slug: 'none',
    name: 'none',
    provider: 'deepseek',
    configurations: { batches: 'native' },
  });
  const file = await uploadLines(openai, [chatLine('a')]);
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const refused = await gateway.api.post('/v1/batches', body, { headers: { 'x-gateway-virtual-key': 'none' } });
  expect([refused.status, refused.json.error.code]).toEqual([400, 'native_batches_unsupported']);
  expect(refused.json.error.message).toContain('openai, azure-openai, anthropic, mistral-ai, groq, vertex-ai, bedrock');
});

test('guardrails see every request: a batch they hold for goes to no provider in one file', async () => {
  const provider = startBatchProvider();
  await gateway.given.virtualKey({
    slug: 'guarded',
    name: 'guarded',
    custom_host: provider.url,
    configurations: { batches: 'native' },
  });
  const made = await gateway.api.post('/v1/guardrails', {
    name: 'No secrets',
    checks: [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }],
    actions: { deny: true },
  });
  expect(made.status).toBe(200);
  const { key } = await gateway.given.apiKey({ defaults: { input_guardrails: [made.json.slug] } });
  const client = openaiClient(gateway.url, key).withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'guarded' } });
  const begun = await beginBatch(client, [chatLine('one', 'this is forbidden')]);
  const batch = await ended(client, begun.id);
  expect(provider.seen).toEqual([]);
  const [denied] = await linesIn(client, batch.error_file_id);
  expect(denied).toMatchObject({ custom_id: 'one', response: { status_code: 446 } });
  provider.stop();
});
