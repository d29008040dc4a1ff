import { expect, test } from 'bun:test';
import { GatewayError } from './errors.ts';
import { startSweeper } from './sweeper.ts';

async function until(isSo: () => boolean) {
  const deadline = Date.now() + 60_000;
  while (!isSo() && Date.now() < deadline) await Bun.sleep(2);
}

test('a sweeper sweeps again after a failure, reports it once, and stops', async () => {
  const problems: string[] = [];
  let sweeps = 0;
  const sweep = async () => {
    sweeps++;
    if (sweeps === 1) throw new Error('on purpose');
    if (sweeps === 2) throw new GatewayError('store_unavailable', []);
  };
  const sweeper = startSweeper({ what: 'rooms', everyMs: 1, sweep, report: (problem) => problems.push(problem) });
  await until(() => sweeps >= 4);
  await sweeper.stop();

  const counted = sweeps;
  await Bun.sleep(10);
  expect(sweeps).toBe(counted);
  expect(counted).toBeGreaterThanOrEqual(4);
  expect(problems).toEqual(['on purpose']);
});

test('stopping tells the sweep under way and waits for it', async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const sweep = (signal: AbortSignal) => {
    begun.resolve(signal);
    return end.promise;
  };
  const sweeper = startSweeper({ what: 'rooms', everyMs: 1, sweep });
  const signal = await begun.promise;
  let isStopped = false;
  const stopped = sweeper.stop().then(() => {
    isStopped = true;
  });

  await Bun.sleep(5);
  expect([signal.aborted, isStopped]).toEqual([true, false]);
  end.resolve();
  await stopped;
  expect(isStopped).toBe(true);
});
