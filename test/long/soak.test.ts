import { expect, test } from 'bun:test';
import { seeded } from '../fuzz.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { eventually, megabytes, startProcess, startSimulator } from '../process.ts';
import { isComplete, openSocket, streamRequest } from '../socket.ts';

const AT_ONCE = 150;
const STREAMS = 2_000;
const SOAK_MS = 60_000;
const WARM_UP_MS = 15_000;

test('a minute of streams with random aborts leaves memory flat and no connection open', async () => {
  const simulator = await startSimulator();
  const gateway = await startProcess();
  try {
    await gateway.given.virtualKey(simulator.url);
    const random = seeded(1);
    const failed: string[] = [];
    let finished = 0;
    let aborted = 0;

    const stream = async () => {
      const chunks = 5 + random.below(60);
      const leavesAfterMs = random.chance(0.4) ? random.below(1_500) : null;
      const exchange = openSocket(gateway.url);
      exchange.socket.write(streamRequest(ADMIN_KEY, `chunk-delay=${random.below(40)}, chunks=${chunks}, length=300`));
      const end = exchange.until(isComplete, 60_000).then(
        () => null,
        (error: Error) => error.message,
      );
      const outcome =
        leavesAfterMs === null ? await end : await Promise.race([end, Bun.sleep(leavesAfterMs).then(() => 'left')]);
      exchange.socket.destroy();
      if (outcome === null) finished++;
      else if (outcome === 'left') aborted++;
      else failed.push(outcome);
    };

    const soak = async (untilDone: () => boolean) => {
      const worker = async () => {
        while (!untilDone()) await stream();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await eventually('the provider is let go', async () => (await simulator.stats()).open === 0, 30_000);
      await Bun.sleep(1_000);
      return gateway.memory();
    };

    const startedAt = performance.now();
    const elapsed = () => performance.now() - startedAt;
    const before = await soak(() => elapsed() > WARM_UP_MS);
    console.log(`  warm after ${finished + aborted} streams: ${megabytes(before)} MB`);
    const warm = finished + aborted;
    const restartedAt = elapsed();
    const after = await soak(() => elapsed() - restartedAt > SOAK_MS && finished + aborted - warm >= STREAMS);
    console.log(
      `  ${finished} finished, ${aborted} aborted, ${failed.length} failed; ${megabytes(after)} MB, growth ${megabytes(after - before)} MB`,
    );

    expect(failed).toEqual([]);
    expect(megabytes(after - before)).toBeLessThan(60);
    expect((await simulator.stats()).open).toBe(0);
    expect((await gateway.api.get('/metrics')).text).toMatch(/^gateway_open_requests 0$/m);
    expect(gateway.errors).toBe('');
  } finally {
    await gateway.stop();
    await simulator.stop();
  }
}, 300_000);
