import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, forTests, type GatewayProcess, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { startS3, type TestS3 } from '../s3.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let home: string;
let s3: TestS3;

function newBucket() {
  s3 = startS3();
  home = newDataDir();
  cleanups.push(() => removeDataDir(home));
  cleanups.push(() => s3.stop());
  return {
    ...forTests,
    GATEWAY_BACKUP_URL: `s3://${s3.bucket}/backups?endpoint=${s3.origin}&region=${s3.region}`,
    GATEWAY_BACKUP_ACCESS_KEY_ID: s3.accessKeyId,
    GATEWAY_BACKUP_SECRET_ACCESS_KEY: s3.secretAccessKey,
    GATEWAY_BACKUP_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEWAY_BACKUP_EVERY_HOURS: '6',
  };
}

async function start(environment: Record<string, string>): Promise<GatewayProcess> {
  const gateway = await startProcess({ dataDir: home, environment });
  cleanups.push(() => gateway.kill());
  return gateway;
}

const whole = () => [...s3.objects.keys()].filter((key) => key.endsWith('/manifest.json'));
const staged = () => readdirSync(join(home, 'data')).filter((name) => name.startsWith('.backup'));
const degraded = async (gateway: GatewayProcess): Promise<string[]> =>
  (await gateway.api.get('/health')).json.degraded.map(({ part }: { part: string }) => part);
const newestAt = async (gateway: GatewayProcess): Promise<number> =>
  Number(/^gateway_backup_newest_timestamp_seconds (\S+)$/m.exec((await gateway.api.get('/metrics')).text)?.[1]);

test('a backup is made when the newest in the bucket is old enough, and not again after a restart', async () => {
  const environment = newBucket();
  const first = await start(environment);
  await eventually('the first is whole and known', async () => (await newestAt(first)) > 0);
  expect(whole()).toHaveLength(1);
  await eventually('nothing of it is left in the data dir', () => staged().length === 0);
  expect((await first.api.get('/metrics')).text).toMatch(/^gateway_backups_total\{outcome="made"\} 1$/m);
  await first.stop();

  // A backup that was killed has left its copies, and its number belongs to another process by now.
  mkdirSync(join(home, 'data', '.backup-1'));
  const second = await start(environment);
  await eventually('it has looked', async () => (await newestAt(second)) > 0);
  expect([whole().length, staged(), await degraded(second)]).toEqual([1, [], []]);
  expect((await second.api.get('/metrics')).text).toMatch(/^gateway_backups_total\{outcome="made"\} 0$/m);
  await second.stop();

  // As if it had been made seven hours ago.
  const before = new Date(Date.now() - 7 * 3_600_000).toISOString().replace(/[-:]|\.\d+/g, '');
  for (const [key, object] of [...s3.objects]) {
    s3.objects.delete(key);
    s3.objects.set(key.replace(/\d{8}T\d{6}Z/, before), object);
  }
  const third = await start({ ...environment, GATEWAY_BACKUP_KEEP: '1' });
  await eventually(
    'another one is made, and the old one goes',
    () => whole().length === 1 && !whole()[0]!.includes(before),
  );
  await third.stop();
}, 300_000);

test('a bucket that takes nothing is told, and the backup is made when it takes again', async () => {
  const environment = newBucket();
  // The look into the bucket goes through, and what is sent is refused.
  s3.faults.push((done) => done, ...Array.from({ length: 4 }, () => 403));
  const gateway = await start(environment);
  await eventually('it is told', async () => (await degraded(gateway)).includes('backup'));
  await eventually('what failed is said', () =>
    gateway.errors.includes('GATEWAY_BACKUP_URL: The bucket cannot be used'),
  );
  expect(whole()).toEqual([]);
  s3.faults.length = 0;
  await eventually('it is made', () => whole().length === 1);
  await eventually('and all is well', async () => !(await degraded(gateway)).includes('backup'));
  expect(existsSync(join(home, 'data', 'backup-attempts.json'))).toBe(false);
  for (const secret of [environment.GATEWAY_BACKUP_KEY, environment.GATEWAY_BACKUP_SECRET_ACCESS_KEY])
    expect(gateway.errors).not.toContain(secret);
}, 300_000);

test('attempts that were killed count: a process that is started again waits before the next', async () => {
  const environment = newBucket();
  const first = await start(environment);
  await eventually('it has come to its end', () => whole().length === 1);
  await first.stop();
  s3.objects.clear();
  writeFileSync(join(home, 'data', 'backup-attempts.json'), JSON.stringify({ failures: 20, at: Date.now() }));
  const requests = s3.requests.length;
  const second = await start(environment);
  await eventually('it is told', async () => (await degraded(second)).includes('backup'));
  await second.stop();
  expect([s3.requests.length, whole()]).toEqual([requests, []]);
}, 300_000);

test('a backup that is killed while it is sent is none, leaves nothing, and is made again', async () => {
  const environment = newBucket();
  const never = (() => new Promise<Response>(() => {})) as unknown as (done: Response) => Response;
  s3.faults.push(
    (done) => done,
    (done) => done,
    ...Array.from({ length: 4 }, () => never),
  );
  const gateway = await start(environment);
  await eventually('a part of it is sent', () => s3.objects.size > 0 && s3.faults.length < 4);
  expect([whole(), staged().length]).toEqual([[], 1]);
  process.kill(Number(staged()[0]!.slice('.backup-'.length)), 'SIGKILL');
  s3.faults.length = 0;
  await eventually('it is told', async () => (await degraded(gateway)).includes('backup'));
  await eventually('it is made again', () => whole().length === 1);
  await eventually('and all is well', async () => !(await degraded(gateway)).includes('backup'));
  expect(staged()).toEqual([]);
}, 300_000);
