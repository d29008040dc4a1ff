import { type Call, digest, type Exchange, fixed, jsonBody } from './exchange.ts';
import type { FileShelf, StoredFile } from './files.ts';
import { isObject, type JsonObject, objectIn, textIn } from './json.ts';
import { Refusal } from './refusal.ts';
import { tokensFor } from './reply.ts';

/** When a job leaves each state, in milliseconds after it was made. */
const TIMELINE = { queuedMs: 150, runningMs: 300, finishedMs: 900 };
const STEPS = 3;
const MOST_JOBS = 1000;

/** Models with a fate of their own. */
const FATES = { neverDone: 'never-done', failing: 'always-fails', closed: 'self-serve-closed' };

interface Job {
  readonly id: string;
  readonly createdMs: number;
  readonly body: JsonObject;
  readonly model: string;
  readonly trainingFile: StoredFile;
  /** What is wrong with the training file. */
  readonly fault: string | null;
  readonly seed: number;
  cancelledMs: number | null;
  /** Since when it is paused, and how long it was before. */
  pausedMs: number | null;
  pausedForMs: number;
  resultFile: string | null;
}

type Status = 'validating_files' | 'queued' | 'running' | 'paused' | 'succeeded' | 'failed' | 'cancelled';

/** OpenAI's fine-tuning jobs, with a life of about a second. Each simulator has its own. */
export class TuningJobs {
  readonly #jobs = new Map<string, Job>();
  readonly #files: FileShelf;
  #created = 0;

  constructor(files: FileShelf) {
    this.#files = files;
  }

