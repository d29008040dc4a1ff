import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { NativeApi, NativeJob } from './api.ts';
import { Away, Refused } from './ask.ts';
import { collect } from './collect.ts';
import type { NativeDeps } from './deps.ts';
import { finish } from './ending.ts';
import type { Context, PollStep } from './step.ts';

const LONGEST_POLL_MS = 60_000;

/** Asks how the job is, and brings its results home when it is over. */
export async function poll(batch: BatchRow, step: PollStep, lease: Lease, context: Context): Promise<void> {
  const { api, provider, deps } = context;
  const wantsEnd = batch.stop !== null && !step.isCancelled;
  let job: NativeJob;
  try {
    job = understood(api, await provider.ask(api.read(step.job)).catch(onlyIfGone));
    if (job.state === 'running' && wantsEnd)
      (await provider.send(cancellation(api, step.job)).catch(onlyIfGone)).cancel();
    if (job.state !== 'running') await collect(batch, job, lease, context);
  } catch (error) {
    // A provider that is away is asked later; what it does meanwhile is not known.
    if (!(error instanceof Away)) throw error;
    return pollLater({ ...step, polls: step.polls + 1 }, lease, deps);
  }
  if (job.state !== 'running') return finish(batch, lease, deps, job);
  return pollLater(
    { ...step, polls: wantsEnd ? 0 : step.polls + 1, isCancelled: step.isCancelled || wantsEnd },
    lease,
    deps,
  );
}

/** Not everybody answers it with JSON. */
function cancellation(api: NativeApi, id: string) {
  const { method, path, body } = api.cancel(id);
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  return { method, path, type: 'application/json', body: bytes };
}

function pollLater(next: PollStep, lease: Lease, { native }: NativeDeps): Promise<void> {
  const { firstPollMs = 2_000 } = native;
  const fullMs = Math.min(LONGEST_POLL_MS, firstPollMs * 1.5 ** Math.min(next.polls, 30));
  const afterMs = Math.round(fullMs * (0.75 + Math.random() / 2));
  return lease.transaction((db) => lease.reschedule(db, { afterMs }, next));
}

/** A credential that does not work at the moment may do so tomorrow; a job that is gone stays so. */
function onlyIfGone(error: unknown): never {
  throw error instanceof Refused && error.status !== 404 ? new Away(error.message) : error;
}

/** What an answer says of a job. One that makes no sense counts as none. */
export function understood(api: NativeApi, answer: unknown): NativeJob {
  try {
    return api.readJob(answer);
  } catch (error) {
    throw new Away(error instanceof Error ? error.message : String(error));
  }
}
