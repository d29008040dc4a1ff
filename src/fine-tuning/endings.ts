import type { WorkAbroad } from '../area/abroad.ts';
import { askProvider, type ProviderCallDeps } from '../relay/provider-call.ts';
import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { behindJob } from './provider.ts';
import { jobIn, loadJob } from './table.ts';
import { KIND } from './worker.ts';

const TABLES = ['fine_tuning_jobs', 'fine_tuning_events', 'fine_tuning_checkpoints'];
const CHILDREN = [
  { table: 'fine_tuning_events', column: 'job_id' },
  { table: 'fine_tuning_checkpoints', column: 'job_id' },
] as const;

/** Jobs with what happened in them. The model that a provider has made is the provider's to keep. */
export function fineTuningEndings(deps: { readonly store: Store; readonly workers: () => Workers }): Endings {
  const remove = (owned: Owned, step: EndingStep) => removeJobs(owned, step, deps);
  return {
    endsWithWorkspace: [{ area: 'fine-tuning', tables: TABLES, remove: (id, step) => remove(ofWorkspace(id), step) }],
    endsWithUser: [{ area: 'fine-tuning', tables: TABLES, remove: (person, step) => remove(ofPerson(person), step) }],
  };
}

async function removeJobs(
  owned: Owned,
  { db, transaction, atMost }: EndingStep,
  { store, workers }: { readonly store: Store; readonly workers: () => Workers },
): Promise<number> {
  const some = db.selectFrom('fine_tuning_jobs').select('id').where(owned.column, '=', owned.value).limit(atMost);
  const rows = await some.execute();
  return transaction(async (locked) => {
    // Work on a job that is being removed must not go on.
    for (const { id } of rows) await workers().discard(locked, { kind: KIND, ref: id });
    return removeRows(locked, store.engine, { table: 'fine_tuning_jobs', children: CHILDREN, owned, atMost });
  });
}

/** Jobs that run at a provider. */
export const jobsAbroad = (deps: ProviderCallDeps & { readonly store: Store }): WorkAbroad => ({
  area: 'fine-tuning',
  running: async (db, { column, value }) => {
    const rows = await db
      .selectFrom('fine_tuning_jobs')
      .selectAll()
      .where(column, '=', value)
      .where('finished_at', 'is', null)
      .execute();
    return rows
      .map(jobIn)
      .filter(({ remote }) => remote.job !== null)
      .map(({ id, workspaceId, virtualKey }) => ({ id, workspaceId, virtualKey }));
  },
  cancel: async (id, { who, virtualKeys }, signal) => {
    const job = await loadJob(deps.store.db, id);
    if (!job?.remote.job) return;
    const { backend, target, place } = await behindJob(job, { virtualKeys, workspaceAsCaller: async () => who });
    await askProvider(target, backend.cancel(job.remote.job, place), deps, signal);
  },
});