  read(call: Call): Promise<Exchange> | Exchange | null {
    const { method, path, now } = call;
    const [, , jobs, id, part, ...more] = path.split('/');
    if (jobs !== 'jobs' || more.length > 0) return null;
    if (id === undefined) return method === 'POST' ? this.#create(call) : method === 'GET' ? this.#list(call) : null;
    const job = this.#jobs.get(id);
    if (!job)
      throw new Refusal(404, `Could not find fine tune: ${id}`, { param: 'fine_tune_id', code: 'fine_tune_not_found' });
    if (method === 'GET') {
      if (part === undefined) return fixed(this.#shown(job, now));
      if (part === 'events') return fixed(page(call, eventsOf(job, now).reverse()));
      return part === 'checkpoints' ? fixed(page(call, checkpointsOf(job, now).reverse())) : null;
    }
    if (method !== 'POST' || part === undefined) return null;
    return this.#act(job, part, now);
  }

  #act(job: Job, verb: string, now: number): Exchange | null {
    const status = statusOf(job, now);
    if (verb !== 'cancel' && verb !== 'pause' && verb !== 'resume') return null;
    const isOver = status === 'succeeded' || status === 'failed' || status === 'cancelled';
    const isWrong = verb === 'resume' ? status !== 'paused' : verb === 'pause' && status === 'paused';
    if (isOver || isWrong) throw new Refusal(400, `Job ${job.id} is ${status}; ${verb} is not possible.`);
    if (verb === 'cancel') job.cancelledMs = now;
    else if (verb === 'pause') job.pausedMs = now;
    else {
      job.pausedForMs += now - job.pausedMs!;
      job.pausedMs = null;
    }
    return fixed(this.#shown(job, now));
  }

  async #create(call: Call): Promise<Exchange> {
    const body = await jsonBody(call);
    const model = textIn(body.model);
    if (!model) throw new Refusal(400, 'The field model is missing; it must be a string.', { param: 'model' });
    if (model === FATES.closed)
      throw new Refusal(403, 'Your organization is not able to create new fine-tuning jobs.', {
        code: 'permission_denied',
      });
    const trainingFile = this.#fileOf(body.training_file, 'training_file');
    if (body.validation_file !== undefined && body.validation_file !== null)
      this.#fileOf(body.validation_file, 'validation_file');
    this.#created++;
    const id = `ftjob-${digest(`${this.#created} ${JSON.stringify(body)}`)}`;
    const job: Job = {
      id,
      createdMs: call.now,
      body,
      model,
      trainingFile,
      fault: model === FATES.failing ? 'This model always fails.' : faultIn(trainingFile),
      seed: typeof body.seed === 'number' ? body.seed : 42,
      cancelledMs: null,
      pausedMs: null,
      pausedForMs: 0,
      resultFile: null,
    };
    this.#jobs.set(id, job);
    for (const oldest of this.#jobs.keys()) {
      if (this.#jobs.size <= MOST_JOBS) break;
      this.#jobs.delete(oldest);
    }
    return fixed(this.#shown(job, call.now));
  }

  #fileOf(id: unknown, param: string): StoredFile {
    const file = typeof id === 'string' ? this.#files.get(id) : undefined;
    if (!file) throw new Refusal(400, `No file ${String(id)}.`, { param });
    if (file.purpose !== 'fine-tune') throw new Refusal(400, `File ${file.id} is not for fine-tuning.`, { param });
    return file;
  }

  #list(call: Call): Exchange {
    const filters = [...call.query].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value] as const];
    });
    const wanted = [...this.#jobs.values()]
      .filter(({ body }) => filters.every(([key, value]) => objectIn(body.metadata)[key] === value))
      .reverse();
    return fixed(
      page(
        call,
        wanted.map((job) => this.#shown(job, call.now)),
      ),
    );
  }

  #shown(job: Job, now: number) {
    const status = statusOf(job, now);
    const isDone = status === 'succeeded';
    if (isDone) job.resultFile ??= this.#results(job);
    const finished = isDone || status === 'failed' || status === 'cancelled';
    return {
      id: job.id,
      object: 'fine_tuning.job',
      created_at: seconds(job.createdMs),
      finished_at: finished ? seconds(finishedMs(job)) : null,
      model: job.model,
      fine_tuned_model: isDone ? modelOf(job) : null,
      organization_id: 'org-simulated',
      result_files: job.resultFile === null ? [] : [job.resultFile],
      status,
      validation_file: job.body.validation_file ?? null,
      training_file: job.trainingFile.id,
      hyperparameters: hyperparametersOf(job, status),
      trained_tokens: isDone ? tokensFor(job.trainingFile.content.length) : null,
      error: status === 'failed' ? { code: 'invalid_training_file', message: job.fault, param: 'training_file' } : null,
      user_provided_suffix: job.body.suffix ?? null,
      seed: job.seed,
      estimated_finish: status === 'running' && job.model !== FATES.neverDone ? seconds(finishedMs(job)) : null,
      integrations: job.body.integrations ?? [],
      metadata: job.body.metadata ?? null,
      method: job.body.method ?? {
        type: 'supervised',
        supervised: { hyperparameters: hyperparametersOf(job, status) },
      },
    };
  }

  #results(job: Job): string {
    const lines = Array.from({ length: STEPS }, (_, index) => `${index + 1},${lossAt(index + 1)},0.9,,`);
    const text = ['step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy', ...lines].join('\n');
    return this.#files.add({
      created_at: seconds(finishedMs(job)),
      filename: 'step_metrics.csv',
      purpose: 'fine-tune-results',
      contentType: 'text/csv',
      content: new TextEncoder().encode(`${text}\n`),
    }).id;
  }
}

/** How far the job is, without the time in which it was paused. */
const ageOf = (job: Job, now: number): number => (job.pausedMs ?? now) - job.createdMs - job.pausedForMs;

function statusOf(job: Job, now: number): Status {
  if (job.cancelledMs !== null) return 'cancelled';
  const age = ageOf(job, now);
  if (age < TIMELINE.queuedMs) return job.pausedMs === null ? 'validating_files' : 'paused';
  if (job.fault !== null) return 'failed';
  if (job.pausedMs !== null) return 'paused';
  if (age < TIMELINE.runningMs) return 'queued';
  return age < TIMELINE.finishedMs || job.model === FATES.neverDone ? 'running' : 'succeeded';
}

function finishedMs(job: Job): number {
  if (job.cancelledMs !== null) return job.cancelledMs;
  return job.createdMs + job.pausedForMs + (job.fault === null ? TIMELINE.finishedMs : TIMELINE.queuedMs);
}

function hyperparametersOf(job: Job, status: Status) {
  const method = objectIn(job.body.method);
  const given = objectIn(objectIn(method[textIn(method.type) ?? '']).hyperparameters ?? job.body.hyperparameters);
  const isSettled = status === 'running' || status === 'succeeded';
  const chosen = isSettled ? { n_epochs: 3, batch_size: 1, learning_rate_multiplier: 1.8 } : {};
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== 'auto'));
  return { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 'auto', ...chosen, ...asked };
}

