import { expect, test } from 'bun:test';
import type { OrganisationId, WorkspaceId } from '../core/ids.ts';
import { schemaOf } from '../core/schema.ts';
import { enteredEvents } from './events.ts';
import {
  advance,
  beginning,
  isFinished,
  type Job,
  type JobState,
  type JobStatus,
  jobObject,
  nowhere,
  type Observed,
  STATUSES,
  shownJob,
} from './job.ts';

/** Where a job may go from each state, one step at a time. Back to `queued` only by a pause. */
const LEGAL: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  validating_files: ['queued', 'failed', 'cancelled'],
  queued: ['running', 'failed', 'cancelled'],
  running: ['succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
};

const CREATED_AT = 1_790_000_000_000;

const jobIn = (state: JobState): Job => ({
  id: 'ftjob-x',
  workspaceId: 'w' as WorkspaceId,
  userId: null,
  organisationId: 'o' as OrganisationId,
  virtualKey: 'sim',
  provider: 'openai',
  request: {
    model: 'base',
    training_file: 'file-a',
    validation_file: null,
    suffix: null,
    seed: 7,
    isSeedGiven: false,
    method: { type: 'supervised', hyperparameters: {} },
    isMethodGiven: false,
    integrations: null,
    metadata: {},
    providerOptions: {},
    extra: {},
  },
  state,
  remote: nowhere,
  createdAt: CREATED_AT,
});

/** Numbers that look random and are the same every time. */
function generator(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Anything a provider could say, sense or nonsense. */
function saying(random: () => number, now: number): Observed {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  return {
    status: pick([...STATUSES, 'paused', 'validating_files', 'queued', 'running'] as const),
    finishedAt: pick([null, undefined, now, now - 3_000, now + 60_000, CREATED_AT - 60_000, 0]),
    fineTunedModel: pick([null, undefined, 'ft:base']),
    trainedTokens: pick([null, undefined, 120]),
    error: pick([null, undefined, { code: 'bad', message: 'It was bad.', param: null }]),
    estimatedFinish: pick([null, undefined, Math.floor(now / 1_000) + 60]),
  };
}

test('no sequence of what providers say leads a job astray', () => {
  const reached = new Set<JobStatus>();
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = generator(seed);
    let job = jobIn(beginning);
    let now = CREATED_AT;
    for (let step = 0; step < 12; step++) {
      now += Math.floor(random() * 5_000);
      const seen = saying(random, now);
      const { state, entered } = advance(job, seen, now, ['file-result']);
      checkStep(job.state, state, entered, seen);
      checkTimes(job.state, state, now);
      job = jobIn(state);
      checkShown(job);
      reached.add(state.status);
    }
  }
  expect([...reached].sort()).toEqual([...STATUSES].sort());
});

/** The states entered follow each other legally, and the last of them is the new one. */
function checkStep(before: JobState, after: JobState, entered: readonly JobStatus[], seen: Observed) {
  if (isFinished(before)) expect(after).toBe(before);
  expect(entered.at(-1) ?? before.status).toBe(after.status);
  const isPause = seen.status === 'paused';
  if (isPause && !isFinished(before)) expect(after).toMatchObject({ status: 'queued', isPaused: true });
  let at = before.status;
  for (const status of entered) {
    if (!isPause) expect(LEGAL[at]).toContain(status);
    at = status;
  }
}

/** `finishedAt` is there exactly from the moment in which the job ends, and lies in its life. */
function checkTimes(before: JobState, after: JobState, now: number) {
  expect(isFinished(after)).toBe(['succeeded', 'failed', 'cancelled'].includes(after.status));
  if (!isFinished(after)) return;
  expect(after.finishedAt).toBeGreaterThanOrEqual(CREATED_AT);
  expect(after.finishedAt).toBeLessThanOrEqual(now);
  if (isFinished(before)) expect(after.finishedAt).toBe(before.finishedAt);
}

/** What clients see is of the shape that is promised, in every state. */
function checkShown(job: Job) {
  const shown = shownJob(job);
  expect(schemaOf(jobObject).safeParse(shown).error).toBeUndefined();
  expect(shown.finished_at === null).toBe(!isFinished(job.state));
  expect(shown.error !== null).toBe(shown.status === 'failed');
  expect(shown.result_files).toEqual(shown.status === 'succeeded' ? ['file-result'] : []);
  if (shown.status !== 'succeeded') expect([shown.fine_tuned_model, shown.trained_tokens]).toEqual([null, null]);
  if (shown.status !== 'running') expect(shown.estimated_finish).toBeNull();
  expect(shown.hyperparameters.n_epochs).toBe('auto');
}

test('a job that is looked at rarely still passes through every state', () => {
  expect(advance(jobIn(beginning), { status: 'succeeded' }, CREATED_AT).entered).toEqual([
    'queued',
    'running',
    'succeeded',
  ]);
  expect(advance(jobIn(beginning), { status: 'failed' }, CREATED_AT).entered).toEqual(['failed']);
});

test('a pause leads back to queued, and from there the job goes on', () => {
  const running = advance(jobIn(beginning), { status: 'running' }, CREATED_AT).state;
  const paused = advance(jobIn(running), { status: 'paused' }, CREATED_AT);
  expect(paused).toEqual({
    state: { status: 'queued', isPaused: true, estimatedFinish: null },
    entered: ['queued'],
  });
  const resumed = advance(jobIn(paused.state), { status: 'running' }, CREATED_AT);
  expect([resumed.state.status, resumed.entered]).toEqual(['running', ['running']]);
});

test('without a reason from the provider a failed job still says something', () => {
  const { state } = advance(jobIn(beginning), { status: 'failed' }, CREATED_AT);
  expect(shownJob(jobIn(state)).error).toEqual({ code: 'job_failed', message: 'The job failed.', param: null });
});

test('what the gateway tells itself is in the words that clients know', () => {
  const { state, entered } = advance(jobIn(beginning), { status: 'succeeded', fineTunedModel: 'ft:base' }, CREATED_AT);
  expect(enteredEvents(state, entered, CREATED_AT).map(({ message }) => message)).toEqual([
    'Files validated, moving job to queued state',
    'Fine-tuning job started',
    'New fine-tuned model created: ft:base',
    'The job has successfully completed',
  ]);
});
