import { expect, test } from 'bun:test';
import { batchOf, beginLargeBatch, interactiveCalls, plainRate } from '../batch-load.ts';
import {
  eventually,
  type GatewayProcess,
  megabytes,
  mostMemoryDuring,
  startProcess,
  startSimulator,
} from '../process.ts';

const BYTES_EACH = 2_800;
const MOST_GROWTH_MB = 80;

/** How many requests of the batch were made in a second. */
async function rateOf(gateway: GatewayProcess, id: string): Promise<number> {
  await eventually('the input is read', async () => (await batchOf(gateway, id)).in_progress_at !== null, 120_000);
  const startedAt = performance.now();
  const isMade = async () => {
    await Bun.sleep(100);
    return (await batchOf(gateway, id)).finalizing_at !== null;
  };
  await eventually('all requests are made', isMade, 300_000);
  const seconds = (performance.now() - startedAt) / 1_000;
  await eventually('it is completed', async () => (await batchOf(gateway, id)).status === 'completed', 120_000);
  return (await batchOf(gateway, id)).request_counts.completed / seconds;
}

test('a batch of 50,000 requests and 150 MB stays in bounded memory and is nearly as fast as plain calls', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  try {
    await gateway.given.virtualKey(simulator.url);
    await plainRate(gateway, 5_000, BYTES_EACH);
    const plain = await plainRate(gateway, 5_000, BYTES_EACH);
    const before = gateway.memory();
    let rate = 0;
    const running = async () => {
      rate = await rateOf(gateway, await beginLargeBatch(gateway, 50_000, BYTES_EACH));
    };
    const growth = megabytes((await mostMemoryDuring(gateway, running())) - before);
    console.log(`${rate.toFixed(0)} requests a second, plain ${plain.toFixed(0)}; memory grew by ${growth} MB`);
    expect(rate).toBeGreaterThan(0.6 * plain);
    expect(growth).toBeLessThanOrEqual(MOST_GROWTH_MB);
  } finally {
    await gateway.kill();
    await simulator.stop();
  }
});

test('interactive calls beside a batch take at most twice as long', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  try {
    await gateway.given.virtualKey(simulator.url);
    await plainRate(gateway, 3_000, BYTES_EACH);
    const alone = interactiveCalls(gateway, 50);
    await Bun.sleep(20_000);
    const before = await alone.stop();
    const id = await beginLargeBatch(gateway, 50_000, BYTES_EACH);
    await eventually('the input is read', async () => (await batchOf(gateway, id)).in_progress_at !== null, 120_000);
    const beside = interactiveCalls(gateway, 50);
    await Bun.sleep(10_000);
    const during = await beside.stop();
    console.log(`p99 ${before.p99.toFixed(1)} ms alone, ${during.p99.toFixed(1)} ms beside a batch`);
    // Below this, the machine's own scheduling is what is measured.
    expect(during.p99).toBeLessThanOrEqual(Math.max(2 * before.p99, 20));
  } finally {
    await gateway.kill();
    await simulator.stop();
  }
});
