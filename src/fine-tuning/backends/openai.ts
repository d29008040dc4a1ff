import type { Metadata } from '../../core/metadata-rule.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { Hyperparameters } from '../input.ts';
import { type JobError, type Observed, STATUSES } from '../job.ts';
import { errorIn, listIn, type Members, momentIn, needed, numberIn, objectIn, textIn } from './answers.ts';
import type { Backend, NewJob, RemoteCheckpoint, RemoteEvent, RemoteFiles, RemotePage } from './backend.ts';

const JOBS = '/fine_tuning/jobs';
const PAGE = 100;
/** The member of the job's metadata that holds our id: a node that takes over finds the job by it. */
export const MARK = 'gateway_job';
const MOST_PAIRS = 16;

const jobPath = (remote: string, rest = ''): string => `${JOBS}/${encodeURIComponent(remote)}${rest}`;
const paged = (after: string | null): string =>
  `?limit=${PAGE}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`;

/** The caller's pairs are shown from our own store; they go along as long as there is room for ours. */
const marked = (metadata: Metadata, id: string): Metadata =>
  Object.keys({ ...metadata, [MARK]: id }).length > MOST_PAIRS ? { [MARK]: id } : { ...metadata, [MARK]: id };

function create({ id, request, trainingFile, validationFile }: NewJob): Question {
  const { method } = request;
  const inner = {
    ...(method.grader !== undefined && { grader: method.grader }),
    ...(Object.keys(method.hyperparameters).length > 0 && { hyperparameters: method.hyperparameters }),
  };
  return {
    method: 'POST',
    path: JOBS,
    body: {
      ...request.extra,
      model: request.model,
      training_file: trainingFile,
      ...(validationFile !== null && { validation_file: validationFile }),
      ...(request.suffix !== null && { suffix: request.suffix }),
      ...(request.isMethodGiven && { method: { type: method.type, [method.type]: inner } }),
      seed: request.seed,
      ...(request.integrations?.length && { integrations: request.integrations }),
      metadata: marked(request.metadata, id),
    },
  };
}

/** Known states as they are; Azure has some of its own. */
const OTHER_STATES: Readonly<Record<string, Observed['status']>> = {
  pending: 'queued',
  created: 'queued',
  notRunning: 'validating_files',
  paused: 'paused',
  pausing: 'running',
  resuming: 'queued',
  cancelling: 'running',
  canceled: 'cancelled',
  deleted: 'cancelled',
};

export function observe(answer: unknown): Observed {
  const job = objectIn(answer);
  const said = needed(job.status, 'status');
  const status = STATUSES.find((each) => each === said) ?? OTHER_STATES[said];
  if (!status) throw new Error(`"${said.slice(0, 40)}" is no status that is known`);
  const error = objectIn(job.error);
  return {
    status,
    finishedAt: momentIn(job.finished_at),
    fineTunedModel: textIn(job.fine_tuned_model),
    trainedTokens: numberIn(job.trained_tokens),
    error:
      textIn(error.message) === null ? null : errorIn(0, { error: { ...error, code: error.code ?? 'job_failed' } }),
    resultFiles: Array.isArray(job.result_files)
      ? job.result_files.map((each) => textIn(each) ?? textIn(objectIn(each).id)).filter((id) => id !== null)
      : [],
    estimatedFinish: numberIn(job.estimated_finish),
    hyperparameters: settled(job),
  };
}

/** What `auto` has become, once the provider says so. */
function settled(job: Members): Hyperparameters | null {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(objectIn(job.hyperparameters)))
    if (typeof value === 'number') found[name] = value;
  return Object.keys(found).length > 0 ? found : null;
}

const pageOf = <Item>(answer: unknown, read: (item: Members) => Item): RemotePage<Item> => {
  const { data, has_more } = objectIn(answer);
  if (!Array.isArray(data)) throw new Error('the answer has no list');
  const items = listIn(data);
  return { items: items.map(read), next: has_more === true ? textIn(items.at(-1)?.id) : null };
};

const LEVELS = ['info', 'warn', 'error'] as const;

const eventOf = (event: Members): RemoteEvent => ({
  remoteId: needed(event.id, 'id'),
  createdAt: momentIn(event.created_at) ?? 0,
  level: LEVELS.find((level) => level === event.level) ?? 'info',
  message: textIn(event.message) ?? '',
  type: event.type === 'metrics' ? 'metrics' : 'message',
  data: event.data ?? null,
});

