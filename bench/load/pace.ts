/**
 * Says when the core it runs on is slow: the same work then takes several times its usual CPU time. On a virtual machine
 * that happens for tens of milliseconds, and the kernel counts none of it as stolen. Waiting for others on the core is
 * not counted, so a core that is merely busy is not slow.
 */

import { median } from '../numbers.ts';
import { moment, readJob, type Span, tell } from './job.ts';

const EVERY_MS = 2;
const SLOW_FROM = 3;
/** About 25 µs: a hundredth of the core. */
const STEPS = 3_000;
const ROUNDS_TO_LEARN = 500;

let number = 1;
function work(): void {
  for (let step = 0; step < STEPS; step++) number = (Math.imul(number, 1_103_515_245) + step) | 0;
}

function cpuMicroseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function probe(): number {
  const before = cpuMicroseconds();
  work();
  return cpuMicroseconds() - before;
}

const { inputClosed } = await readJob<object>();
const learnt = Array.from({ length: ROUNDS_TO_LEARN }, probe);
const usual = median(learnt.slice(ROUNDS_TO_LEARN / 2));
void inputClosed.then(() => process.exit(0));

for (let last = moment(); ; ) {
  await Bun.sleep(EVERY_MS);
  const isSlow = probe() > usual * SLOW_FROM;
  const now = moment();
  if (isSlow) tell({ from: last, to: now } satisfies Span);
  last = now;
}
