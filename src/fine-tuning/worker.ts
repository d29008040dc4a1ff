import { GatewayError } from '../core/errors.ts';
import { askProvider, ProviderAway, ProviderRefused, understood } from '../relay/provider-call.ts';
import type { Db } from '../storage/store.ts';
import { type Kind, type Lease, LeaseLost, type Work } from '../work/work.ts';
import { backendOf } from './backends/index.ts';
import { begin, findJob, newJobOf } from './begin.ts';
import { awayEvent, enteredEvents, inOurWords } from './events.ts';
import { advance, isFinished, type Job, type JobError, type Observed } from './job.ts';
import { apply, type LookDeps, look, tellEnd } from './look.ts';
import { type Behind, type BehindDeps, behindJob } from './provider.ts';
import { keepEvents, loadJob, saveJob } from './table.ts';
import { JobFault } from './upload.ts';

export const KIND = 'fine-tuning';

export interface WorkerDeps extends LookDeps, BehindDeps {
  readonly random: () => number;
}

/** What the work remembers between two looks. */
interface Pace {
  /** Looks since the job last changed. */
  readonly idle: number;
  /** Failed looks since the last that worked. */
  readonly misses: number;
  /** How often in a row the provider did not know its job. */
  readonly unknown: number;
}

const fresh: Pace = { idle: 0, misses: 0, unknown: 0 };
/** Jobs take minutes to hours; those of simulators and those that fail at once are seen soon all the same. */
const LOOKS = { firstMs: 500, mostMs: 60_000 };
const AWAY = { firstMs: 1_000, mostMs: 300_000 };
const FILE_WAIT_MS = 2_000;
/** A job that was seen and is gone this often is gone. */
const MOST_UNKNOWN = 5;
const CONCURRENCY = 8;
/** Deaths of processes count; a provider that is away does not. */
const MOST_ATTEMPTS = 20;

/** Follows jobs from their creation to their end. */
export function fineTuningWorker(deps: WorkerDeps): Kind {
  const { store, random, now } = deps;

  /** Between half and all of the doubled wait: what fails together does not come back together. */
  const wait = ({ firstMs, mostMs }: typeof LOOKS, times: number): number =>
    Math.min(mostMs, firstMs * 2 ** Math.min(times, 30)) * (0.5 + random() / 2);

  const later = (lease: Lease, afterMs: number, pace: Pace) =>
    lease.transaction((db) => lease.reschedule(db, { afterMs }, pace));

  const end = (lease: Lease) => lease.transaction((db) => lease.done(db));

  const run = async (lease: Lease): Promise<void> => {
    const job = await loadJob(store.db, lease.work.ref);
    if (!job) return end(lease);
    const pace = (lease.work.payload as Pace | null) ?? fresh;
    try {
      const behind = await behindJob(job, deps);
      if (isFinished(job.state)) await tidy(lease, job, behind);
      else if (job.remote.job === null) await start(lease, job, behind);
      else await follow(lease, job, behind, pace);
    } catch (error) {
      lease.signal.throwIfAborted();
      await recover(lease, job, error, pace);
    }
  };

  const start = async (lease: Lease, job: Job, behind: Behind): Promise<void> => {
    const begun = await begin(job, { lease, behind, deps });
    if (begun === 'waiting') await later(lease, FILE_WAIT_MS * (0.5 + random() / 2), fresh);
    // Ended: the node that takes the work next sees to what is left of it at the provider.
    else await later(lease, begun === 'ended' ? 0 : wait(LOOKS, 0), fresh);
  };

  const follow = async (lease: Lease, job: Job, behind: Behind, pace: Pace): Promise<void> => {
    const seen = await look(job, job.remote.job!, behind, deps, lease.signal);
    await lease.transaction(async (db) => {
      const before = (await loadJob(db, job.id))!;
      const after = await apply(db, before, seen, behind, deps);
      // It was cancelled while we looked: the node that takes the work next sees to what is left at the provider.
      if (isFinished(before.state)) return lease.reschedule(db, { afterMs: 0 }, fresh);
      if (isFinished(after.state)) return lease.done(db);
      const idle = after.state.status === before.state.status ? pace.idle + 1 : 0;
      return lease.reschedule(db, { afterMs: wait(LOOKS, idle) }, { ...fresh, idle });
    });
  };

  /** A job that was cancelled here ends at the provider, too, should it have got there. */
  const tidy = async (lease: Lease, job: Job, behind: Behind): Promise<void> => {
    const { backend, target, place } = behind;
    const { isCreating } = job.remote;
    const remote = job.remote.job ?? (isCreating ? await findJob(newJobOf(job), behind, deps, lease.signal) : null);
    if (remote !== null && job.state.status === 'cancelled') {
      const answer = await askProvider(target, backend.read(remote, place), deps, lease.signal);
      if (isRunning(understood(() => backend.observe(answer))))
        await askProvider(target, backend.cancel(remote, place), deps, lease.signal).catch(unlessRefused);
    }
    await end(lease);
  };

  /** Whether the failure says something about the job, or only that nothing is known about it. */
  const recover = async (lease: Lease, job: Job, error: unknown, pace: Pace): Promise<void> => {
    if (error instanceof LeaseLost || isOurs(error)) throw error;
    const verdict = isFinished(job.state) ? null : verdictOn(error, job);
    if (verdict) return failed(lease, job, verdict);
    if (isFinished(job.state) && isFinal(error)) return end(lease);
    const isUnknown = error instanceof ProviderRefused && error.status === 404 && job.remote.job !== null;
    const unknown = isUnknown ? pace.unknown + 1 : 0;
    if (unknown >= MOST_UNKNOWN) return failed(lease, job, goneError(job));
    const { retryAfterMs = 0 } = error instanceof ProviderAway ? error : {};
    const afterMs = Math.max(retryAfterMs, wait(isUnknown ? LOOKS : AWAY, pace.misses));
    await lease.transaction(async (db) => {
      if (pace.misses === 0) await keepEvents(db, job.id, [awayEvent(error, now())], now());
      await lease.reschedule(db, { afterMs }, { ...pace, misses: pace.misses + 1, unknown });
    });
  };

  const failed = (lease: Lease, job: Job, error: JobError): Promise<void> =>
    lease.transaction(async (db) => {
      // As it is now: what the provider calls its files may have become known a moment ago.
      const known = (await loadJob(db, job.id)) ?? job;
      const told = { ...error, message: inOurWords(error.message, known) };
      await finish(db, job.id, { status: 'failed', error: told }, deps);
      await lease.done(db);
    });

  return {
    name: KIND,
    concurrency: CONCURRENCY,
    maxAttempts: MOST_ATTEMPTS,
    run,
    failed: async (db: Db, work: Work) => void (await finish(db, work.ref, { status: 'failed', error: gaveUp }, deps)),
    cancelled: async (db: Db, work: Work) => void (await finish(db, work.ref, { status: 'cancelled' }, deps)),
  };
}