function checkpointOf(checkpoint: Members): RemoteCheckpoint {
  const metrics: Record<string, number> = {};
  for (const [name, value] of Object.entries(objectIn(checkpoint.metrics)))
    if (typeof value === 'number') metrics[name] = value;
  return {
    remoteId: needed(checkpoint.id, 'id'),
    createdAt: momentIn(checkpoint.created_at) ?? 0,
    model: needed(checkpoint.fine_tuned_model_checkpoint, 'fine_tuned_model_checkpoint'),
    stepNumber: numberIn(checkpoint.step_number) ?? 0,
    metrics,
  };
}

const filenameOf = (name: string): string => `${name}.jsonl`;
const MEBIBYTE = 1 << 20;

export const files: RemoteFiles = {
  mostBytes: 512 * MEBIBYTE,
  send: ({ name }) => ({
    method: 'POST',
    path: '/files',
    form: { fields: { purpose: 'fine-tune' }, filename: filenameOf(name) },
  }),
  nameIn: (answer) => needed(objectIn(answer).id, 'id'),
  find: () => ({ method: 'GET', path: '/files', search: '?purpose=fine-tune&limit=1000' }),
  foundIn: (answer, { name, bytes }) => {
    const found = listIn(objectIn(answer).data).find(
      (file) => file.filename === filenameOf(name) && numberIn(file.bytes) === bytes && file.status !== 'error',
    );
    return textIn(found?.id);
  },
};

/** Since May 2026 OpenAI lets fewer and fewer organisations make jobs; those that are left out get a 403. */
const isClosing = (status: number, { message }: JobError): boolean =>
  status === 403 && /fine.?tun/i.test(message) && !/api.?key|scope/i.test(message);

export function failure(status: number, answer: unknown): JobError {
  const error = errorIn(status, answer);
  if (!isClosing(status, error)) return error;
  return {
    code: 'self_serve_closed',
    message: `The provider no longer lets this account make fine-tuning jobs of its own: ${error.message} Models that are already tuned stay usable; for new jobs, use a virtual key of another provider.`,
    param: null,
  };
}

const HYPERPARAMETERS = ['n_epochs', 'batch_size', 'learning_rate_multiplier'];

/** OpenAI, and every provider that has its fine-tuning API. */
export const openai: Backend = {
  vocabulary: {
    methods: {
      supervised: HYPERPARAMETERS,
      dpo: [...HYPERPARAMETERS, 'beta'],
      reinforcement: [...HYPERPARAMETERS, 'reasoning_effort', 'compute_multiplier', 'eval_interval', 'eval_samples'],
    },
    hasSeed: true,
    hasIntegrations: true,
    takesExtra: true,
    options: [],
  },
  files,
  create,
  createdIn: (answer) => needed(objectIn(answer).id, 'id'),
  // A provider that does not know the filter answers with all jobs, so each one is looked at.
  find: ({ id }, _place, after) => ({
    method: 'GET',
    path: JOBS,
    search: `${paged(after)}&${encodeURIComponent(`metadata[${MARK}]`)}=${id}`,
  }),
  foundIn: (answer, { id }) => {
    const { items, next } = pageOf(answer, (job) => job);
    const found = items.find((job) => objectIn(job.metadata)[MARK] === id);
    return { job: textIn(found?.id), next };
  },
  read: (remote) => ({ method: 'GET', path: jobPath(remote) }),
  observe,
  cancel: (remote) => ({ method: 'POST', path: jobPath(remote, '/cancel') }),
  pause: (remote) => ({ method: 'POST', path: jobPath(remote, '/pause') }),
  resume: (remote) => ({ method: 'POST', path: jobPath(remote, '/resume') }),
  events: {
    ask: (remote, _place, after) => ({ method: 'GET', path: jobPath(remote, '/events'), search: paged(after) }),
    in: (answer) => pageOf(answer, eventOf),
  },
  checkpoints: {
    ask: (remote, _place, after) => ({ method: 'GET', path: jobPath(remote, '/checkpoints'), search: paged(after) }),
    in: (answer) => pageOf(answer, checkpointOf),
  },
  result: (file) => ({ method: 'GET', path: `/files/${encodeURIComponent(file)}/content` }),
  failure,
};
