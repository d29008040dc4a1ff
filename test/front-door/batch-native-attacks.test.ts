import { afterAll, beforeAll, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
const running: { stop(): unknown }[] = [];
beforeAll(async () => {
  gateway = await startGateway({ engine: 'postgres' });
});
afterAll(async () => {
  await gateway.stop();
  for (const each of running) each.stop();
});

interface Answers {
  /** The answer to the creation of a job; the usual one when left out. */
  create?(): Response | Promise<Response>;
  /** What a job that has been asked about `polls` times looks like beside its id. */
  job?(polls: number): Record<string, unknown>;
  /** The lines of the output file. */
  output?(): string;
}

/** A provider with OpenAI's batch API that behaves as told, and remembers what was asked of it. */
function startBadProvider({ create, job = () => ({ status: 'in_progress' }), output = () => '' }: Answers) {
  const seen: string[] = [];
  let made = 0;
  const polls = new Map<string, number>();
  const cancelled = new Set<string>();
  const shown = (id: string) => ({ id, object: 'batch', ...job(polls.get(id) ?? 0) });
  const { origin, stop } = serve(async (request) => {
    const { pathname } = new URL(request.url);
    seen.push(`${request.method} ${pathname}`);
    await request.arrayBuffer();
    if (request.method === 'DELETE') return Response.json({ deleted: true });
    if (pathname === '/v1/files') return Response.json({ id: `file-theirs${made}`, object: 'file' });
    if (pathname.startsWith('/v1/files/')) return new Response(output());
    if (pathname === '/v1/batches' && request.method === 'GET') return Response.json({ object: 'list', data: [] });
    if (pathname === '/v1/batches') return create ? create() : Response.json(shown(`batch_theirs${made++}`));
    const id = pathname.split('/')[3]!;
    if (pathname.endsWith('/cancel')) cancelled.add(id);
    else polls.set(id, (polls.get(id) ?? 0) + 1);
    return Response.json(cancelled.has(id) ? { id, status: 'cancelled' } : shown(id));
  });
  running.push({ stop });
  return { url: `${origin}/v1`, seen, cancelled, count: (call: string) => seen.filter((each) => each === call).length };
}

let slugs = 0;
async function clientFor(customHost: string, more: Record<string, unknown> = {}) {
  const slug = `native-${++slugs}`;
  await gateway.given.virtualKey({
    ...{ slug, name: slug, custom_host: customHost, configurations: { batches: 'native' } },
    ...more,
  });
  const { id, key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
  return { openai: openaiClient(gateway.url, key), slug, keyId: id };
}

const begin = async (openai: OpenAI, lines: string[]) => {
  const file = await uploadLines(openai, lines);
  return openai.batches.create({ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' });
};

const answer = (name: string, usage: unknown = { prompt_tokens: 1_000_000, completion_tokens: 0 }) =>
  JSON.stringify({
    id: 'theirs',
    custom_id: name,
    response: { status_code: 200, request_id: 'r', body: { model: 'gpt-4o-mini', choices: [], usage } },
    error: null,
  });

test('a provider that fails to create a job is asked ever more rarely, and a cancellation ends the batch', async () => {
  const provider = startBadProvider({ create: () => new Response('busy', { status: 503 }) });
  const { openai } = await clientFor(provider.url);
  const { id } = await begin(openai, [chatLine('a')]);
  await eventually('it was tried', () => provider.count('POST /v1/batches') >= 2);
  await Bun.sleep(4_000);
  expect(provider.count('POST /v1/batches')).toBeLessThan(6);
  expect((await openai.batches.cancel(id)).status).toBe('cancelling');
  const batch = await ended(openai, id);
  expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 1, completed: 0, failed: 1 } });
  await eventually('its file is gone', () => provider.count('DELETE /v1/files/file-theirs0') === 1);
});

test('results that lie count once, for requests that were made, and never below zero', async () => {
  const provider = startBadProvider({
    job: () => ({ status: 'completed', output_file_id: 'file-out', error_file_id: 'file-missing' }),
    output: () =>
      [
        answer('r0'),
        answer('r0'),
        answer('r9'),
        answer('somebody'),
        '{"custom_id":5}',
        answer('r1', { prompt_tokens: -9_000_000, completion_tokens: -1 }),
        answer('r0'),
        '[1]',
        'null',
      ].join('\r\n'),
  });
  const { openai, slug } = await clientFor(provider.url, { usage_limits: { type: 'cost', credit_limit: 10 } });
  const batch = await ended(
    openai,
    (
      await begin(
        openai,
        ['a', 'b', 'c'].map((name) => chatLine(name)),
      )
    ).id,
  );
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
  expect((await linesIn(openai, batch.output_file_id)).map((line) => line.custom_id)).toEqual(['a', 'b']);
  expect(await linesIn(openai, batch.error_file_id)).toMatchObject([
    { custom_id: 'c', response: null, error: { code: 'server_error' } },
  ]);
  // One answer of a million tokens, at half of the list price; the one that lies counts at its share of the estimate.
  const { json } = await gateway.api.get(`/v1/virtual-keys/${slug}`);
  expect(json.usage[0].current_usage).toBeGreaterThan(0.079);
  expect(json.usage[0].current_usage).toBeLessThan(0.081);
});

test('a line that is never readable costs its own request, and not the batch', async () => {
  const nested = `{"custom_id":"r1","response":${'['.repeat(300_000)}${']'.repeat(300_000)}}`;
  const provider = startBadProvider({
    job: () => ({ status: 'completed', output_file_id: 'file-out' }),
    output: () => [answer('r0'), nested, answer('r2'), answer('r3').slice(0, 40)].join('\n'),
  });
  const { openai } = await clientFor(provider.url);
  const begun = await begin(
    openai,
    ['a', 'b', 'c', 'd'].map((name) => chatLine(name)),
  );
  const batch = await ended(openai, begun.id);
  expect(batch.status).toBe('completed');
  const answered = (await linesIn(openai, batch.output_file_id)).map((line) => line.custom_id);
  expect(answered).toContain('a');
  expect(answered).toContain('c');
  const failed = (await linesIn(openai, batch.error_file_id)).map((line) => line.custom_id);
  expect([...answered, ...failed].sort()).toEqual(['a', 'b', 'c', 'd']);
});

test("a job that failed says why, without the provider's names, and leaves no lines behind", async () => {
  const data = [{ code: 'bad', message: 'file-theirs0 of batch_theirs0 has no requests', line: 1, param: null }];
  const provider = startBadProvider({
    job: (polls) => (polls ? { status: 'failed', errors: { data } } : { status: 'validating' }),
  });
  const { openai } = await clientFor(provider.url);
  const batch = await ended(openai, (await begin(openai, [chatLine('a')])).id);
  expect(batch.status).toBe('failed');
  expect(batch.errors!.data).toMatchObject([
    { code: 'bad', line: 1, message: `${batch.input_file_id} of ${batch.id} has no requests` },
  ]);
  const left = async () => {
    const { openPostgres } = await import('../../src/storage/store.ts');
    const store = await openPostgres(gateway.databaseUrl!);
    const rows = await store.db.selectFrom('batch_lines').select('number').where('batch_id', '=', batch.id).execute();
    await store.close();
    return rows.length;
  };
  await eventually('its lines are forgotten', async () => (await left()) === 0);
});

test('what the provider has comes home, though the key that made the batch is gone', async () => {
  const provider = startBadProvider({
    job: (polls) => (polls < 2 ? { status: 'in_progress' } : { status: 'completed', output_file_id: 'file-out' }),
    output: () => answer('r0'),
  });
  const { openai, keyId, slug } = await clientFor(provider.url, { usage_limits: { type: 'cost', credit_limit: 10 } });
  const { id } = await begin(openai, [chatLine('a')]);
  await eventually('the job is there', () => provider.count('GET /v1/batches/batch_theirs0') > 0);
  expect((await gateway.api.delete(`/v1/api-keys/${keyId}`)).status).toBe(200);
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
  const other = openaiClient(gateway.url, key);
  const batch = await ended(other, id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 1, failed: 0 } });
  const { json } = await gateway.api.get(`/v1/virtual-keys/${slug}`);
  expect(json.usage).toMatchObject([{ type: 'cost', current_usage: 0.075 }]);
});