/** Ends a job for a reason of ours. The transaction holds the job's work. */
export async function finish(
  db: Db,
  id: string,
  why: Observed,
  deps: Pick<LookDeps, 'notify' | 'now'>,
): Promise<Job | null> {
  const now = deps.now();
  const job = await loadJob(db, id);
  if (!job || isFinished(job.state)) return job;
  const { state, entered } = advance(job, why, now);
  const next = { ...job, state };
  await keepEvents(db, id, enteredEvents(state, entered, now), now);
  await saveJob(db, next);
  await tellEnd(db, next, deps);
  return next;
}

const isRunning = ({ status }: Observed): boolean => !['succeeded', 'failed', 'cancelled'].includes(status);

/** Faults of the gateway's own stores: the work is tried again. */
const isOurs = (error: unknown): boolean =>
  error instanceof GatewayError
    ? ['store_unavailable', 'blob_store_unavailable'].includes(error.code)
    : !(error instanceof ProviderAway || error instanceof ProviderRefused || error instanceof JobFault);

/** What ends a job that is not at the provider yet; one that is there goes on whatever happens here. */
function verdictOn(error: unknown, job: Job): JobError | null {
  if (error instanceof JobFault) return error.error;
  if (job.remote.job !== null) return null;
  if (error instanceof ProviderRefused) return backendOf(job.provider).failure(error.status, error.answer);
  if (error instanceof GatewayError && error.status < 500)
    return { code: error.code, message: error.message, param: error.param };
  return null;
}

/** The provider or the virtual key is gone, so what is left of a job there cannot be ended any more. */
const isFinal = (error: unknown): boolean =>
  error instanceof ProviderRefused || (error instanceof GatewayError && error.status < 500);

const goneError = (job: Job): JobError => ({
  code: 'provider_job_missing',
  message: `Provider ${job.provider} no longer knows this job.`,
  param: null,
});

const gaveUp: JobError = {
  code: 'server_error',
  message: 'The gateway failed again and again while it worked on this job.',
  param: null,
};

function unlessRefused(error: unknown): void {
  if (!(error instanceof ProviderRefused)) throw error;
}
