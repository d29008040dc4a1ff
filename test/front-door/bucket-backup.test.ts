import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../gateway.ts';
import { newDataDir, removeDataDir, runGateway } from '../process.ts';
import { startS3, type TestS3 } from '../s3.ts';

const SEALING_KEY = Buffer.alloc(32, 7).toString('base64');
const WRITTEN = 'The heron waits in the reeds.';

let gateway: TestGateway;
let home: string;
let fileId: string;
let s3: TestS3;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  home = newDataDir();
  mkdirSync(join(home, 'data'));
  gateway = await startGateway({ dataDir: join(home, 'data') });
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new File([WRITTEN], 'heron.txt'));
  fileId = (await gateway.api.post('/v1/files', form)).json.id;
});
afterAll(async () => {
  await gateway.stop();
  removeDataDir(home);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function newBucket() {
  s3 = startS3();
  cleanups.push(() => s3.stop());
  return {
    TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
    GATEWAY_BACKUP_URL: addressOf(''),
    GATEWAY_BACKUP_ACCESS_KEY_ID: s3.accessKeyId,
    GATEWAY_BACKUP_SECRET_ACCESS_KEY: s3.secretAccessKey,
    GATEWAY_BACKUP_KEY: SEALING_KEY,
  };
}

const addressOf = (name: string) =>
  `s3://${s3.bucket}/backups${name && `/${name}`}?endpoint=${s3.origin}&region=${s3.region}`;
const command = (where: string, environment: Record<string, string>, ...rest: string[]) =>
  runGateway({ dataDir: where, environment, arguments: rest });
const namesIn = (has: string) =>
  [...s3.objects.keys()].filter((key) => key.endsWith(has)).map((key) => key.split('/')[1]!);
const whole = () => namesIn('/manifest.json').sort();
const staged = () => readdirSync(join(home, 'data')).filter((name) => name.startsWith('.backup'));

test('a backup in a bucket is sealed, and a gateway starts on what is restored from it', async () => {
  const environment = newBucket();
  const made = await command(home, environment, 'backup');
  expect([made.exitCode, made.output]).toEqual([0, expect.stringContaining(`to s3://${s3.bucket}/backups/`)]);
  const [name] = whole();
  expect(name).toMatch(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/);
  expect([...s3.objects.keys()].at(-1)).toBe(`backups/${name}/manifest.json`);
  for (const { bytes } of s3.objects.values())
    for (const shown of ['SQLite format', WRITTEN]) expect(Buffer.from(bytes).includes(shown)).toBe(false);
  expect(staged()).toEqual([]);

  const elsewhere = newDataDir();
  cleanups.push(() => removeDataDir(elsewhere));
  const restore = (more: Record<string, string>, at: string) =>
    command(elsewhere, { ...environment, ...more }, 'restore', addressOf(at));
  const unnamed = await restore({}, '');
  expect([unnamed.exitCode, unnamed.errors]).toEqual([1, expect.stringContaining(`Add one of: ${name}`)]);
  const wrong = await restore({ GATEWAY_BACKUP_KEY: Buffer.alloc(32, 8).toString('base64') }, name!);
  expect([wrong.exitCode, wrong.errors]).toEqual([1, expect.stringContaining('The key does not open')]);
  expect(readdirSync(elsewhere)).toEqual([]);

  const restored = await restore({}, name!);
  expect([restored.exitCode, restored.output]).toEqual([0, expect.stringContaining('Start the gateway.')]);
  expect(readdirSync(elsewhere)).toEqual(['data']);
  const again = await startGateway({ dataDir: join(elsewhere, 'data') });
  cleanups.push(() => again.stop());
  expect((await again.api.get(`/v1/files/${fileId}/content`)).text).toBe(WRITTEN);
});

test('what holds the keys is not sent unsealed, and what is not sealed is not taken for a sealed one', async () => {
  const { GATEWAY_BACKUP_KEY: key, GATEWAY_BACKUP_URL: url, ...environment } = newBucket();
  const refused = await command(home, environment, 'backup', url);
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('--without-keys')]);
  expect(s3.requests).toEqual([]);
  const made = await command(home, environment, 'backup', url, '--without-keys');
  expect(made).toMatchObject({ exitCode: 0 });
  expect(namesIn('/encryption-key')).toEqual([]);

  const elsewhere = newDataDir();
  cleanups.push(() => removeDataDir(elsewhere));
  const sealed = { ...environment, GATEWAY_BACKUP_KEY: key };
  const mistaken = await command(elsewhere, sealed, 'restore', addressOf(whole()[0]!));
  expect([mistaken.exitCode, mistaken.errors]).toEqual([1, expect.stringContaining('The backup is not sealed')]);
  const checked = await command(elsewhere, environment, 'restore', addressOf(whole()[0]!), '--check');
  expect([checked.exitCode, checked.output]).toEqual([0, expect.stringContaining('is whole')]);
  expect(existsSync(join(elsewhere, 'data'))).toBe(false);

  const { GATEWAY_BACKUP_ACCESS_KEY_ID: _, GATEWAY_BACKUP_SECRET_ACCESS_KEY: __, ...keyless } = sealed;
  const nameless = await command(home, keyless, 'backup', url);
  expect([nameless.exitCode, nameless.errors]).toEqual([
    1,
    expect.stringContaining('GATEWAY_BACKUP_ACCESS_KEY_ID and GATEWAY_BACKUP_SECRET_ACCESS_KEY are missing'),
  ]);
  const strange = await command(home, sealed, 'backup', 's3://UP/x?zone=1');
  expect([strange.exitCode, strange.errors]).toEqual([1, expect.stringContaining('give one such as s3://')]);
});