test('a cancellation at any moment leaves neither a running job nor a file at the provider', async () => {
  const provider = startBadProvider({});
  const { openai } = await clientFor(provider.url);
  const batches = await Promise.all(
    Array.from({ length: 12 }, async (_, number) => {
      const { id } = await begin(openai, [chatLine('a')]);
      await Bun.sleep(number * 3);
      expect((await openai.batches.cancel(id)).status).toMatch(/^cancell/);
      return ended(openai, id);
    }),
  );
  expect(batches.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 'cancelled'));
  const made = provider.count('POST /v1/batches');
  expect(provider.cancelled.size).toBe(made);
  const uploaded = provider.count('POST /v1/files');
  const removed = () => provider.seen.filter((each) => each.startsWith('DELETE /v1/files/')).length;
  await eventually('every file is gone', () => removed() === uploaded);
});

test('a provider that cannot be asked for its jobs is asked twice for one, and not again and again', async () => {
  const trial = async (answered: () => Response) => {
    let asked = 0;
    const { origin, stop } = serve(async (request) => {
      await request.arrayBuffer();
      asked++;
      return answered();
    });
    running.push({ stop });
    const { openai } = await clientFor(`${origin}/v1`, { provider: 'anthropic' });
    const batch = await ended(openai, (await begin(openai, [chatLine('a', 'Hi', { max_tokens: 5 })])).id);
    expect([batch.status, asked]).toEqual(['failed', 2]);
    expect(batch.errors!.data).toMatchObject([{ code: 'provider_error' }]);
  };
  await Promise.all([trial(() => new Response('<html>all is well</html>')), trial(() => Response.json({ id: 5 }))]);
});
