/**
 * Sends calls at fixed times, whether or not earlier ones were answered, and counts each from the time it was due.
 * The ways to the upstream take turns in short slices, so that what the machine does meanwhile hits all of them alike.
 */

import { percentiles } from '../numbers.ts';
import { machineCpuMs } from '../proc.ts';
import {
  type ArmResult,
  moment,
  type OpenLoopJob,
  type OpenLoopResult,
  readJob,
  type Span,
  type Target,
  tell,
} from './job.ts';

const { job } = await readJob<OpenLoopJob>();
const body = Buffer.from(job.body);
const gapMs = 1_000 / job.callsPerSecond;
const lags: number[] = [];

const stalls: Span[] = [];
const STALL_MS = 3;

// The hypervisor ran another machine. The kernel counts that in steps of 10 ms, so the theft lies shortly before.
let stolenMs = machineCpuMs().stolen;
const watch = setInterval(() => {
  const now = machineCpuMs().stolen;
  if (now > stolenMs) stalls.push({ from: moment() - 20, to: moment() });
  stolenMs = now;
}, 5);

async function call(target: Target): Promise<void> {
  const response = await fetch(target.url, {
    method: 'POST',
    headers: target.headers,
    body,
    signal: AbortSignal.timeout(20_000),
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`status ${response.status}`);
}

async function slice(target: Target, record: { calls: Span[]; failed: number }): Promise<void> {
  const count = Math.round(job.sliceMs / gapMs);
  const pending: Promise<void>[] = [];
  const beginAt = moment() + 2;
  while (pending.length < count) {
    const dueAt = beginAt + pending.length * gapMs;
    const waitMs = dueAt - moment();
    if (waitMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      continue;
    }
    lags.push(-waitMs);
    if (job.isAlone && -waitMs > STALL_MS) stalls.push({ from: dueAt, to: moment() });
    pending.push(
      call(target).then(
        () => void record.calls.push({ from: dueAt, to: moment() }),
        () => void record.failed++,
      ),
    );
  }
  await Promise.all(pending);
}

for (let round = 0; round < job.rounds; round++) {
  lags.length = 0;
  stalls.length = 0;
  const records = job.arms.map((arm) => ({ arm, calls: [] as Span[], failed: 0 }));
  for (let cycle = 0; cycle < job.cycles; cycle++) {
    for (let turn = 0; turn < records.length; turn++) {
      const record = records[(turn + cycle + round) % records.length]!;
      await slice(record.arm, record);
      await Bun.sleep(30);
    }
  }
  await Bun.sleep(30);
  const arms = records.map(({ arm, calls, failed }): ArmResult => ({ name: arm.name, failed, calls }));
  tell({ arms, stalls, lag: percentiles(lags) } satisfies OpenLoopResult);
}
clearInterval(watch);
process.exit(0);
