import type { BatchRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { Lease } from '../../work/work.ts';
import { type BatchFault, entered, hasEnded } from '../batch.ts';
import { enqueueFinish, failWith } from '../kinds.ts';
import type { NativeJob } from './api.ts';
import { nativeApi } from './apis.ts';
import type { NativeDeps } from './deps.ts';
import { nativeOf } from './step.ts';
import { enqueueTidy } from './tidy.ts';

export const providerFault = (message: string): BatchFault => ({
  code: 'provider_error',
  message,
  param: null,
  line: null,
});

/** What the provider said is home: the rest is as with any batch. */
export async function finish(batch: BatchRow, lease: Lease, deps: NativeDeps, job: NativeJob | null = null) {
  const { table, workers, now } = deps;
  await lease.transaction(async (db) => {
    const current = await table.lock(db, batch.id);
    await lease.done(db);
    if (!current || hasEnded(current.status)) return;
    await tidyUp(db, current, deps, job);
    if (job?.state === 'failed' && current.stop === null) {
      const faults = job.faults.length > 0 ? job.faults : [providerFault('The provider says that the batch failed.')];
      return failWith(db, current, inOurWords(faults, current), deps);
    }
    if (current.stop === null && job?.state === 'expired') await table.change(db, batch.id, { stop: 'expired' });
    else if (current.stop === null && job?.state === 'cancelled')
      await table.change(db, batch.id, { ...entered(current, 'cancelling', now()), stop: 'cancelled' });
    else if (current.stop === null) await table.change(db, batch.id, entered(current, 'finalizing', now()));
    await enqueueFinish(db, current, workers());
  });
}

/** Ends a batch that its provider will not carry out. One that was to stop anyway has just stopped. */
export async function giveUp(db: Db, batch: BatchRow, fault: BatchFault, deps: NativeDeps) {
  await tidyUp(db, batch, deps, null);
  if (batch.stop) return enqueueFinish(db, batch, deps.workers());
  return failWith(db, batch, inOurWords([fault], batch), deps);
}

/** What the provider calls the batch and its file stays inside. */
export function inOurWords(faults: readonly BatchFault[], batch: BatchRow): BatchFault[] {
  const { file, job } = nativeOf(batch);
  const told = (text: string) => {
    const named = job ? text.replaceAll(job, batch.id) : text;
    return file ? named.replaceAll(file, batch.input_file_id) : named;
  };
  return faults.map((fault) => ({ ...fault, message: told(fault.message) }));
}

async function tidyUp(db: Db, batch: BatchRow, { workers }: NativeDeps, job: NativeJob | null): Promise<void> {
  const { provider, file = null } = nativeOf(batch);
  const leftovers = nativeApi(provider ?? '')?.leftovers({ file, job }) ?? [];
  await enqueueTidy(db, batch, leftovers, workers());
}
