import type { BatchFault, Endpoint } from '../batch.ts';
import {
  type Found,
  filesOf,
  isGood,
  jobsIn,
  list,
  members,
  type NativeApi,
  type NativeJob,
  segment,
  text,
} from './api.ts';

/** How services with OpenAI's batch API differ. */
interface Variant {
  readonly endpoints: readonly Endpoint[];
  /** Azure's endpoints have no version. */
  readonly endpointOf?: (endpoint: Endpoint) => string;
}

/** As we mark our jobs; providers take metadata of this form. */
export const MARK = 'gateway_batch_id';

const STATES: Readonly<Record<string, NativeJob['state']>> = {
  validating: 'running',
  in_progress: 'running',
  finalizing: 'running',
  cancelling: 'running',
  completed: 'ended',
  failed: 'failed',
  expired: 'expired',
  cancelled: 'cancelled',
};

function readJob(answer: unknown): NativeJob {
  const job = members(answer);
  const id = text(job.id);
  const state = STATES[String(job.status)];
  if (!id || !state) throw new Error('the provider did not answer with a batch');
  const files = [text(job.output_file_id), text(job.error_file_id)].filter((file) => file !== null);
  return {
    id,
    state,
    results: files.map((file) => `/files/${segment(file)}/content`),
    faults: list(members(job.errors).data).map(faultOf),
  };
}

function faultOf(value: unknown): BatchFault {
  const { code, message, param, line } = members(value);
  return {
    code: text(code) ?? 'provider_error',
    message: text(message) ?? 'The provider refused the batch.',
    param: text(param),
    line: typeof line === 'number' ? line : null,
  };
}

/** Which of some jobs carries our mark. */
export const marked = (jobs: readonly unknown[], batchId: string): unknown =>
  jobs.find((each) => members(members(each).metadata)[MARK] === batchId);

function found(answer: unknown, batchId: string): Found {
  const { data, has_more: hasMore } = members(answer);
  const jobs = jobsIn(data ?? 'no list');
  const ours = marked(jobs, batchId);
  if (ours !== undefined) return { job: readJob(ours), next: null };
  return { job: null, next: hasMore === true ? text(members(jobs.at(-1)).id) : null };
}

/** A line of the output or the error file. */
export function readResult(value: unknown) {
  const line = members(value);
  const name = text(line.custom_id);
  if (name === null) return null;
  const { status_code: status, request_id: requestId, body } = members(line.response);
  const response = { status_code: status, request_id: text(requestId) ?? '', body };
  const isAnswered = typeof status === 'number';
  const error = line.error ? JSON.stringify(line.error) : null;
  return {
    name,
    body,
    result: {
      isError: !isGood(status) || error !== null,
      response: isAnswered ? JSON.stringify(response) : null,
      error: isAnswered || error ? error : JSON.stringify({ code: 'server_error', message: 'No answer was given.' }),
    },
  };
}

const api = ({ endpoints, endpointOf = (endpoint) => endpoint }: Variant): NativeApi => ({
  endpoints,
  takes: 'file',
  // The body as it came: parsing would lose big numbers.
  encodeLine: (name, body, endpoint) =>
    `{"custom_id":${JSON.stringify(name)},"method":"POST","url":${JSON.stringify(endpointOf(endpoint))},"body":${Buffer.from(body).toString()}}`,
  create: ({ batchId, endpoint, file }) => ({
    method: 'POST',
    path: '/batches',
    body: {
      input_file_id: file,
      endpoint: endpointOf(endpoint),
      completion_window: '24h',
      metadata: { [MARK]: batchId },
    },
  }),
  list: (_job, after) => ({
    method: 'GET',
    path: '/batches',
    search: `?limit=100${after === null ? '' : `&after=${segment(after)}`}`,
  }),
  found,
  read: (id) => ({ method: 'GET', path: `/batches/${segment(id)}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/batches/${segment(id)}/cancel` }),
  readResult,
  leftovers: filesOf,
});

export const openai = api({
  endpoints: [
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/embeddings',
    '/v1/responses',
    '/v1/moderations',
    '/v1/images/generations',
    '/v1/images/edits',
  ],
});
export const groq = api({ endpoints: ['/v1/chat/completions'] });
export const azureOpenai = api({
  endpoints: ['/v1/chat/completions', '/v1/embeddings', '/v1/responses'],
  endpointOf: (endpoint) => endpoint.slice('/v1'.length),
});
