import { ProviderAway, ProviderRefused, understood } from '../../relay/provider-call.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { NativeApi, NativeJob } from './api.ts';
import { collect, UnreadableResults } from './collect.ts';
import type { NativeDeps } from './deps.ts';
import { finish } from './ending.ts';
import type { Context, PollStep } from './step.ts';

const LONGEST_POLL_MS = 60_000;
/** Results that make no sense so often never will. */
const MOST_UNREADABLE = 2;

/** Asks how the job is, and brings its results home when it is over. */
export async function poll(batch: BatchRow, step: PollStep, lease: Lease, context: Context): Promise<void> {
  const { api, provider, deps } = context;
  const { unreadable = 0 } = step;
  const wantsEnd = batch.stop !== null && !step.isCancelled;
  let job: NativeJob;
  try {
    const answer = await provider.ask(api.read(step.job)).catch(onlyIfGone);
    job = understood(() => api.readJob(answer));
    if (job.state === 'running' && wantsEnd)
      (await provider.send(cancellation(api, step.job)).catch(onlyIfGone)).cancel();
    if (job.state !== 'running')
      await collect(batch, job, lease, context, { isLenient: unreadable >= MOST_UNREADABLE }).catch(onlyIfGone);
  } catch (error) {
    // A provider that is away is asked later; what it does meanwhile is not known.
    if (!(error instanceof ProviderAway)) throw error;
    const again = unreadable + (error instanceof UnreadableResults ? 1 : 0);
    return pollLater({ ...step, polls: step.polls + 1, unreadable: again }, lease, deps);
  }
  if (job.state !== 'running') return finish(batch, lease, deps, job);
  return pollLater(
    { ...step, polls: wantsEnd ? 0 : step.polls + 1, isCancelled: step.isCancelled || wantsEnd },
    lease,
    deps,
  );
}

/** Not every provider answers it with JSON. */
export function cancellation(api: NativeApi, id: string) {
  const { method, path, body } = api.cancel(id);
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  return { method, path, contentType: 'application/json', body: bytes };
}

function pollLater(next: PollStep, lease: Lease, { native }: NativeDeps): Promise<void> {
  const { firstPollMs = 2_000 } = native;
  const fullMs = Math.min(LONGEST_POLL_MS, firstPollMs * 1.5 ** Math.min(next.polls, 30));
  const afterMs = Math.round(fullMs * (0.75 + Math.random() / 2));
  return lease.transaction((db) => lease.reschedule(db, { afterMs }, next));
}

/** A credential that does not work at the moment may do so tomorrow; a job that is gone stays so. */
function onlyIfGone(error: unknown): never {
  throw error instanceof ProviderRefused && error.status !== 404 ? new ProviderAway(error.message) : error;
}
