import { fail } from '../../core/errors.ts';
import { parsed } from '../../dialects/json.ts';
import { accountProject } from '../../providers/google-token.ts';
import { vertexAi } from '../../providers/vertex-ai.ts';
import { applyParams, compileParams } from '../../routing/params.ts';
import type { Endpoint } from '../batch.ts';
import {
  jobsIn,
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
import { retold, retoldError, speaks, translated } from './translation.ts';

const PROVIDER = 'vertex-ai';
/** Of a request to Gemini: the only thing of ours that comes back with the answer. */
const LABEL = 'gateway_request';

const STATES: Readonly<Record<string, NativeJob['state']>> = {
  JOB_STATE_UNSPECIFIED: 'running',
  JOB_STATE_QUEUED: 'running',
  JOB_STATE_PENDING: 'running',
  JOB_STATE_RUNNING: 'running',
  JOB_STATE_UPDATING: 'running',
  JOB_STATE_PAUSED: 'running',
  JOB_STATE_CANCELLING: 'running',
  JOB_STATE_SUCCEEDED: 'ended',
  JOB_STATE_PARTIALLY_SUCCEEDED: 'ended',
  JOB_STATE_FAILED: 'failed',
  JOB_STATE_EXPIRED: 'expired',
  JOB_STATE_CANCELLED: 'cancelled',
};
const NAME = /^projects\/[\w.:-]+\/locations\/[\w-]+\/batchPredictionJobs\/\w+$/;

/** Where a chat model is called, and in which format; Gemini and Claude are the ones with batches. */
function modelAt(model: string) {
  const { dialect, path, edits } = vertexAi.chat!({ model, stream: false, options: {} });
  const name = /^\/(publishers\/(?:google|anthropic)\/models\/[^/:]+):/.exec(path)?.[1];
  const hasBatches = dialect === 'gemini' || dialect === 'anthropic';
  return name && hasBatches ? { name: decodeURIComponent(name), dialect, edits } : null;
}

const modelIn = (body: Uint8Array): string =>
  text(members(JSON.parse(Buffer.from(body).toString())).model) ?? fail('missing_required_parameter', 'model');

function encodeLine(name: string, body: Uint8Array, endpoint: Endpoint): string {
  const model = modelIn(body);
  const at = modelAt(model) ?? fail('not_expressible', 'model', PROVIDER, `it has no batches for ${model}`);
  if (at.dialect === 'gemini') {
    const request = translated(body, endpoint, 'gemini', PROVIDER);
    return JSON.stringify({ request: { ...request, labels: { ...members(request.labels), [LABEL]: name } } });
  }
  const given = speaks(endpoint, 'anthropic')
    ? body
    : Buffer.from(JSON.stringify(translated(body, endpoint, 'anthropic', PROVIDER)));
  const edits = compileParams({ default_params: at.edits?.defaults, drop_params: at.edits?.drops });
  const request = Buffer.from(edits ? applyParams(given, edits) : given).toString();
  return `{"custom_id":${JSON.stringify(name)},"request":${request}}`;
}

function jobsOf({ options }: Place): string {
  const project =
    text(options.vertex_project_id) ??
    accountProject(options) ??
    fail('missing_provider_option', PROVIDER, 'vertex_project_id');
  const region = text(options.vertex_region) ?? fail('missing_provider_option', PROVIDER, 'vertex_region');
  const place = `/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(region.toLowerCase())}`;
  return `${place}/batchPredictionJobs`;
}

const create = ({ batchId, model, file, place }: NewJob) => ({
  method: 'POST' as const,
  path: jobsOf(place),
  body: {
    displayName: batchId,
    model: modelAt(model ?? '')?.name,
    inputConfig: { instancesFormat: 'jsonl', gcsSource: { uris: [file] } },
    outputConfig: {
      predictionsFormat: 'jsonl',
      gcsDestination: { outputUriPrefix: `${folderOf(place, 'gs', PROVIDER)}${batchId}/output` },
    },
  },
});

function readJob(answer: unknown): NativeJob {
  const job = members(answer);
  const id = text(job.name);
  const state = STATES[String(job.state ?? 'JOB_STATE_UNSPECIFIED')];
  if (!id || !NAME.test(id) || !state) throw new Error('the provider did not answer with a batch prediction job');
  const written = text(members(job.outputInfo).gcsOutputDirectory);
  const asked = text(members(members(job.outputConfig).gcsDestination).outputUriPrefix);
  const folder = written ?? asked;
  const { message } = members(job.error);
  return {
    id,
    state,
    results: state === 'running' || folder === null ? [] : [folderIn(folder)],
    faults:
      message === undefined ? [] : [{ code: 'provider_error', message: String(message), param: null, line: null }],
  };
}

/** `status` is empty for an answer, else it tells why there is none; the provider's own error may stand inside. */
function readResult(value: unknown, context: ResultContext): NativeResult | null {
  const line = members(value);
  const name = text(line.custom_id) ?? text(members(members(line.request).labels)[LABEL]);
  if (name === null) return null;
  const dialect = text(line.custom_id) === null ? 'gemini' : 'anthropic';
  const status = text(line.status);
  if (status === null && Object.keys(members(line.response)).length > 0)
    return retold(name, line.response, dialect, context);
  if (status === null) return unexplained(name);
  const inside = parsed(status.slice(Math.max(0, status.indexOf('{'))));
  const code = members(members(inside).error).code;
  const error = Object.keys(members(inside)).length > 0 ? inside : { error: { message: status.slice(0, 2_000) } };
  return retoldError(name, { code, error }, dialect, context.endpoint);
}

/** Gemini and Claude on Vertex AI: requests and answers are files in a bucket of Cloud Storage. */
export const vertex: NativeApi = {
  endpoints: ['/v1/chat/completions', '/v1/messages'],
  takes: 'gs',
  demands: { hasOneModel: true, fits: ({ model }) => typeof model === 'string' && modelAt(model) !== null },
  check: (place) => {
    folderOf(place, 'gs', PROVIDER);
    jobsOf(place);
  },
  encodeLine,
  create,
  list: ({ batchId, place }, after) => ({
    method: 'GET',
    path: jobsOf(place),
    search: `?pageSize=100&filter=${segment(`display_name="${batchId}"`)}${after === null ? '' : `&pageToken=${segment(after)}`}`,
  }),
  found: (answer, batchId) => {
    const { batchPredictionJobs, nextPageToken } = members(answer);
    const job = jobsIn(batchPredictionJobs).find((each) => members(each).displayName === batchId);
    return job === undefined ? { job: null, next: text(nextPageToken) } : { job: readJob(job), next: null };
  },
  read: (id) => ({ method: 'GET', path: `/${id}` }),
  readJob,
  cancel: (id) => ({ method: 'POST', path: `/${id}:cancel`, body: {} }),
  readResult,
  leftovers: ({ file }) => folderOfFile(file),
};
