import { afterEach, describe, expect, test } from 'bun:test';
import { flood, minutesSince, storedBytes } from '../attack/stranger/flood.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openSocket, requestText } from '../socket.ts';

let gateway: TestGateway;
afterEach(() => gateway.stop());

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('4,000 hostile requests without a key store less than two megabytes a minute', async () => {
      gateway = await startGateway({ engine });
      const before = await storedBytes(gateway);
      const began = Date.now();
      await flood(gateway.url, 4_000);
      // The last records are written a moment after their requests were answered.
      await Bun.sleep(3_000);
      // PostgreSQL hands out whole pages, to each table and each index: up to one megabyte was seen, and 38 without samples.
      expect((await storedBytes(gateway)) - before).toBeLessThan(minutesSince(began) * 2_000_000);
    }, 180_000);
  });
}

test('a connection that says nothing, or half a head, is closed soon', async () => {
  gateway = await startGateway();
  const silent = openSocket(gateway.url);
  const half = openSocket(gateway.url);
  half.socket.write(requestText('GET', '/health').slice(0, -2));
  const began = performance.now();
  const dripping = setInterval(() => half.socket.write('x: y\r\n'), 1_000);
  await Promise.all([silent.over, half.over]);
  clearInterval(dripping);
  expect(performance.now() - began).toBeLessThan(20_000);
}, 30_000);
