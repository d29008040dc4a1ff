import { afterEach, beforeEach, expect, test } from 'bun:test';
import { selfSignedCertificate } from '../../test/certificate.ts';
import { startRedis, type TestRedis } from '../../test/redis.ts';
import { connectRedis, type Redis, RedisUnavailable, redisScript } from './redis.ts';

const PASSWORD = 'p@ss: wörd/';
const echo = redisScript('return {KEYS[1], ARGV[1], 7}');

let server: TestRedis;
let redis: Redis;
const seen: string[] = [];

beforeEach(async () => {
  server = await startRedis({ password: PASSWORD });
  seen.length = 0;
  redis = connectRedis(server.url);
  redis.onUp(() => seen.push('up'));
  redis.onDown((why) => seen.push(`down: ${why}`));
  expect(await redis.whenUp(60_000)).toBe(true);
});
afterEach(async () => {
  redis.close();
  await server.stop();
});

/** What a command that must fail threw, and how long it took. */
async function failureOf(work: () => Promise<unknown>) {
  const started = performance.now();
  try {
    await work();
  } catch (error) {
    return { error: error as Error, ms: performance.now() - started };
  }
  throw new Error('it did not fail');
}

test('bytes come back as they were, until they expire', async () => {
  const bytes = new Uint8Array([0, 13, 10, 255]);
  await redis.set('key', bytes, { expiresMs: 60_000 });
  expect(await redis.get('key')).toEqual(Buffer.from(bytes));
  await redis.set('brief', 'text', { expiresMs: 1 });
  await redis.del('key');
  expect(await redis.get('key')).toBeNull();
  await Bun.sleep(5);
  expect(await redis.get('brief')).toBeNull();
});

test('a script runs, also after Redis was made to forget it', async () => {
  expect(await redis.eval(echo, ['a'], ['b'])).toEqual(['a', 'b', 7]);
  const client = new Bun.RedisClient(server.url);
  await client.send('SCRIPT', ['FLUSH']);
  client.close();
  expect(await redis.eval(echo, ['a'], ['c'])).toEqual(['a', 'c', 7]);
});

test('commands are carried out in the order they were given', async () => {
  const append = redisScript("return redis.call('APPEND', KEYS[1], ARGV[1])");
  await Promise.all(Array.from({ length: 50 }, (_, index) => redis.eval(append, ['list'], [`${index},`])));
  expect(Buffer.from((await redis.get('list'))!).toString()).toBe(
    Array.from({ length: 50 }, (_, index) => `${index},`).join(''),
  );
});

test('a Redis that is gone is noticed at once, commands fail at once, and it is found again', async () => {
  const before = redis.server!.runId;
  await server.kill();
  const { error, ms } = await failureOf(() => redis.ping());
  expect(error).toBeInstanceOf(RedisUnavailable);
  // At once, and what a busy machine adds to it.
  expect(ms).toBeLessThan(10_000);
  expect(redis.isUp).toBe(false);
  await server.restart({ keepData: false });

  expect(await redis.whenUp(60_000)).toBe(true);
  expect(redis.server!.runId).not.toBe(before);
  await redis.ping();
  expect(seen[0]).toBe('up');
  expect(seen[1]).toStartWith('down: ');
  expect(seen.at(-1)).toBe('up');
});

test('a Redis that is frozen fails commands after about half a second, and nothing is sent twice', async () => {
  const add = redisScript("return redis.call('INCR', KEYS[1])");
  server.pause();
  const failures = await Promise.all([1, 2, 3].map(() => failureOf(() => redis.eval(add, ['count'], []))));
  for (const { error, ms } of failures) {
    expect(error).toBeInstanceOf(RedisUnavailable);
    // Half a second, and what a busy machine adds to it.
    expect(ms).toBeLessThan(10_000);
  }
  server.resume();

  expect(await redis.whenUp(60_000)).toBe(true);
  expect(Number(await redis.eval(add, ['count'], []))).toBeLessThanOrEqual(4);
});

test('a process that was busy itself does not take Redis for dead', async () => {
  const answer = redis.ping();
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  await answer;
  expect(seen).toEqual(['up']);
});

test('an idle connection notices that Redis takes no more writes', async () => {
  const client = new Bun.RedisClient(server.url);
  await client.send('REPLICAOF', ['127.0.0.1', '1']);
  const deadline = Date.now() + 60_000;
  while (redis.isUp && Date.now() < deadline) await Bun.sleep(20);
  expect(seen.at(-1)).toBe('down: it refuses writes (READONLY)');

  await client.send('REPLICAOF', ['NO', 'ONE']);
  client.close();
  expect(await redis.whenUp(60_000)).toBe(true);
});

test('whether Redis throws keys away when it is full is known', async () => {
  expect(redis.server!.evicts).toBe(false);
  const client = new Bun.RedisClient(server.url);
  await client.send('CONFIG', ['SET', 'maxmemory', '50mb', 'maxmemory-policy', 'volatile-ttl']);
  client.close();
  const other = connectRedis(server.url);
  await other.whenUp(60_000);
  expect(other.server!.evicts).toBe(true);
  other.close();
});

test('a wrong password is not up, and no word of it gets out', async () => {
  const wrong = connectRedis(server.url.replace(encodeURIComponent(PASSWORD), 'hunter2'));
  expect(await wrong.whenUp(500)).toBe(false);
  const { error } = await failureOf(() => wrong.ping());
  expect(`${error.message} ${error.stack}`).not.toContain('hunter2');
  wrong.close();
});

test('over TLS the password is not sent to a server that nobody vouches for', async () => {
  let received = 0;
  const impostor = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    tls: selfSignedCertificate('localhost'),
    socket: {
      data: (_socket, bytes) => {
        received += bytes.byteLength;
      },
    },
  });
  const trusting = connectRedis(`rediss://:hunter2@localhost:${impostor.port}`);
  expect(await trusting.whenUp(500)).toBe(false);
  expect(received).toBe(0);
  trusting.close();
  impostor.stop(true);
});
