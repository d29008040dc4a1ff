import { slugFrom } from '../../core/ids.ts';
import { awsSignature } from '../../providers/aws.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { Hyperparameters } from '../input.ts';
import type { Observed } from '../job.ts';
import { dateIn, errorIn, type Members, needed, numberIn, objectIn, textIn } from './answers.ts';
import { type Backend, missing, type NewJob, type Place, renamed, tokenOf } from './backend.ts';
import { bucketOf, storageFiles } from './storage.ts';
import { converseExample } from './training-examples.ts';

const JOBS = '/model-customization-jobs';
const PROVIDER = 'bedrock';

/** Bedrock takes a job's name wherever it takes its ARN, and the name is our id: nothing has to be looked for. */
const jobPath = (remote: string, rest = ''): string => `${JOBS}/${encodeURIComponent(remote)}${rest}`;

const outputOf = (place: Place): string => {
  const { bucket, folder } = bucketOf(place, 's3', PROVIDER);
  return `s3://${bucket}/${folder}`;
};

const roleOf = ({ tuning }: Place): string => tuning.role_arn ?? missing(PROVIDER, 'role_arn');

/** Names of models are unique in an account, so the suffix alone would serve only once. */
const modelName = ({ id, request }: NewJob): string =>
  `${slugFrom(request.suffix ?? 'gateway', 'gateway').slice(0, 40)}-${tokenOf(id).slice(3, 15)}`;

function create(job: NewJob, place: Place): Question {
  const { id, request, trainingFile, validationFile } = job;
  const { learning_rate, warmup_steps } = request.providerOptions;
  const hyperParameters = {
    ...renamed(request.method, { n_epochs: 'epochCount', batch_size: 'batchSize' }, String),
    ...(learning_rate !== undefined && { learningRate: String(learning_rate) }),
    ...(warmup_steps !== undefined && { learningRateWarmupSteps: String(warmup_steps) }),
  };
  return {
    method: 'POST',
    path: JOBS,
    body: {
      jobName: id,
      // Two equal requests with the same token make one job.
      clientRequestToken: id,
      customModelName: modelName(job),
      roleArn: roleOf(place),
      baseModelIdentifier: request.model,
      customizationType: 'FINE_TUNING',
      trainingDataConfig: { s3Uri: trainingFile },
      ...(validationFile !== null && { validationDataConfig: { validators: [{ s3Uri: validationFile }] } }),
      outputDataConfig: { s3Uri: outputOf(place) },
      ...(Object.keys(hyperParameters).length > 0 && { hyperParameters }),
      jobTags: [{ key: 'gateway_job', value: id }],
    },
  };
}

function statusOf(job: Members): Observed['status'] {
  const status = needed(job.status, 'status');
  switch (status) {
    case 'Completed':
      return 'succeeded';
    case 'Failed':
      return 'failed';
    case 'Stopped':
      return 'cancelled';
    // It may still end in another way.
    case 'Stopping':
      return 'running';
    case 'InProgress':
      return progressOf(objectIn(job.statusDetails));
    default:
      throw new Error(`"${status.slice(0, 40)}" is no status that is known`);
  }
}

function progressOf(details: Members): Observed['status'] {
  const at = (step: string) => textIn(objectIn(details[step]).status);
  if (at('trainingDetails') === 'InProgress') return 'running';
  if (at('validationDetails') === 'InProgress' || at('dataProcessingDetails') === 'InProgress')
    return 'validating_files';
  return at('trainingDetails') === 'NotStarted' ? 'queued' : 'running';
}

function observe(answer: unknown): Observed {
  const job = objectIn(answer);
  const status = statusOf(job);
  const message = textIn(job.failureMessage) ?? 'The job failed.';
  return {
    status,
    finishedAt: dateIn(job.endTime),
    fineTunedModel: textIn(job.outputModelArn),
    trainedTokens: null,
    error: status === 'failed' ? { code: 'job_failed', message, param: null } : null,
    hyperparameters: settled(objectIn(job.hyperParameters)),
  };
}

function settled(theirs: Members): Hyperparameters | null {
  const found: Record<string, number> = {};
  const epochs = numberIn(theirs.epochCount);
  const batch = numberIn(theirs.batchSize);
  if (epochs !== null) found.n_epochs = epochs;
  if (batch !== null) found.batch_size = batch;
  return Object.keys(found).length > 0 ? found : null;
}

/** Amazon Bedrock. Training files are addresses in S3, which the role of the virtual key may read. */
export const bedrock: Backend = {
  vocabulary: {
    methods: { supervised: ['n_epochs', 'batch_size'] },
    hasSeed: false,
    hasIntegrations: false,
    takesExtra: false,
    options: ['learning_rate', 'warmup_steps'],
  },
  files: {
    ...storageFiles({ scheme: 's3', provider: PROVIDER }),
    send: ({ name }, place) => {
      const { bucket, folder } = bucketOf(place, 's3', PROVIDER);
      const region = String(place.options.aws_region ?? '').toLowerCase();
      const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
      return {
        method: 'PUT',
        // With the bucket in the path, names with dots have a certificate, too.
        url: `https://s3.${region}.${domain}/${bucket}/${folder}${name}.jsonl`,
        contentType: 'application/jsonl',
        signed: awsSignature('s3'),
      };
    },
    translate: converseExample,
  },
  check: (place) => {
    roleOf(place);
    outputOf(place);
  },
  create,
  createdIn: (answer, { id }) => {
    needed(objectIn(answer).jobArn, 'jobArn');
    return id;
  },
  find: ({ id }) => ({ method: 'GET', path: jobPath(id) }),
  foundIn: (answer, { id }) => ({ job: objectIn(answer).jobName === id ? id : null, next: null }),
  read: (remote) => ({ method: 'GET', path: jobPath(remote) }),
  observe,
  cancel: (remote) => ({ method: 'POST', path: jobPath(remote, '/stop') }),
  failure: errorIn,
};
