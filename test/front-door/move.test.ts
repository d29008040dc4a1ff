import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { useEverything } from '../belongings.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { moveWithKills } from '../moving-store.ts';
import { createDatabase, createEmptyDatabase } from '../postgres.ts';
import { eventually, newDataDir, removeDataDir, runGateway } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

const homes: string[] = [];
const newHome = () => {
  const home = newDataDir();
  homes.push(home);
  return home;
};
afterAll(() => homes.forEach(removeDataDir));

const move = (home: string, databaseUrl: string, ...rest: string[]) =>
  runGateway({ dataDir: home, arguments: ['move', '--to', databaseUrl, ...rest] });
const ENCRYPTION_KEY = Buffer.alloc(32, 1).toString('base64');

/** Files get vectors, which move, too. */
const VECTORS = {
  GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sim',
  GATEWAY_EMBEDDINGS_MODEL: 'text-embedding-3-small',
  GATEWAY_EMBEDDINGS_DIMENSIONS: '64',
};

/** A gateway on the embedded store of a home that outlives it. */
const embeddedIn = (home: string) => startGateway({ dataDir: join(home, 'data'), environment: VECTORS });

let home: string;
let old: TestGateway;
let used: Awaited<ReturnType<typeof useEverything>>;
let key: string;
let budgeted: { id: string; key: string };

beforeAll(async () => {
  home = newHome();
  await Bun.$`mkdir -p ${join(home, 'data')}`.quiet();
  old = await embeddedIn(home);
  await old.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
  key = (await old.given.apiKey({ defaults: { virtual_key: 'sim' } })).key;
  const usage_limits = { type: 'tokens', credit_limit: 1_000_000 };
  budgeted = await old.given.apiKey({ defaults: { virtual_key: 'sim' }, usage_limits });
  used = await useEverything(old, key, 'The heron waits in the reeds.');
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
  const reply = await old.api.post('/v1/chat/completions', body, { key: budgeted.key });
  expect(reply.status).toBe(200);
  await old.logOf(reply);
  await eventually('what was used is counted', async () => (await usageOf(old)) > 0);
});

const usageOf = async ({ api }: TestGateway) =>
  (await api.get(`/v1/api-keys/${budgeted.id}`)).json.usage[0].current_usage as number;

/** What a person would look at, apart from moments that pass. */
async function seen({ url, api }: TestGateway) {
  const openai = openaiClient(url, key);
  const { thread, run, file, store, batch, job, logId } = used;
  const times = `time_of_generation_min=0&time_of_generation_max=${Date.now()}`;
  const { data: keys } = (await api.get('/v1/api-keys?page_size=100')).json;
  return {
    messages: (await openai.beta.threads.messages.list(thread.id)).data,
    steps: (await openai.beta.threads.runs.steps.list(run.id, { thread_id: thread.id })).data,
    file: await (await openai.files.content(file.id)).text(),
    found: (await openai.vectorStores.search(store.id, { query: 'heron' })).data.map(({ content, ...more }) => ({
      content,
      locator: (more as { locator?: unknown }).locator,
    })),
    batch: await openai.batches.retrieve(batch.id),
    lines: await (await openai.files.content((await openai.batches.retrieve(batch.id)).output_file_id!)).text(),
    job: await openai.fineTuning.jobs.retrieve(job.id),
    // Reading is logged, too, and a key says when it was used last.
    keys: keys.map(({ last_used_at: _, ...rest }: Record<string, unknown>) => rest),
    entry: (await api.get(`/v1/logs/${logId}`)).json,
    models: (await api.get(`/v1/analytics/groups/ai-models?${times}&filter=provider:openai`)).json,
    usage: await usageOf({ api } as TestGateway),
  };
}

test('everything is there after the move, and goes on', async () => {
  const before = await seen(old);
  await old.stop();
  const databaseUrl = await createEmptyDatabase();

  const moved = await move(home, databaseUrl);
  expect([moved.exitCode, moved.errors]).toEqual([0, expect.stringContaining('100 %')]);
  expect(moved.output).toMatch(/^Moved \d+ rows of \d+ tables and \d+ files to /);

  const dataDir = join(home, 'data');
  const now = await startGateway({ engine: 'postgres', databaseUrl, dataDir, environment: VECTORS });
  try {
    expect(await seen(now)).toEqual(before);
    const elsewhere = { custom_host: now.provider.url, key: 'sk-test-credential' };
    expect((await now.api.put('/v1/virtual-keys/sim', elsewhere)).status).toBe(200);
    const openai = openaiClient(now.url, key);
    await openai.beta.threads.messages.create(used.thread.id, { role: 'user', content: 'Go on.' });
    const run = await openai.beta.threads.runs.createAndPoll(used.thread.id, {
      assistant_id: (await openai.beta.assistants.list()).data[0]!.id,
    });
    expect([run.status, run.last_error]).toEqual(['completed', null]);
    const environment = { DATABASE_URL: databaseUrl, GATEWAY_ENCRYPTION_KEY: ENCRYPTION_KEY };
    const verified = await runGateway({ dataDir: home, arguments: ['audit', 'verify'], environment });
    expect([verified.exitCode, verified.errors]).toEqual([0, '']);
  } finally {
    await now.stop();
  }
  const again = await runGateway({ dataDir: home });
  expect([again.exitCode, again.errors]).toEqual([1, expect.stringContaining('Set DATABASE_URL to that database')]);
});

test('a move that is killed wherever it is goes on, and nothing starts on the new database meanwhile', async () => {
  const { kills } = await moveWithKills({ rows: 40, firstLifeMs: 300, longerMs: 700 });
  expect(kills).toBeGreaterThan(0);
});

test('a database that holds something, a gateway that runs, and wrong words are refused before anything is written', async () => {
  const place = newHome();
  await Bun.$`mkdir -p ${join(place, 'data')}`.quiet();
  const running = await embeddedIn(place);
  const empty = await createEmptyDatabase();
  const busy = await move(place, empty);
  expect([busy.exitCode, busy.errors]).toEqual([1, expect.stringContaining('Another gateway process is using')]);
  await running.stop();
  const occupied = await createDatabase();
  const other = await startGateway({ engine: 'postgres', databaseUrl: occupied });
  await other.stop();
  const refused = await move(place, occupied);
  expect([refused.exitCode, refused.errors]).toEqual([
    1,
    expect.stringMatching(/The database is not empty: \w+ has rows/),
  ]);
  for (const [rest, said] of [
    [['--to', 'mysql://x'], 'must begin with postgres://'],
    [['--to', 'postgres://['], 'must begin with postgres://'],
    [['--too'], "Unknown option '--too'"],
    [[], 'Give the database with --to or with --to-file'],
  ] as const) {
    const wrong = await runGateway({ dataDir: place, arguments: ['move', ...rest] });
    expect([wrong.exitCode, wrong.errors]).toEqual([2, expect.stringContaining(said)]);
  }
  await (await embeddedIn(place)).stop();
});
