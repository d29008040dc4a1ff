import { readFileSync } from 'node:fs';
import type { Child } from './child.ts';

const LOOK_MS = 1_000;
/** What collecting garbage may take. More is code that goes on although its cell is over, on a machine that is busy. */
const MOST_SHARE = 0.2;
/** Of a second, in which the system counts. */
const TICKS = 100;

/**
 * Ends a sandbox that no run needs: after a while, and at once when it keeps using the processor. Answers what stops
 * watching.
 */
export function watchIdle(child: Child, idleMs: number, end: () => void): () => void {
  const since = performance.now();
  let [lookedAt, seconds] = [since, cpuSeconds(child.pid)];
  const timer = setInterval(
    () => {
      const [now, used] = [performance.now(), cpuSeconds(child.pid)];
      const share = (used - seconds) / ((now - lookedAt) / 1_000);
      [lookedAt, seconds] = [now, used];
      if (!child.isAlive || now - since >= idleMs || share > MOST_SHARE) end();
    },
    Math.min(LOOK_MS, idleMs),
  );
  return () => clearInterval(timer);
}

/** Of all threads of a process; 0 where the system does not say. */
function cpuSeconds(pid: number): number {
  try {
    // The name in parentheses may hold anything; the numbers stand behind it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return 0;
  }
}