test('an upload that ends in the middle is no backup, and the next one is', async () => {
  const environment = newBucket();
  // The third object and all attempts at it: what was sent before stays.
  s3.faults.push(
    (done) => done,
    (done) => done,
    403,
    403,
    403,
    403,
  );
  const broken = await command(home, environment, 'backup');
  expect([broken.exitCode, broken.errors]).toEqual([1, expect.stringContaining('The bucket cannot be used')]);
  expect(s3.objects.size).toBeGreaterThan(0);
  expect([whole(), staged()]).toEqual([[], []]);
  s3.faults.length = 0;
  const [name] = [...s3.objects.keys()].map((key) => key.split('/')[1]!);
  const elsewhere = newDataDir();
  cleanups.push(() => removeDataDir(elsewhere));
  const refused = await command(elsewhere, environment, 'restore', addressOf(name!));
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('it is no backup')]);

  // A backup that was killed has left its copies.
  mkdirSync(join(home, 'data', '.backup-999999999'));
  expect(await command(home, environment, 'backup')).toMatchObject({ exitCode: 0 });
  expect([whole().length, staged()]).toEqual([1, []]);
});

test('so many stay as are wanted, and nothing else in the bucket is touched', async () => {
  const environment = { ...newBucket(), GATEWAY_BACKUP_KEEP: '2' };
  const put = (key: string) => s3.objects.set(key, { bytes: new Uint8Array([1]), at: Date.now() });
  const old = ['20200101T000000Z-00000001', '20200102T000000Z-00000002', '20990101T000000Z-00000003'];
  for (const name of old) for (const file of ['state.db', 'manifest.json']) put(`backups/${name}/${file}`);
  // Left by a killed upload, and of others.
  put('backups/20200103T000000Z-00000004/state.db');
  put('backups/others/manifest.json');
  put('elsewhere/20200101T000000Z-00000001/manifest.json');

  const aside = await command(home, environment, 'backup', addressOf('').replace('/backups', '/elsewhere'));
  expect(aside).toMatchObject({ exitCode: 0 });
  expect([...s3.objects.keys()].filter((key) => key.startsWith('elsewhere/2020'))).toHaveLength(1);

  const made = await command(home, environment, 'backup');
  expect([made.exitCode, made.output]).toEqual([0, expect.stringContaining('Deleted 1 older ones: 2 are kept.')]);
  const left = new Set(
    [...s3.objects.keys()].filter((key) => key.startsWith('backups/')).map((key) => key.split('/')[1]!),
  );
  for (const name of [old[1]!, old[2]!, 'others']) expect([name, left.has(name)]).toEqual([name, true]);
  for (const name of [old[0]!, '20200103T000000Z-00000004']) expect([name, left.has(name)]).toEqual([name, false]);
  expect(left.size).toBe(4);
});
