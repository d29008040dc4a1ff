import type { Kind } from '../work/work.ts';
import { createJobs, type Jobs, type JobsDeps } from './jobs.ts';
import { createLists, type Lists } from './lists.ts';
import { fineTuningWorker } from './worker.ts';

/** Jobs that tune models at providers, behind one API. */
export interface FineTuning {
  readonly jobs: Jobs;
  readonly lists: Lists;
  /** What follows them. */
  readonly kind: Kind;
}

export const createFineTuning = (deps: JobsDeps): FineTuning => ({
  jobs: createJobs(deps),
  lists: createLists(deps),
  kind: fineTuningWorker(deps),
});
