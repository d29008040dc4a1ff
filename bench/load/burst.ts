/** Calls everything it is given at once, twice: the first time the gateway has seen none of the callers before. */
import { type BurstJob, type BurstResult, readJob, tell } from './job.ts';

const { job } = await readJob<BurstJob>();

async function call(headers: Readonly<Record<string, string>>): Promise<number> {
  const began = performance.now();
  const response = await fetch(job.url, { method: 'POST', headers, body: job.body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${job.url} answered ${response.status}`);
  return performance.now() - began;
}

for (let time = 0; time < 2; time++) {
  await Bun.sleep(job.pauseMs);
  tell({ isBegun: true, ms: 0 } satisfies BurstResult);
  const took = await Promise.all(job.callers.map(call));
  tell({ isBegun: false, ms: Math.max(...took) } satisfies BurstResult);
}
