import { afterAll, beforeAll, expect, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFile } from 'openai';
import { useEverything } from '../belongings.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { newDataDir, removeDataDir, runGateway } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
let home: string;
let place: string;
let key: string;
let used: Awaited<ReturnType<typeof useEverything>>;

const command = (where: string, ...rest: string[]) => runGateway({ dataDir: where, arguments: rest });

beforeAll(async () => {
  home = newDataDir();
  place = newDataDir();
  mkdirSync(join(home, 'data'));
  gateway = await startGateway({ dataDir: join(home, 'data') });
  await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
  key = (await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } })).key;
  used = await useEverything(gateway, key, 'The heron waits in the reeds.');
});
afterAll(async () => {
  await gateway.stop();
  for (const folder of [home, place]) removeDataDir(folder);
});

test('a backup that is made while files come and go is whole, and everything goes on from it', async () => {
  const openai = openaiClient(gateway.url, key);
  let isOver = false;
  const coming = (async () => {
    for (let number = 0; !isOver; number++) {
      const { id } = await openai.files.create({
        file: await toFile(Buffer.from(`${number}`), 'a.txt'),
        purpose: 'user_data',
      });
      await openai.chat.completions.create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });
      if (number % 2 === 1) await openai.files.delete(id);
    }
  })();
  const folder = join(place, 'monday');
  const made = await command(home, 'backup', folder);
  isOver = true;
  await coming;
  expect([made.exitCode, made.errors, made.output]).toEqual([
    0,
    expect.stringContaining('100 %'),
    expect.stringMatching(/^Wrote \d+ files, [\d.]+ MB, to /),
  ]);
  expect(readdirSync(place)).toEqual(['monday']);

  const elsewhere = newDataDir();
  try {
    expect(await command(elsewhere, 'restore', folder, '--check')).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(elsewhere, 'data'))).toBe(false);
    const restored = await command(elsewhere, 'restore', folder);
    expect([restored.exitCode, restored.output]).toEqual([0, expect.stringContaining('Start the gateway.')]);
    const again = await startGateway({ dataDir: join(elsewhere, 'data') });
    const client = openaiClient(again.url, key);
    expect(await (await client.files.content(used.file.id)).text()).toBe('The heron waits in the reeds.');
    expect((await client.beta.threads.messages.list(used.thread.id)).data).toHaveLength(2);
    expect((await client.vectorStores.search(used.store.id, { query: 'heron' })).data).toHaveLength(1);
    expect((await again.api.get(`/v1/logs/${used.logId}`)).status).toBe(200);
    // Whatever the database names has its bytes.
    for await (const file of client.files.list()) expect((await client.files.content(file.id)).status).toBe(200);
    await again.stop();
    const verified = await runGateway({
      dataDir: elsewhere,
      arguments: ['audit', 'verify'],
      environment: { GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') },
    });
    expect([verified.exitCode, verified.errors]).toEqual([0, '']);
  } finally {
    removeDataDir(elsewhere);
  }
});

test('what is no whole backup is refused, and so is a place that holds something; nothing is changed', async () => {
  const folder = join(place, 'tuesday');
  expect(await command(home, 'backup', folder, '--without-log')).toMatchObject({ exitCode: 0 });
  expect(readdirSync(folder)).not.toContain('logs.db');
  const elsewhere = newDataDir();
  const says = async (said: string, ...rest: string[]) => {
    const { exitCode, errors } = await command(elsewhere, ...rest);
    expect([rest[0], exitCode, errors]).toEqual([rest[0], 1, expect.stringContaining(said)]);
  };
  await says('There is no embedded store', 'backup', join(place, 'wednesday'));
  const twice = await command(home, 'backup', folder);
  expect([twice.exitCode, twice.errors]).toEqual([1, expect.stringContaining('is there already')]);
  const full = await command(home, 'restore', folder);
  expect([full.exitCode, full.errors]).toEqual([1, expect.stringContaining('is not empty')]);
  appendFileSync(join(folder, 'state.db'), 'x');
  await says('The backup is damaged: state.db was changed', 'restore', folder);
  rmSync(join(folder, 'state.db'));
  await says('The backup is damaged: state.db is missing', 'restore', folder);
  writeFileSync(
    join(folder, 'manifest.json'),
    JSON.stringify({ format: 1, version: '1', made_at: '', files: { '../x': {} } }),
  );
  await says('is damaged', 'restore', folder);
  rmSync(join(folder, 'manifest.json'));
  await says('it is no backup, or one that did not come to its end', 'restore', folder);
  expect(existsSync(join(elsewhere, 'data'))).toBe(false);
  const onServer = await runGateway({
    arguments: ['backup', join(place, 'thursday')],
    environment: {
      DATABASE_URL: 'postgres://127.0.0.1:9/x',
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    },
  });
  expect([onServer.exitCode, onServer.errors]).toEqual([1, expect.stringContaining('pg_dump')]);
  removeDataDir(elsewhere);
});
