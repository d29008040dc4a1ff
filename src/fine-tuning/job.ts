import * as z from 'zod';
import type { OrganisationId, WorkspaceId } from '../core/ids.ts';
import type { ObjectId } from '../core/object-ids.ts';
import type { Checked } from '../core/schema.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import type { Hyperparameters, JobRequest } from './input.ts';

export type JobId = ObjectId<'fineTuningJob'>;

/** Those of spec 2.3. A job that is paused shows as `queued`. */
export const STATUSES = ['validating_files', 'queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof STATUSES)[number];

export interface JobError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

interface Living {
  readonly status: 'validating_files' | 'queued' | 'running';
  readonly isPaused: boolean;
  /** Seconds since the epoch; only a running job has one. */
  readonly estimatedFinish: number | null;
}

interface Succeeded {
  readonly status: 'succeeded';
  readonly finishedAt: number;
  readonly fineTunedModel: string | null;
  readonly trainedTokens: number | null;
  readonly resultFiles: readonly string[];
}

/** Each state carries what is true in it. Times are milliseconds. */
export type JobState =
  | Living
  | Succeeded
  | { readonly status: 'failed'; readonly finishedAt: number; readonly error: JobError }
  | { readonly status: 'cancelled'; readonly finishedAt: number };

/** What the job and its files are called at the provider. */
export interface Remote {
  /** By the id or address that was asked for. */
  readonly files: Readonly<Record<string, RemoteFile>>;
  /** Whether the provider has been asked for the job, and may have made it though its answer never came. */
  readonly isCreating: boolean;
  readonly job: string | null;
  /** What the provider settled on where `auto` was asked for. */
  readonly hyperparameters: Hyperparameters | null;
}

export interface RemoteFile {
  readonly name: string | null;
  readonly isReady: boolean;
}

export const nowhere: Remote = { files: {}, isCreating: false, job: null, hyperparameters: null };

export interface Job {
  readonly id: JobId;
  readonly workspaceId: WorkspaceId;
  readonly organisationId: OrganisationId;
  /** The user who made it; null if no user did. */
  readonly userId: string | null;
  readonly virtualKey: string;
  readonly provider: string;
  readonly request: JobRequest;
  readonly state: JobState;
  readonly remote: Remote;
  readonly createdAt: number;
}

/** What a provider says of a job. */
export interface Observed {
  readonly status: JobStatus | 'paused';
  /** Milliseconds, where the provider says when. */
  readonly finishedAt?: number | null;
  readonly fineTunedModel?: string | null;
  readonly trainedTokens?: number | null;
  readonly error?: JobError | null;
  /** Ids at the provider. */
  readonly resultFiles?: readonly string[];
  readonly estimatedFinish?: number | null;
  readonly hyperparameters?: Hyperparameters | null;
}

export const beginning: JobState = { status: 'validating_files', isPaused: false, estimatedFinish: null };

export const isFinished = (state: JobState): state is Exclude<JobState, Living> => 'finishedAt' in state;

const PLACE = { validating_files: 0, queued: 1, running: 2 } as const;
const FORWARD = ['validating_files', 'queued', 'running'] as const;

export interface Advanced {
  readonly state: JobState;
  /** The states that were entered, in order: a worker that looks rarely still passes through `queued`. */
  readonly entered: readonly JobStatus[];
}

/**
 * Where a job stands after what its provider says. It goes forward only, but for a pause, and what is finished stays as
 * it is: a provider that tells an old story changes nothing.
 */
export function advance(
  job: Pick<Job, 'state' | 'createdAt'>,
  seen: Observed,
  now: number,
  resultFiles: readonly string[] = [],
): Advanced {
  const { state } = job;
  if (isFinished(state)) return { state, entered: [] };
  if (seen.status === 'paused') return paused(state);
  if (seen.status === 'validating_files' || seen.status === 'queued' || seen.status === 'running')
    return living(state, seen.status, seen.estimatedFinish ?? null);
  const entered = [...between(state.status, seen.status === 'succeeded' ? 'running' : state.status), seen.status];
  return { state: ended(seen, seen.status, finishOf(job, seen, now), resultFiles), entered };
}

function paused(state: Living): Advanced {
  const isMove = state.status !== 'queued';
  return {
    state: { status: 'queued', isPaused: true, estimatedFinish: null },
    entered: isMove ? ['queued'] : [],
  };
}

function living(state: Living, said: Living['status'], estimatedFinish: number | null): Advanced {
  const status = PLACE[said] > PLACE[state.status] ? said : state.status;
  return {
    state: { status, isPaused: false, estimatedFinish: status === 'running' ? estimatedFinish : null },
    entered: between(state.status, status),
  };
}

const between = (from: Living['status'], to: Living['status']): JobStatus[] =>
  FORWARD.slice(PLACE[from] + 1, PLACE[to] + 1);

function ended(
  seen: Observed,
  status: 'succeeded' | 'failed' | 'cancelled',
  finishedAt: number,
  resultFiles: readonly string[],
): JobState {
  switch (status) {
    case 'succeeded': {
      const { fineTunedModel = null, trainedTokens = null } = seen;
      return { status, finishedAt, fineTunedModel, trainedTokens, resultFiles };
    }
    case 'failed':
      return {
        status,
        finishedAt,
        error: seen.error ?? { code: 'job_failed', message: 'The job failed.', param: null },
      };
    case 'cancelled':
      return { status, finishedAt };
    default:
      return status satisfies never;
  }
}

/** The provider's word for when it ended, unless its clock differs so much from ours that it cannot be. */
function finishOf({ createdAt }: Pick<Job, 'createdAt'>, { finishedAt }: Observed, now: number): number {
  // Providers tell whole seconds.
  const isPossible = typeof finishedAt === 'number' && finishedAt >= createdAt - 1_000 && finishedAt <= now;
  return isPossible ? Math.max(finishedAt, createdAt) : now;
}

export const jobError = () => z.object({ code: z.string(), message: z.string(), param: z.string().nullable() });

export const jobObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('fine_tuning.job'),
      created_at: z.number().int(),
      error: jobError().nullable(),
      fine_tuned_model: z.string().nullable(),
      finished_at: z.number().int().nullable(),
      hyperparameters: z.record(z.string(), z.union([z.number(), z.string()])),
      model: z.string(),
      organization_id: z.string(),
      result_files: z.array(z.string()),
      status: z.enum(STATUSES),
      trained_tokens: z.number().int().nullable(),
      training_file: z.string(),
      validation_file: z.string().nullable(),
      seed: z.number().int(),
      integrations: z.array(z.unknown()).nullable(),
      estimated_finish: z.number().int().nullable(),
      method: z.looseObject({ type: z.string() }),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'FineTuningJob' });
