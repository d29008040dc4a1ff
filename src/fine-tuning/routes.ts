import { requiredVirtualKey } from '../auth/required-virtual-key.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { type Call, type CallAt, get, post, type Route } from '../http/route.ts';
import type { FineTuning } from './fine-tuning.ts';
import { createJob } from './input.ts';
import { jobObject } from './job.ts';
import { checkpointList, checkpointQuery, eventList, eventQuery, jobList, jobQuery } from './lists.ts';

const wording = 'openai' as const;
const reads = { scopes: ['fine_tuning.read'] as const, wording };
const writes = { scopes: ['fine_tuning.write'] as const, wording };
const JOBS = '/v1/fine_tuning/jobs';
const JOB = `${JOBS}/:fine_tuning_job_id` as const;

/** Fine-tuning jobs belong to the workspace of the calling key; a virtual key says who does the work. */
export const fineTuningRoutes = ({
  fineTuning,
  virtualKeys,
}: {
  fineTuning: FineTuning;
  virtualKeys: VirtualKeys;
}): Route[] => {
  /** Every one of these routes names a virtual key (spec 5.1), also where the job itself knows its own. */
  const slugOf = async (call: Call): Promise<string> => {
    const { slug, provider } = await requiredVirtualKey(call, virtualKeys);
    call.log.virtualKey = slug;
    call.log.provider = provider;
    return slug;
  };
  const workspaceOf = async (call: Call) => {
    await slugOf(call);
    return call.principal.workspaceId;
  };
  const id = (call: CallAt<'fine_tuning_job_id'>) => call.params.fine_tuning_job_id;
  const acting = (act: 'cancel' | 'pause' | 'resume') => async (call: CallAt<'fine_tuning_job_id'>) =>
    fineTuning.jobs[act](await workspaceOf(call), id(call));
  const ofJob = async (call: CallAt<'fine_tuning_job_id'>) =>
    (await fineTuning.jobs.find(await workspaceOf(call), id(call))).id;
  return [
    post(JOBS, { ...writes, summary: 'Create a fine-tuning job', body: createJob, response: jobObject }, async (call) =>
      fineTuning.jobs.create(call.principal, await slugOf(call), call.body),
    ),
    get(
      JOBS,
      { ...reads, summary: 'Fine-tuning jobs of the workspace', query: jobQuery, response: jobList },
      async (call) => fineTuning.lists.jobs(await workspaceOf(call), call.query),
    ),
    get(JOB, { ...reads, summary: 'One fine-tuning job', response: jobObject }, async (call) =>
      fineTuning.jobs.read(await workspaceOf(call), id(call)),
    ),
    post(`${JOB}/cancel`, { ...writes, summary: 'Cancel a fine-tuning job', response: jobObject }, acting('cancel')),
    post(`${JOB}/pause`, { ...writes, summary: 'Pause a fine-tuning job', response: jobObject }, acting('pause')),
    post(`${JOB}/resume`, { ...writes, summary: 'Go on with a paused job', response: jobObject }, acting('resume')),
    get(
      `${JOB}/events`,
      { ...reads, summary: 'What happened in a fine-tuning job', query: eventQuery, response: eventList },
      async (call) => fineTuning.lists.events(await ofJob(call), call.query),
    ),
    get(
      `${JOB}/checkpoints`,
      { ...reads, summary: 'Checkpoints of a fine-tuning job', query: checkpointQuery, response: checkpointList },
      async (call) => fineTuning.lists.checkpoints(await ofJob(call), call.query),
    ),
  ];
};
