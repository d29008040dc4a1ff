import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { completion, type Respond, responding, throughProvider } from '../batch-provider.ts';
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

const LIMIT_MS = 540_000;

const listen = (port: number, respond: Respond) =>
  Bun.serve({ port, hostname: '127.0.0.1', fetch: responding(respond) });

const originAt = (port: number | undefined) => `http://127.0.0.1:${port}`;

test('a provider that answers 429 half of the time, and never says for how long, answers everything', async () => {
  let calls = 0;
  const server = listen(0, (said) =>
    ++calls % 2 === 0
      ? Response.json({ error: { message: 'slow down' } }, { status: 429 })
      : Response.json(completion(said)),
  );
  const { batch, errors } = await throughProvider({
    gateway,
    openai,
    origin: originAt(server.port),
    slug: 'half',
    lines: 1_000,
    limitMs: LIMIT_MS,
  });
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
    return Response.json(completion(said));
  };
  let server = listen(0, respond);
  const port = server.port!;
  const revival = setInterval(() => {
    if (isBack || diedAt === 0 || performance.now() - diedAt < 60_000) return;
    isBack = true;
    server = listen(port, respond);
  }, 100);
  const { batch, errors } = await throughProvider({
    gateway,
    openai,
    origin: originAt(port),
    slug: 'dead',
    lines: 1_000,
    limitMs: LIMIT_MS,
  });
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
    const good = JSON.stringify(completion(said));
    // Now and then half an answer, a page, or nothing at all; the next try is better.
    if (count === 1 && number % 3 === 0) return new Response(good.slice(0, 50));
    if (count === 1 && number % 3 === 1) return new Response('<html>Bad gateway</html>', { status: 502 });
    if (count === 1 && number % 7 === 0) return new Response('');
    // These two are never right.
    if (number === 11) return new Response('surprise, no JSON');
    if (number === 12) return new Response('<html>No</html>', { status: 403 });
    return new Response(good);
  });
  const { batch, errors } = await throughProvider({
    gateway,
    openai,
    origin: originAt(server.port),
    slug: 'malformed',
    lines: 100,
    limitMs: LIMIT_MS,
  });
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
