import { fail } from '../../core/errors.ts';
import { accountProject } from '../../providers/google-token.ts';
import type { ProviderOptions } from '../../providers/provider.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { Hyperparameters, Method } from '../input.ts';
import type { JobError, Observed } from '../job.ts';
import { dateIn, errorIn, lastSegment, listIn, type Members, needed, numberIn, objectIn, textIn } from './answers.ts';
import { type Backend, type NewJob, type Place, type RemoteCheckpoint, renamed, tokenOf } from './backend.ts';
import { bucketOf, storageFiles } from './storage.ts';
import { geminiExample } from './training-examples.ts';

const optionOf = (options: ProviderOptions, name: string): string =>
  textIn(options[name]) ?? fail('missing_provider_option', 'vertex-ai', name);

function jobs({ options }: Place, rest = ''): string {
  const project =
    textIn(options.vertex_project_id) ?? accountProject(options) ?? optionOf(options, 'vertex_project_id');
  const region = optionOf(options, 'vertex_region').toLowerCase();
  return `/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(region)}/tuningJobs${rest}`;
}

const jobPath = (remote: string, place: Place, verb = ''): string =>
  jobs(place, `/${encodeURIComponent(remote)}${verb}`);

const LABEL = 'gateway_job';

const NUMBERS = {
  supervised: {
    whole: { n_epochs: 'epochCount', batch_size: 'batchSize' },
    fraction: { learning_rate_multiplier: 'learningRateMultiplier' },
  },
  dpo: {
    whole: { n_epochs: 'epochCount' },
    fraction: { learning_rate_multiplier: 'learningRateMultiplier', beta: 'beta' },
  },
} as const;

/** Whole numbers are 64 bits wide there, which JSON holds as text. */
function hyperParameters(method: Method, options: Readonly<Record<string, unknown>>) {
  const names = NUMBERS[method.type === 'dpo' ? 'dpo' : 'supervised'];
  const found = {
    ...renamed(method, names.whole, String),
    ...renamed(method, names.fraction, Number),
    ...(options.adapter_size !== undefined && { adapterSize: options.adapter_size }),
  };
  return Object.keys(found).length > 0 ? { hyperParameters: found } : {};
}

function create({ id, request, trainingFile, validationFile }: NewJob, place: Place): Question {
  const spec = {
    trainingDatasetUri: trainingFile,
    ...(validationFile !== null && { validationDatasetUri: validationFile }),
    ...hyperParameters(request.method, request.providerOptions),
  };
  return {
    method: 'POST',
    path: jobs(place),
    body: {
      baseModel: request.model,
      [request.method.type === 'dpo' ? 'preferenceOptimizationSpec' : 'supervisedTuningSpec']: spec,
      ...(request.suffix !== null && { tunedModelDisplayName: request.suffix }),
      // Labels are lower-case.
      labels: { [LABEL]: tokenOf(id) },
    },
  };
}

const STATES: Readonly<Record<string, Observed['status']>> = {
  UNSPECIFIED: 'queued',
  QUEUED: 'queued',
  PENDING: 'queued',
  PAUSED: 'paused',
  RUNNING: 'running',
  UPDATING: 'running',
  // It may still end in another way.
  CANCELLING: 'running',
  SUCCEEDED: 'succeeded',
  PARTIALLY_SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  EXPIRED: 'failed',
  CANCELLED: 'cancelled',
};

/** While the job as a whole is running, the details tell what it waits for. */
const DETAILS: Readonly<Record<string, Observed['status']>> = {
  PROCESSING_DATASET: 'validating_files',
  WAITING_FOR_QUOTA: 'queued',
  WAITING_FOR_CAPACITY: 'queued',
};

function statusOf(job: Members): Observed['status'] {
  const state = needed(job.state, 'state').replace(/^JOB_STATE_/, '');
  const status = STATES[state];
  if (!status) throw new Error(`"${state.slice(0, 40)}" is no state that is known`);
  const isEarly = state === 'RUNNING' || status === 'queued';
  const detail = isEarly ? DETAILS[(textIn(job.tuningJobState) ?? '').replace(/^TUNING_JOB_STATE_/, '')] : undefined;
  return detail ?? status;
}

