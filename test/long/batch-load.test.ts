import { expect, test } from 'bun:test';
import type { Span } from '../../bench/load/job.ts';
import {
  batchOf,
  beginBatch,
  cancelBatch,
  cpuMs,
  interactiveCalls,
  isQuiet,
  median,
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
import { watchSlowMoments } from '../slow-moments.ts';

const LINES = 50_000;
const BYTES_EACH = 2_800;
const MOST_GROWTH_MB = 80;
const LEAST_SHARE = 0.6;

const isRead = (gateway: GatewayProcess, id: string) =>
  eventually('the input is read', async () => (await batchOf(gateway, id)).in_progress_at !== null, 120_000);

async function isMade(gateway: GatewayProcess, id: string) {
  // Each look counts the results, so there is a pause between two.
  const areAllMade = async () => {
    await Bun.sleep(100);
    return (await batchOf(gateway, id)).finalizing_at !== null;
  };
  await eventually('all requests are made', areAllMade, 300_000);
}

async function isCompleted(gateway: GatewayProcess, id: string) {
  await eventually('it is completed', async () => (await batchOf(gateway, id)).status === 'completed', 120_000);
  expect((await batchOf(gateway, id)).request_counts.failed).toBe(0);
}

/** How many requests of a batch are made in a second. */
async function batchRate(gateway: GatewayProcess, file: string, lines: number): Promise<number> {
  const id = await beginBatch(gateway, file);
  await isRead(gateway, id);
  const startedAt = performance.now();
  await isMade(gateway, id);
  const seconds = (performance.now() - startedAt) / 1_000;
  await isCompleted(gateway, id);
  return lines / seconds;
}

test('a batch of 50,000 requests and 150 MB takes at most 80 MB', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  try {
    await gateway.given.virtualKey(simulator.url);
    await isQuiet(gateway);
    const atStart = gateway.memory();
    let plain = 0;
    const plainMost = await mostMemoryDuring(
      gateway,
      plainRate(gateway, 20_000, BYTES_EACH).then((rate) => {
        plain = rate;
      }),
    );
    await isQuiet(gateway);
    const restBefore = gateway.memory();
    const run = async () => {
      const id = await beginBatch(gateway, await uploadRequests(gateway, LINES, BYTES_EACH));
      await isMade(gateway, id);
      await isCompleted(gateway, id);
      await isQuiet(gateway);
    };
    const most = await mostMemoryDuring(gateway, run());
    // At rest is a process that has its code compiled and is left alone; what it has not given back yet does not count.
    const atRest = Math.min(restBefore, gateway.memory());
    const grown = megabytes(most - atRest);
    console.log(
      `${megabytes(atStart)} MB after the start, ${megabytes(atRest)} MB at rest, ${megabytes(most)} MB with the batch: ` +
        `it grew by ${grown} MB; with plain calls, ${plain.toFixed(0)} a second, up to ${megabytes(plainMost)} MB`,
    );
    expect(grown).toBeLessThanOrEqual(MOST_GROWTH_MB);
  } finally {
    await gateway.kill();
    await simulator.stop();
  }
});

test('a batch alone is nearly as fast as plain calls', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  const lines = 15_000;
  try {
    await gateway.given.virtualKey(simulator.url);
    const file = await uploadRequests(gateway, lines, BYTES_EACH);
    await plainRate(gateway, lines, BYTES_EACH);
    await batchRate(gateway, file, lines);
    const rounds: { batch: number; plain: number }[] = [];
    const cpu = { batch: 0, plain: 0 };
    // In turns, so that whatever else the machine does burdens both.
    for (let round = 0; round < 5; round++) {
      await isQuiet(gateway);
      const before = cpuMs(gateway.pid);
      const plain = await plainRate(gateway, lines, BYTES_EACH);
      await isQuiet(gateway);
      const between = cpuMs(gateway.pid);
      const batch = await batchRate(gateway, file, lines);
      await isQuiet(gateway);
      cpu.plain += between - before;
      cpu.batch += cpuMs(gateway.pid) - between;
      rounds.push({ batch, plain });
    }
    const share = median(rounds.map(({ batch, plain }) => batch / plain));
    const each = (ms: number) => (ms / (rounds.length * lines)).toFixed(3);
    console.log(
      `${median(rounds.map(({ batch }) => batch)).toFixed(0)} requests a second, ` +
        `plain ${median(rounds.map(({ plain }) => plain)).toFixed(0)}: ${(share * 100).toFixed(0)} %, by rounds ` +
        `${rounds.map(({ batch, plain }) => ((batch / plain) * 100).toFixed(0)).join(', ')}; ` +
        `${each(cpu.batch)} ms of a processor for each, plain ${each(cpu.plain)}`,
    );
    expect(share).toBeGreaterThanOrEqual(LEAST_SHARE);
  } finally {
    await gateway.kill();
    await simulator.stop();
  }
});

test('interactive calls beside a batch take at most twice as long', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  const moments = watchSlowMoments();
  const windowMs = 6_000;
  try {
    await gateway.given.virtualKey(simulator.url);
    await plainRate(gateway, 3_000, BYTES_EACH);
    const file = await uploadRequests(gateway, LINES, BYTES_EACH);
    const alone: Span[][] = [];
    const beside: Span[][] = [];
    const rates: number[] = [];
    for (let round = 0; round < 5; round++) {
      await isQuiet(gateway);
      alone.push(await interactiveCalls(gateway, 50, windowMs));
      const id = await beginBatch(gateway, file);
      await isRead(gateway, id);
      beside.push(await interactiveCalls(gateway, 50, windowMs));
      rates.push((await batchOf(gateway, id)).request_counts.completed / (windowMs / 1_000));
      await cancelBatch(gateway, id);
      await eventually('it has ended', async () => (await batchOf(gateway, id)).status === 'cancelled', 90_000);
    }
    const times = (window: Span[]) => window.filter((call) => !moments.wasSlow(call)).map(({ from, to }) => to - from);
    const typical = (windows: Span[][], share: number) =>
      median(windows.map((window) => percentile(times(window), share)));
    const shown = (windows: Span[][]) => windows.map((window) => percentile(times(window), 0.99).toFixed(1)).join(', ');
    const counted = (windows: Span[][]) => times(windows.flat()).length / windows.flat().length;
    const [before, during] = [typical(alone, 0.99), typical(beside, 0.99)];
    console.log(
      `p99 ${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms beside a batch of ` +
        `${median(rates).toFixed(0)} requests a second; by rounds ${shown(alone)} and ${shown(beside)}; ` +
        `p50 ${typical(alone, 0.5).toFixed(1)} and ${typical(beside, 0.5).toFixed(1)} ms; ` +
        `${(counted(alone) * 100).toFixed(0)} and ${(counted(beside) * 100).toFixed(0)} % of the calls count`,
    );
    expect(Math.min(counted(alone), counted(beside))).toBeGreaterThan(0.5);
    // The batch makes room, and goes on all the same.
    expect(median(rates)).toBeGreaterThan(20);
    // Below this, the machine's own scheduling is what is measured.
    expect(during).toBeLessThanOrEqual(Math.max(2 * before, 10));
  } finally {
    await moments.stop();
    await gateway.kill();
    await simulator.stop();
  }
});
