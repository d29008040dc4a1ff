/**
 * Sends calls at fixed times, whether or not earlier ones were answered, and counts each from the time it was due.
 * The ways to the upstream take turns in short slices, so that what the machine does meanwhile hits all of them alike.
 */

import { percentile } from '../numbers.ts';
import { machineCpuMs } from '../proc.ts';
import {
  type ArmResult,
  type OpenLoopJob,
  type OpenLoopResult,
  type Percentiles,
  readJob,
  type Target,
  tell,
} from './job.ts';

interface Sample {
  readonly dueAt: number;
  readonly doneAt: number;
}

const { job } = await readJob<OpenLoopJob>();
const body = Buffer.from(job.body);
const gapMs = 1_000 / job.callsPerSecond;
const lags: number[] = [];

// Times in which the machine stood still for reasons of its own, with a margin for what queued up to clear.
const stalls: { from: number; to: number }[] = [];
const CLEARING_MS = 20;
const STALL_MS = 3;

// The hypervisor ran somebody else. The kernel counts that in steps of 10 ms, so the theft lies shortly before.
let stolenMs = machineCpuMs().stolen;
const watch = setInterval(() => {
  const now = machineCpuMs().stolen;
  if (now > stolenMs) stalls.push({ from: performance.now() - 20, to: performance.now() + CLEARING_MS });
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

async function slice(target: Target, record: { samples: Sample[]; failed: number }): Promise<void> {
  const count = Math.round(job.sliceMs / gapMs);
  const pending: Promise<void>[] = [];
  const beginAt = performance.now() + 2;
  while (pending.length < count) {
    const dueAt = beginAt + pending.length * gapMs;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      continue;
    }
    lags.push(-waitMs);
    if (job.isAlone && -waitMs > STALL_MS) stalls.push({ from: dueAt, to: performance.now() + CLEARING_MS });
    pending.push(
      call(target).then(
        () => void record.samples.push({ dueAt, doneAt: performance.now() }),
        () => void record.failed++,
      ),
    );
  }
  await Promise.all(pending);
}

const describe = (values: readonly number[]): Percentiles => ({
  calls: values.length,
  p50: values.length === 0 ? Number.NaN : percentile(values, 0.5),
  p99: values.length === 0 ? Number.NaN : percentile(values, 0.99),
});

function isUndisturbed({ dueAt, doneAt }: Sample): boolean {
  return !stalls.some(({ from, to }) => from <= doneAt && to >= dueAt);
}

for (let round = 0; round < job.rounds; round++) {
  lags.length = 0;
  const records = job.arms.map((arm) => ({ arm, samples: [] as Sample[], failed: 0 }));
  for (let cycle = 0; cycle < job.cycles; cycle++) {
    for (let turn = 0; turn < records.length; turn++) {
      const record = records[(turn + cycle + round) % records.length]!;
      await slice(record.arm, record);
      await Bun.sleep(30);
    }
  }
  await Bun.sleep(30);
  const arms = records.map(({ arm, samples, failed }): ArmResult => {
    const milliseconds = (some: readonly Sample[]) => some.map(({ dueAt, doneAt }) => doneAt - dueAt);
    const undisturbed = samples.filter(isUndisturbed);
    return {
      name: arm.name,
      failed,
      all: describe(milliseconds(samples)),
      undisturbed: undisturbed.length < samples.length / 2 ? null : describe(milliseconds(undisturbed)),
    };
  });
  tell({ arms, lag: describe(lags) } satisfies OpenLoopResult);
}
clearInterval(watch);
process.exit(0);
