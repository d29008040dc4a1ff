import { slugFrom } from '../../core/ids.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { Hyperparameters } from '../input.ts';
import type { Observed } from '../job.ts';
import { dateIn, errorIn, lastSegment, type Members, needed, numberIn, objectIn, textIn } from './answers.ts';
import { type Backend, missing, type NewJob, type Place, type RemoteFiles, renamed, tokenOf } from './backend.ts';

const MEBIBYTE = 1 << 20;
const KINDS = {
  supervised: { path: 'supervisedFineTuningJobs', parameter: 'supervisedFineTuningJobId' },
  dpo: { path: 'dpoJobs', parameter: 'dpoJobId' },
} as const;

const accountOf = ({ tuning }: Place): string => tuning.account_id ?? missing('fireworks-ai', 'account_id');
const account = (place: Place): string => `accounts/${accountOf(place)}`;
const kindOf = ({ request }: NewJob) => KINDS[request.method.type === 'dpo' ? 'dpo' : 'supervised'];

/** A job is called by its kind and by an id that follows from ours: nothing has to be looked for. */
const remoteOf = (job: NewJob): string => `${kindOf(job).path}/${tokenOf(job.id)}`;
const jobPath = (remote: string, place: Place, verb = ''): string => `/${account(place)}/${remote}${verb}`;

const datasetPath = (name: string, place: Place, verb = ''): string => `/${account(place)}/datasets/${name}${verb}`;

const files: RemoteFiles = {
  mostBytes: 150 * MEBIBYTE,
  prepare: ({ name }, place) => ({
    method: 'POST',
    path: `/${account(place)}/datasets`,
    body: { datasetId: name, dataset: { userUploaded: {} } },
  }),
  send: ({ name }, place) => ({
    method: 'POST',
    path: datasetPath(name, place, ':upload'),
    form: { fields: {}, filename: `${name}.jsonl` },
  }),
  nameIn: (_answer, { name }, place) => `${account(place)}/datasets/${name}`,
  readiness: {
    ask: (name, place) => ({ method: 'GET', path: datasetPath(lastSegment(name), place) }),
    in: (answer) => {
      const { state, status } = objectIn(answer);
      if (state === 'READY') return 'ready';
      const code = textIn(objectIn(status).code);
      if (code === null || code === 'OK') return 'waiting';
      return { ...errorIn(0, status), code: 'invalid_training_file', param: 'training_file' };
    },
  },
};

/** A model without an account is one of Fireworks' own. */
const fullModel = (model: string): string =>
  model.startsWith('accounts/') ? model : `accounts/fireworks/models/${model}`;

function create(job: NewJob, place: Place): Question {
  const { id, request, trainingFile, validationFile } = job;
  const { learning_rate, lora_rank, max_context_length } = request.providerOptions;
  const training = {
    baseModel: fullModel(request.model),
    ...(request.suffix !== null && { outputModel: `${account(place)}/models/${modelName(job)}` }),
    ...renamed(request.method, { n_epochs: 'epochs', batch_size: 'batchSize' }, Number),
    ...(learning_rate !== undefined && { learningRate: learning_rate }),
    ...(lora_rank !== undefined && { loraRank: lora_rank }),
    ...(max_context_length !== undefined && { maxContextLength: max_context_length }),
  };
  const { path, parameter } = kindOf(job);
  const common = {
    displayName: request.suffix ?? id,
    dataset: trainingFile,
    ...(validationFile !== null && { evaluationDataset: validationFile }),
  };
  const { beta } = request.method.hyperparameters;
  const isDpo = request.method.type === 'dpo';
  return {
    method: 'POST',
    path: `/${account(place)}/${path}`,
    search: `?${parameter}=${tokenOf(id)}`,
    body: isDpo
      ? {
          ...common,
          trainingConfig: training,
          lossConfig: { method: 'DPO', ...(typeof beta === 'number' && { klBeta: beta }) },
        }
      : { ...common, ...training },
  };
}

const modelName = ({ id, request }: NewJob): string =>
  `${slugFrom(request.suffix ?? '', 'model').slice(0, 40)}-${tokenOf(id).slice(3, 15)}`;

const STATES: Readonly<Record<string, Observed['status']>> = {
  UNSPECIFIED: 'queued',
  CREATING: 'queued',
  PENDING: 'queued',
  VALIDATING: 'validating_files',
  PAUSED: 'paused',
  RUNNING: 'running',
  ROLLOUT: 'running',
  EVALUATION: 'running',
  WRITING_RESULTS: 'running',
  COMPLETED: 'succeeded',
  EARLY_STOPPED: 'succeeded',
  FAILED: 'failed',
  EXPIRED: 'failed',
  CANCELLED: 'cancelled',
  DELETING: 'cancelled',
};

function observe(answer: unknown): Observed {
  const job = objectIn(answer);
  const state = needed(job.state, 'state').replace(/^JOB_STATE_/, '');
  const status = STATES[state];
  if (!status) throw new Error(`"${state.slice(0, 40)}" is no state that is known`);
  const training = objectIn(job.trainingConfig);
  const { code, message } = objectIn(job.status);
  return {
    status,
    finishedAt: dateIn(job.completedTime),
    fineTunedModel: textIn(job.outputModel) ?? textIn(training.outputModel),
    trainedTokens: numberIn(objectIn(job.jobProgress).inputTokens),
    error:
      status === 'failed'
        ? { code: textIn(code) ?? 'job_failed', message: textIn(message) ?? 'The job failed.', param: null }
        : null,
    hyperparameters: settled({ ...training, ...job }),
  };
}

/** 0 stands for what was not said. */
function settled(job: Members): Hyperparameters | null {
  const found: Record<string, number> = {};
  const epochs = numberIn(job.epochs);
  const batch = numberIn(job.batchSize);
  if (epochs) found.n_epochs = epochs;
  if (batch) found.batch_size = batch;
  return Object.keys(found).length > 0 ? found : null;
}

/** Fireworks AI. Its datasets hold examples in OpenAI's format. */
export const fireworks: Backend = {
  vocabulary: {
    methods: { supervised: ['n_epochs', 'batch_size'], dpo: ['n_epochs', 'batch_size', 'beta'] },
    hasSeed: false,
    hasIntegrations: false,
    takesExtra: false,
    options: ['learning_rate', 'lora_rank', 'max_context_length'],
  },
  files,
  check: (place) => void accountOf(place),
  create,
  createdIn: (answer, job) => {
    needed(objectIn(answer).name, 'name');
    return remoteOf(job);
  },
  find: (job, place) => ({ method: 'GET', path: jobPath(remoteOf(job), place) }),
  foundIn: (answer, job) => {
    const name = textIn(objectIn(answer).name);
    return { job: name !== null && lastSegment(name) === tokenOf(job.id) ? remoteOf(job) : null, next: null };
  },
  read: (remote, place) => ({ method: 'GET', path: jobPath(remote, place) }),
  observe,
  // Deleting the job, as others do, would destroy its record.
  cancel: (remote, place) => ({ method: 'POST', path: jobPath(remote, place, ':cancel'), body: {} }),
  failure: errorIn,
};