function observe(answer: unknown): Observed {
  const job = objectIn(answer);
  const status = statusOf(job);
  const tuned = objectIn(job.tunedModel);
  return {
    status,
    finishedAt: dateIn(job.endTime),
    // An endpoint can be called; the model alone has to be deployed first.
    fineTunedModel: textIn(tuned.endpoint) ?? textIn(tuned.model),
    trainedTokens: tokensIn(objectIn(job.tuningDataStats)),
    error: status === 'failed' ? failureOf(job) : null,
    hyperparameters: settled(job),
  };
}

const failureOf = (job: Members): JobError => {
  const { code, message } = objectIn(job.error);
  const isExpired = job.state === 'JOB_STATE_EXPIRED';
  return {
    code: code === undefined ? (isExpired ? 'expired' : 'job_failed') : String(code),
    message: textIn(message) ?? (isExpired ? 'The job has expired.' : 'The job failed.'),
    param: null,
  };
};

function tokensIn(stats: Members): number | null {
  for (const kind of Object.values(stats)) {
    const found = numberIn(objectIn(kind).totalBillableTokenCount);
    if (found !== null) return found;
  }
  return null;
}

function settled(job: Members): Hyperparameters | null {
  const spec = objectIn(job.supervisedTuningSpec ?? job.preferenceOptimizationSpec);
  const theirs = objectIn(spec.hyperParameters);
  const found: Record<string, number> = {};
  for (const [ours, name] of [
    ['n_epochs', 'epochCount'],
    ['batch_size', 'batchSize'],
    ['learning_rate_multiplier', 'learningRateMultiplier'],
    ['beta', 'beta'],
  ] as const) {
    const value = numberIn(theirs[name]);
    if (value !== null) found[ours] = value;
  }
  return Object.keys(found).length > 0 ? found : null;
}

function checkpointsIn(answer: unknown): RemoteCheckpoint[] {
  const job = objectIn(answer);
  return listIn(objectIn(job.tunedModel).checkpoints)
    .map((checkpoint) => ({
      remoteId: needed(checkpoint.checkpointId, 'checkpointId'),
      createdAt: dateIn(job.updateTime) ?? 0,
      model: textIn(checkpoint.endpoint) ?? needed(checkpoint.checkpointId, 'checkpointId'),
      stepNumber: numberIn(checkpoint.step) ?? 0,
      metrics: {},
    }))
    .reverse();
}

/** Google's Gemini models on Vertex AI. Training files are addresses in Cloud Storage. */
export const vertex: Backend = {
  vocabulary: {
    methods: {
      supervised: ['n_epochs', 'batch_size', 'learning_rate_multiplier'],
      dpo: ['n_epochs', 'learning_rate_multiplier', 'beta'],
    },
    hasSeed: false,
    hasIntegrations: false,
    takesExtra: false,
    options: ['adapter_size'],
  },
  files: {
    ...storageFiles({ scheme: 'gs', provider: 'vertex-ai' }),
    send: ({ name }, place) => {
      const { bucket, folder } = bucketOf(place, 'gs', 'vertex-ai');
      const object = encodeURIComponent(`${folder}${name}.jsonl`);
      return {
        method: 'POST',
        url: `https://storage.googleapis.com/upload/storage/v1/b/${bucket}/o?uploadType=media&name=${object}`,
        contentType: 'application/jsonl',
      };
    },
    translate: geminiExample,
  },
  check: (place) => void jobs(place),
  create,
  createdIn: (answer) => lastSegment(needed(objectIn(answer).name, 'name')),
  find: ({ id }, place, after) => ({
    method: 'GET',
    path: jobs(place),
    search: `?pageSize=100&filter=${encodeURIComponent(`labels.${LABEL}="${tokenOf(id)}"`)}${after ? `&pageToken=${encodeURIComponent(after)}` : ''}`,
  }),
  foundIn: (answer, { id }) => {
    const { tuningJobs, nextPageToken } = objectIn(answer);
    const found = listIn(tuningJobs).find((job) => objectIn(job.labels)[LABEL] === tokenOf(id));
    return { job: found ? lastSegment(needed(found.name, 'name')) : null, next: textIn(nextPageToken) };
  },
  read: (remote, place) => ({ method: 'GET', path: jobPath(remote, place) }),
  observe,
  cancel: (remote, place) => ({ method: 'POST', path: jobPath(remote, place, ':cancel'), body: {} }),
  checkpoints: {
    ask: (remote, place) => ({ method: 'GET', path: jobPath(remote, place) }),
    in: (answer) => ({ items: checkpointsIn(answer), next: null }),
  },
  failure: errorIn,
};
