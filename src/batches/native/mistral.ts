import { type Found, filesOf, jobsIn, list, members, type NativeApi, type NativeJob, segment, text } from './api.ts';
import { MARK, marked, readResult } from './openai.ts';

const PAGE = 100;

const STATES: Readonly<Record<string, NativeJob['state']>> = {
  QUEUED: 'running',
  RUNNING: 'running',
  CANCELLATION_REQUESTED: 'running',
  SUCCESS: 'ended',
  FAILED: 'failed',
  TIMEOUT_EXCEEDED: 'expired',
  CANCELLED: 'cancelled',
};

function readJob(answer: unknown): NativeJob {
  const job = members(answer);
  const id = text(job.id);
  const state = STATES[String(job.status)];
  if (!id || !state) throw new Error('the provider did not answer with a batch job');
  const files = [text(job.output_file), text(job.error_file)].filter((file) => file !== null);
  return {
    id,
    state,
    results: files.map((file) => `/files/${segment(file)}/content`),
    faults: list(job.errors).map((error) => ({
      code: 'provider_error',
      message: text(members(error).message) ?? 'The provider refused the batch.',
      param: null,
      line: null,
    })),
  };
}

function found(answer: unknown, batchId: string, after: string | null): Found {
  const jobs = jobsIn(members(answer).data);
  const ours = marked(jobs, batchId);
  if (ours !== undefined) return { job: readJob(ours), next: null };
  return { job: null, next: jobs.length === PAGE ? String(Number(after ?? 0) + 1) : null };
}

/** The model is the job's; a line holds only its name and its body. */
export const mistral: NativeApi = {
  endpoints: ['/v1/chat/completions', '/v1/embeddings'],
  takes: 'file',
  demands: { hasOneModel: true },
  encodeLine: (name, body) => `{"custom_id":${JSON.stringify(name)},"body":${Buffer.from(body).toString()}}`,
  create: ({ batchId, endpoint, model, file }) => ({
    method: 'POST',
    path: '/batch/jobs',
    body: { input_files: [file], endpoint, model, timeout_hours: 24, metadata: { [MARK]: batchId } },
  }),
  list: (_job, after) => ({
    method: 'GET',
    path: '/batch/jobs',
    search: `?page_size=${PAGE}&page=${after ?? 0}`,
  }),
  found,
  read: (id) => ({ method: 'GET', path: `/batch/jobs/${segment(id)}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/batch/jobs/${segment(id)}/cancel` }),
  readResult,
  leftovers: filesOf,
};
