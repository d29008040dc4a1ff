import { expect, test } from 'bun:test';
import {
  batchOf,
  beginBatch,
  cancelBatch,
  cpuMs,
  interactiveCalls,
  percentile,
  plainRate,
  uploadRequests,
} from '../batch-load.ts';
import {
  eventually,
  type GatewayProcess,
  megabytes,
  mostMemoryDuring,
  startProcess,
  startSimulator,
} from '../process.ts';

const LINES = 50_000;
const BYTES_EACH = 2_800;
const PLAIN_CALLS = 20_000;
const MOST_GROWTH_MB = 80;
const WINDOW_MS = 8_000;
const ROUNDS = 3;

const isRead = (gateway: GatewayProcess, id: string) =>
  eventually('the input is read', async () => (await batchOf(gateway, id)).in_progress_at !== null, 120_000);

/** How many requests of the batch were made in a second. */
async function rateOf(gateway: GatewayProcess, id: string): Promise<number> {
  await isRead(gateway, id);
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
    await plainRate(gateway, PLAIN_CALLS, BYTES_EACH);
    const atRest = gateway.memory();
    let plain = 0;
    const plainCpu = cpuMs(gateway.pid);
    // What plain calls of the same size take is the relay's: a batch is judged by what it needs beyond that.
    const before = await mostMemoryDuring(
      gateway,
      plainRate(gateway, PLAIN_CALLS, BYTES_EACH).then((rate) => {
        plain = rate;
      }),
    );
    const cpuPerCall = (cpuMs(gateway.pid) - plainCpu) / PLAIN_CALLS;
    let rate = 0;
    const batchCpu = cpuMs(gateway.pid);
    const running = async () => {
      rate = await rateOf(gateway, await beginBatch(gateway, await uploadRequests(gateway, LINES, BYTES_EACH)));
    };
    const most = await mostMemoryDuring(gateway, running());
    const cpuPerLine = (cpuMs(gateway.pid) - batchCpu) / LINES;
    const growth = megabytes(most - before);
    console.log(
      `${rate.toFixed(0)} requests a second, plain ${plain.toFixed(0)}; ` +
        `${cpuPerLine.toFixed(3)} ms of a processor for each, plain ${cpuPerCall.toFixed(3)}; ` +
        `memory grew by ${growth} MB beyond plain calls, by ${megabytes(most - atRest)} MB beyond rest`,
    );
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
    const file = await uploadRequests(gateway, LINES, BYTES_EACH);
    const alone: number[] = [];
    const beside: number[] = [];
    let made = 0;
    // In turns, so that whatever else the machine does burdens both.
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(...(await interactiveCalls(gateway, 50, WINDOW_MS)));
      const id = await beginBatch(gateway, file);
      await isRead(gateway, id);
      beside.push(...(await interactiveCalls(gateway, 50, WINDOW_MS)));
      made += (await batchOf(gateway, id)).request_counts.completed;
      await cancelBatch(gateway, id);
      await eventually('it has ended', async () => (await batchOf(gateway, id)).status === 'cancelled', 90_000);
    }
    const [before, during] = [percentile(alone, 0.99), percentile(beside, 0.99)];
    const rate = made / ((ROUNDS * WINDOW_MS) / 1_000);
    console.log(
      `p99 ${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms beside a batch of ${rate.toFixed(0)} requests a second; ` +
        `p50 ${percentile(alone, 0.5).toFixed(1)} and ${percentile(beside, 0.5).toFixed(1)} ms`,
    );
    // The batch makes room, and goes on all the same.
    expect(rate).toBeGreaterThan(20);
    // Below this, the machine's own scheduling is what is measured.
    expect(during).toBeLessThanOrEqual(Math.max(2 * before, 10));
  } finally {
    await gateway.kill();
    await simulator.stop();
  }
});
