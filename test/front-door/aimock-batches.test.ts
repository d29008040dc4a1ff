import { afterAll, beforeAll, expect, test } from 'bun:test';
import { LLMock } from '@copilotkit/aimock';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

/** The official client before the gateway, and behind it a provider that others have written. */
let mock: LLMock;
let gateway: TestGateway;
const clients: Record<'native' | 'managed', OpenAI> = {} as never;

beforeAll(async () => {
  mock = await LLMock.create({ port: 0, host: '127.0.0.1' });
  mock.onMessage(/.*/, { content: 'An answer that is not ours.' });
  gateway = await startGateway();
  for (const batches of ['native', 'managed'] as const) {
    const custom_host = `${new URL(mock.url).origin}/v1`;
    await gateway.given.virtualKey({ slug: batches, name: batches, custom_host, configurations: { batches } });
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: batches } });
    clients[batches] = openaiClient(gateway.url, key);
  }
});
afterAll(async () => {
  await gateway.stop();
  await mock.stop();
});

const begin = async (client: OpenAI, lines: string[]) => {
  const file = await uploadLines(client, lines);
  return client.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
};

for (const [mode, said] of [
  ['native', 'Mock batch completion'],
  ['managed', 'An answer that is not ours.'],
] as const)
  test(`files, batch, polling, output: ${mode}`, async () => {
    const client = clients[mode];
    const begun = await begin(client, [chatLine('one'), chatLine('two'), chatLine('three')]);
    const batch = await ended(client, begun.id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 3, failed: 0 } });
    const output = await linesIn(client, batch.output_file_id);
    expect(output.map((line) => [line.custom_id, line.response!.body.choices[0].message.content])).toEqual([
      ['one', said],
      ['two', said],
      ['three', said],
    ]);
  });

test('a batch is cancelled there, and batches are listed page by page', async () => {
  const client = clients.native;
  const begun = await begin(client, [chatLine('one')]);
  await eventually('it runs', async () => (await client.batches.retrieve(begun.id)).status === 'in_progress');
  expect((await client.batches.cancel(begun.id)).status).toBe('cancelling');
  const batch = await ended(client, begun.id);
  // It may have been done before it heard of it.
  expect(['cancelled', 'completed']).toContain(batch.status);
  expect(batch.cancelling_at).not.toBeNull();
  const all: string[] = [];
  for await (const { id } of client.batches.list({ limit: 1 })) all.push(id);
  expect(all[0]).toBe(begun.id);
  expect(all).toEqual([...new Set(all)]);
  expect(all.length).toBeGreaterThanOrEqual(2);
});

test('a fine-tuning job is created, tells its events, is cancelled, and jobs are listed page by page', async () => {
  const client = clients.native;
  const example = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n';
  const file = await client.files.create({
    file: await toFile(Buffer.from(example.repeat(10)), 'a.jsonl'),
    purpose: 'fine-tune',
  });
  const job = await client.fineTuning.jobs.create({ model: 'gpt-4o-mini', training_file: file.id });
  expect(job.status).toBe('validating_files');
  await eventually('it succeeds', async () => (await client.fineTuning.jobs.retrieve(job.id)).status === 'succeeded');
  const events = await client.fineTuning.jobs.listEvents(job.id, { limit: 50 });
  expect(events.data.at(-1)!.message).toBe(`Created fine-tuning job: ${job.id}`);
  const second = await client.fineTuning.jobs.create({ model: 'gpt-4o-mini', training_file: file.id });
  expect((await client.fineTuning.jobs.cancel(second.id)).status).toBe('cancelled');
  const listed: string[] = [];
  for await (const { id } of client.fineTuning.jobs.list({ limit: 1 })) listed.push(id);
  expect(listed).toEqual([second.id, job.id]);
});