const modelOf = ({ model, body, id }: Job): string =>
  `ft:${model}:simulated:${textIn(body.suffix) ?? ''}:${id.slice(-8)}`;

const lossAt = (step: number): number => Number((1 / step).toFixed(2));
const stepMs = (job: Job, step: number): number =>
  job.createdMs +
  job.pausedForMs +
  TIMELINE.runningMs +
  ((TIMELINE.finishedMs - TIMELINE.runningMs) * step) / (STEPS + 1);

/** Oldest first. */
function eventsOf(job: Job, now: number): { id: string }[] {
  const start = job.createdMs + job.pausedForMs;
  const validation = textIn(job.body.validation_file);
  const second = validation === undefined ? '' : ` and validation file: ${validation}`;
  const events: { at: number; message: string; level?: string; data?: object }[] = [
    { at: job.createdMs, message: `Created fine-tuning job: ${job.id}` },
    { at: job.createdMs, message: `Validating training file: ${job.trainingFile.id}${second}` },
  ];
  if (job.fault !== null) events.push({ at: start + TIMELINE.queuedMs, message: job.fault, level: 'error' });
  else {
    events.push({ at: start + TIMELINE.queuedMs, message: 'Files validated, moving job to queued state' });
    events.push({ at: start + TIMELINE.runningMs, message: 'Fine-tuning job started' });
    for (let step = 1; step <= STEPS; step++) {
      const data = { step, train_loss: lossAt(step), total_steps: STEPS };
      events.push({ at: stepMs(job, step), message: `Step ${step}/${STEPS}: training loss=${lossAt(step)}`, data });
    }
    if (job.model !== FATES.neverDone) {
      events.push({ at: finishedMs(job), message: `New fine-tuned model created: ${modelOf(job)}` });
      events.push({ at: finishedMs(job), message: 'The job has successfully completed' });
    }
  }
  const until = job.cancelledMs ?? job.pausedMs ?? now;
  const happened = events.filter(({ at }) => at <= until);
  if (job.cancelledMs !== null) happened.push({ at: job.cancelledMs, message: 'Fine-tuning job cancelled' });
  return happened.map(({ at, message, level = 'info', data }) => ({
    id: `ftevent-${digest(`${job.id} ${message}`)}`,
    object: 'fine_tuning.job.event',
    created_at: seconds(at),
    level,
    message,
    type: data ? 'metrics' : 'message',
    data: data ?? {},
  }));
}

/** Oldest first. */
function checkpointsOf(job: Job, now: number): { id: string }[] {
  if (statusOf(job, now) !== 'succeeded') return [];
  return Array.from({ length: STEPS }, (_, index) => index + 1).map((step) => ({
    id: `ftckpt_${digest(`${job.id} ${step}`)}`,
    object: 'fine_tuning.job.checkpoint',
    created_at: seconds(stepMs(job, step)),
    fine_tuned_model_checkpoint: `${modelOf(job)}:ckpt-step-${step}`,
    fine_tuning_job_id: job.id,
    step_number: step,
    metrics: { step, train_loss: lossAt(step), train_mean_token_accuracy: 0.9 },
  }));
}

/** Newest first, as the list is given. */
function page({ query }: Call, all: readonly { readonly id: string }[]) {
  const after = query.get('after');
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const limit = Number(query.get('limit') ?? 20);
  if (!Number.isInteger(limit) || limit < 1)
    throw new Refusal(400, 'The parameter limit must be a whole number of at least 1.', { param: 'limit' });
  const data = all.slice(from, from + limit);
  return { object: 'list', data, has_more: from + data.length < all.length };
}

/** Every line must be an example: an object with messages or an input. */
function faultIn({ content }: StoredFile): string | null {
  const lines = new TextDecoder().decode(content).split('\n');
  let examples = 0;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    examples++;
    if (!isExample(line)) return `The training file is not valid: line ${index + 1} is no example.`;
  }
  return examples === 0 ? 'The training file holds no examples.' : null;
}

function isExample(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && ('messages' in value || 'input' in value || 'prompt' in value);
  } catch {
    return false;
  }
}

const seconds = (ms: number): number => Math.floor(ms / 1000);
