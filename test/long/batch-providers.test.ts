import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  openai = openaiClient(gateway.url, key);
});
afterAll(() => gateway.stop());

const answer = (said: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const listen = (port: number, respond: (said: string) => Response | Promise<Response>) =>
  Bun.serve({
    port,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { messages } = (await request.json()) as { messages: { content: string }[] };
      return respond(messages[0]!.content);
    },
  });

/** A batch of so many requests through a provider, and what became of each of them. */
async function throughProvider(slug: string, port: number, lines: number) {
  await gateway.given.virtualKey({ slug, name: slug, custom_host: `http://127.0.0.1:${port}/v1` });
  const client = openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': slug } });
  const names = Array.from({ length: lines }, (_, at) => `n${at}`);
  const file = await uploadLines(
    client,
    names.map((name) => chatLine(name, name)),
  );
  const begun = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const batch = await ended(client, begun.id, 540_000);
  const output = await linesIn(client, batch.output_file_id);
  const errors = await linesIn(client, batch.error_file_id);
  // In the order of the input, each once.
  for (const list of [output, errors])
    expect(list.map((line) => line.custom_id)).toEqual(
      names.filter((name) => list.some((line) => line.custom_id === name)),
    );
  expect(new Set([...output, ...errors].map((line) => line.custom_id)).size).toBe(lines);
  expect(output.length + errors.length).toBe(lines);
  expect(batch.request_counts).toEqual({ total: lines, completed: output.length, failed: errors.length });
  for (const line of output) expect(line.response!.body.choices[0].message.content).toBe(line.custom_id);
  return { batch, output, errors };
}

test('a provider that answers 429 half of the time, and never says for how long, answers everything', async () => {
  let calls = 0;
  const server = listen(0, (said) =>
    ++calls % 2 === 0
      ? Response.json({ error: { message: 'slow down' } }, { status: 429 })
      : Response.json(answer(said)),
  );
  const { batch, errors } = await throughProvider('half', server.port!, 1_000);
  expect([batch.status, errors]).toEqual(['completed', []]);
  expect(calls).toBeGreaterThan(1_900);
  server.stop(true);
});

test('a provider that is dead for a minute, connections and all, costs the minute and nothing else', async () => {
  let calls = 0;
  let diedAt = 0;
  let isBack = false;
  const respond = (said: string): Response => {
    if (++calls === 200) {
      diedAt = performance.now();
      queueMicrotask(() => server.stop(true));
    }
    return Response.json(answer(said));
  };
  let server = listen(0, respond);
  const port = server.port!;
  const revival = setInterval(() => {
    if (isBack || diedAt === 0 || performance.now() - diedAt < 60_000) return;
    isBack = true;
    server = listen(port, respond);
  }, 100);
  const { batch, errors } = await throughProvider('dead', port, 1_000);
  clearInterval(revival);
  expect(isBack).toBe(true);
  expect([batch.status, errors]).toEqual(['completed', []]);
  server.stop(true);
});

test('a provider that sends malformed answers: what is mended counts, and what never is says what came', async () => {
  const tries = new Map<string, number>();
  const server = listen(0, async (said) => {
    const number = Number(said.slice(1));
    const count = (tries.get(said) ?? 0) + 1;
    tries.set(said, count);
    const good = JSON.stringify(answer(said));
    // Now and then half an answer, a page, or nothing at all; the next try is better.
    if (count === 1 && number % 3 === 0) return new Response(good.slice(0, 50));
    if (count === 1 && number % 3 === 1) return new Response('<html>Bad gateway</html>', { status: 502 });
    if (count === 1 && number % 7 === 0) return new Response('');
    // These two are never right.
    if (number === 11) return new Response('surprise, no JSON');
    if (number === 12) return new Response('<html>No</html>', { status: 403 });
    return new Response(good);
  });
  const { batch, errors } = await throughProvider('malformed', server.port!, 100);
  expect(batch.status).toBe('completed');
  expect(errors.map((line) => [line.custom_id, line.error?.code ?? line.response?.status_code])).toEqual([
    ['n11', 'invalid_response'],
    ['n12', 403],
  ]);
  expect(errors[0]!.error!.message).toContain('surprise, no JSON');
  expect(JSON.stringify(errors[1]!.response!.body)).toContain('<html>No</html>');
  // A refusal is believed at once; an answer that cannot be read is asked for again.
  expect([tries.get('n11')! >= 10, tries.get('n12')]).toEqual([true, 2]);
  server.stop(true);
});
