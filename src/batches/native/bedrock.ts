import { fail } from '../../core/errors.ts';
import {
  jobsIn,
  list,
  members,
  type NativeApi,
  type NativeJob,
  type NativeResult,
  type NewJob,
  type Place,
  type ResultContext,
  segment,
  text,
  unexplained,
} from './api.ts';
import { folderIn, folderOf, folderOfFile } from './folder.ts';
import { retold, retoldError, translated } from './translation.ts';

const PROVIDER = 'bedrock';
const DIALECT = 'converse';
/** The usual quota: a job with fewer is refused. */
const LEAST_REQUESTS = 100;

const STATES: Readonly<Record<string, NativeJob['state']>> = {
  Submitted: 'running',
  Validating: 'running',
  Scheduled: 'running',
  InProgress: 'running',
  Stopping: 'running',
  Completed: 'ended',
  PartiallyCompleted: 'ended',
  Failed: 'failed',
  Expired: 'expired',
  Stopped: 'cancelled',
};

/** Names and tokens have no underscores. */
const nameOf = (batchId: string): string => batchId.replaceAll('_', '-');

const roleOf = ({ storage }: Place): string =>
  storage?.role_arn ??
  fail(
    'invalid_provider_option',
    'configurations.batch_storage.role_arn',
    'bedrock needs it for batches; set it on the virtual key.',
  );

const create = ({ batchId, model, file, place }: NewJob) => ({
  method: 'POST' as const,
  path: '/model-invocation-job',
  body: {
    jobName: nameOf(batchId),
    // Two equal requests with the same token make one job.
    clientRequestToken: nameOf(batchId),
    roleArn: roleOf(place),
    modelId: model,
    modelInvocationType: 'Converse',
    inputDataConfig: { s3InputDataConfig: { s3Uri: file, s3InputFormat: 'JSONL' } },
    outputDataConfig: { s3OutputDataConfig: { s3Uri: `${folderOf(place, 's3', PROVIDER)}${batchId}/` } },
    timeoutDurationInHours: 24,
  },
});

/** The answer to a creation has only the job's name. */
function readJob(answer: unknown): NativeJob {
  const job = members(answer);
  const id = /^arn:[^/]+:model-invocation-job\/([a-z0-9]+)$/.exec(text(job.jobArn) ?? '')?.[1];
  const state = job.status === undefined ? 'running' : STATES[String(job.status)];
  if (!id || !state) throw new Error('the provider did not answer with a model invocation job');
  const folder = text(members(members(job.outputDataConfig).s3OutputDataConfig).s3Uri);
  const message = text(job.message);
  return {
    id,
    state,
    results: state === 'running' || folder === null ? [] : [`${folderIn(folder)}${id}/`],
    faults:
      state === 'failed' && message !== null ? [{ code: 'provider_error', message, param: null, line: null }] : [],
  };
}

function readResult(value: unknown, context: ResultContext): NativeResult | null {
  const { recordId, modelOutput, error: reason } = members(value);
  const name = text(recordId);
  if (name === null) return null;
  if (modelOutput !== undefined && modelOutput !== null) return retold(name, modelOutput, DIALECT, context);
  const { errorCode, errorMessage } = members(reason);
  if (errorCode === undefined && errorMessage === undefined) return unexplained(name);
  const error = { message: text(errorMessage) };
  return retoldError(name, { code: errorCode, error }, DIALECT, context.endpoint);
}

const hasTools = (body: Readonly<Record<string, unknown>>): boolean =>
  list(body.tools).length > 0 || list(body.functions).length > 0;

/** Amazon Bedrock in the format of Converse, which all of its chat models have. Its batches know no tools. */
export const bedrock: NativeApi = {
  endpoints: ['/v1/chat/completions', '/v1/messages'],
  takes: 's3',
  demands: {
    leastRequests: LEAST_REQUESTS,
    hasOneModel: true,
    fits: (body) => text(body.model) !== null && !hasTools(body),
  },
  check: (place) => {
    folderOf(place, 's3', PROVIDER);
    roleOf(place);
  },
  encodeLine: (name, body, endpoint) =>
    JSON.stringify({ recordId: name, modelInput: translated(body, endpoint, DIALECT, PROVIDER) }),
  create,
  list: ({ batchId }, after) => ({
    method: 'GET',
    path: '/model-invocation-jobs',
    search: `?maxResults=100&nameContains=${segment(nameOf(batchId))}${after === null ? '' : `&nextToken=${segment(after)}`}`,
  }),
  found: (answer, batchId) => {
    const { invocationJobSummaries, nextToken } = members(answer);
    const job = jobsIn(invocationJobSummaries).find((each) => members(each).jobName === nameOf(batchId));
    return job === undefined ? { job: null, next: text(nextToken) } : { job: readJob(job), next: null };
  },
  read: (id) => ({ method: 'GET', path: `/model-invocation-job/${segment(id)}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/model-invocation-job/${segment(id)}/stop` }),
  readResult,
  leftovers: ({ file }) => folderOfFile(file),
};