export type JobObject = Checked<typeof jobObject>;

/** A job as clients see it. */
export function shownJob(job: Job): JobObject {
  const { id, createdAt, request, state, organisationId } = job;
  const { method } = request;
  const hyperparameters = { ...AUTOMATIC, ...method.hyperparameters, ...job.remote.hyperparameters };
  const inner = { ...(method.grader !== undefined && { grader: method.grader }), hyperparameters };
  return {
    id,
    object: 'fine_tuning.job',
    created_at: unixSeconds(createdAt),
    error: state.status === 'failed' ? state.error : null,
    fine_tuned_model: state.status === 'succeeded' ? state.fineTunedModel : null,
    finished_at: isFinished(state) ? unixSeconds(state.finishedAt) : null,
    hyperparameters,
    model: request.model,
    organization_id: organisationId,
    result_files: state.status === 'succeeded' ? [...state.resultFiles] : [],
    status: state.status,
    trained_tokens: state.status === 'succeeded' ? state.trainedTokens : null,
    training_file: request.training_file,
    validation_file: request.validation_file,
    seed: request.seed,
    integrations: request.integrations ? [...request.integrations] : null,
    estimated_finish: isFinished(state) ? null : state.estimatedFinish,
    method: { type: method.type, [method.type]: inner },
    metadata: { ...request.metadata },
  };
}

const AUTOMATIC = { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 'auto' };
