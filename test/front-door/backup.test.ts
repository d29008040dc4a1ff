import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
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

const LIVING = `select segment.blob from file_segments as segment join files as file on file.id = segment.file_id
  where file.deleted_at is null
  union all select part.id from upload_parts as part join uploads as upload on upload.id = part.upload_id
  where upload.status = 'pending'`;

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

test('a backup names no file and no part that went while it was made', async () => {
  const openai = openaiClient(gateway.url, key);
  const create = async () =>
    openai.files.create({ file: await toFile(Buffer.from('a'), 'a.txt'), purpose: 'user_data' });
  // Many that stay: to take them takes time, in which others come and go.
  await Promise.all(Array.from({ length: 300 }, create));
  let isOver = false;
  const comeAndGo = async () => {
    while (!isOver) {
      const { id } = await create();
      await Bun.sleep(10);
      await openai.files.delete(id);
    }
  };
  const beginAndCancel = async () => {
    while (!isOver) {
      const { id } = await openai.uploads.create({
        bytes: 2,
        filename: 'a.txt',
        mime_type: 'text/plain',
        purpose: 'user_data',
      });
      await openai.uploads.parts.create(id, { data: await toFile(Buffer.from('a'), 'a') });
      await Bun.sleep(10);
      await openai.uploads.cancel(id);
    }
  };
  const lanes = Array.from({ length: 4 }, () => [comeAndGo(), beginAndCancel()]).flat();
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    const folder = join(place, name);
    expect(await command(home, 'backup', folder, '--without-log')).toMatchObject({ exitCode: 0 });
    const bytes = new Set(
      readdirSync(join(folder, 'blobs'), { recursive: true }).map((path) => basename(String(path))),
    );
    const state = new Database(join(folder, 'state.db'), { readonly: true });
    const named = state.query<{ blob: string }, []>(LIVING).all();
    state.close();
    expect(named.map(({ blob }) => blob).filter((blob) => !bytes.has(blob))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  }
  isOver = true;
  await Promise.all(lanes);
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

/** As someone would who can write to the place of a backup: with lengths and digests that fit. */
function forgeManifest(folder: string) {
  const file = join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  for (const path of Object.keys(manifest.files)) {
    const bytes = readFileSync(join(folder, path));
    manifest.files[path] = { bytes: bytes.length, sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex') };
  }
  writeFileSync(file, JSON.stringify(manifest));
}

test('a sealed backup shows nothing, opens with its key alone, and nobody can change it unnoticed', async () => {
  const keyFile = join(place, 'sealing-key');
  const otherKey = join(place, 'other-key');
  for (const file of [keyFile, otherKey]) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`);
  const folder = join(place, 'sealed');
  // A backup that was killed has left its copies.
  mkdirSync(join(home, 'data', '.backup-999999999'));
  const made = await command(home, 'backup', folder, '--key-file', keyFile);
  expect([made.exitCode, made.output]).toEqual([0, expect.stringContaining('It is sealed')]);
  expect(readdirSync(join(home, 'data')).filter((name) => name.startsWith('.backup'))).toEqual([]);
  const files = Object.keys(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).files);
  for (const path of files) {
    const bytes = readFileSync(join(folder, path));
    for (const shown of ['SQLite format', 'heron', 'The heron waits']) expect(bytes.includes(shown)).toBe(false);
  }

  const elsewhere = newDataDir();
  const refused = async (said: string, from: string, ...rest: string[]) => {
    const { exitCode, errors } = await command(elsewhere, 'restore', from, ...rest);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(said)]);
    expect(readdirSync(elsewhere)).toEqual([]);
  };
  await refused('The backup is sealed', folder);
  await refused('The key does not open', folder, '--key-file', otherKey);
  await refused('must hold 32 bytes in base64', folder, '--key-file', join(folder, 'manifest.json'));
  const forged = join(place, 'forged');
  const forge = (change: (at: string) => void) => {
    rmSync(forged, { recursive: true, force: true });
    cpSync(folder, forged, { recursive: true });
    change(forged);
    forgeManifest(forged);
  };
  forge((at) => {
    const bytes = readFileSync(join(at, 'state.db'));
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(join(at, 'state.db'), bytes);
  });
  await refused('The key does not open state.db', forged, '--key-file', keyFile);
  forge((at) => writeFileSync(join(at, 'state.db'), readFileSync(join(at, 'state.db')).subarray(0, 24 + 65_552)));
  await refused('The key does not open state.db', forged, '--key-file', keyFile);
  forge((at) => {
    renameSync(join(at, 'search.db'), join(at, 'aside'));
    renameSync(join(at, 'state.db'), join(at, 'search.db'));
    renameSync(join(at, 'aside'), join(at, 'state.db'));
  });
  await refused('The key does not open', forged, '--key-file', keyFile);

  expect(await command(elsewhere, 'restore', folder, '--check', '--key-file', keyFile)).toMatchObject({ exitCode: 0 });
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(await command(elsewhere, 'restore', folder, '--key-file', keyFile)).toMatchObject({ exitCode: 0 });
  const again = await startGateway({ dataDir: join(elsewhere, 'data') });
  const client = openaiClient(again.url, key);
  expect(await (await client.files.content(used.file.id)).text()).toBe('The heron waits in the reeds.');
  expect((await client.beta.threads.messages.list(used.thread.id)).data).toHaveLength(2);
  await again.stop();
  removeDataDir(elsewhere);
});
