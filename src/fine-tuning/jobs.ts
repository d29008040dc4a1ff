import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Checked } from '../core/schema.ts';
import { refuseUnlistedIn } from '../relay/allowed-model.ts';
import { askProvider, ProviderAway, ProviderRefused, type Question } from '../relay/provider-call.ts';
import type { Workers } from '../work/workers.ts';
import { checkExpressible } from './backends/backend.ts';
import { createdEvents, inOurWords } from './events.ts';
import { type createJob, type JobRequest, requestOf } from './input.ts';
import { beginning, isFinished, type Job, type JobObject, nowhere, shownJob } from './job.ts';
import { apply, type LookDeps, look } from './look.ts';
import { type Behind, type BehindDeps, behindJob, behindKey } from './provider.ts';
import { insertJob, jobIn, keepEvents, loadJob } from './table.ts';
import { finish, KIND } from './worker.ts';

export interface JobsDeps extends LookDeps, BehindDeps {
  /** They know this kind of work only when it is made. */
  readonly workers: () => Workers;
  readonly random: () => number;
}

const PURPOSE = 'fine-tune';
const NOT_BEGUN = 'the provider has not begun it yet';

/** What callers do with jobs. The worker brings them to the provider and follows them there. */
export function createJobs(deps: JobsDeps) {
  const { store, files, virtualKeys, workers, now, random } = deps;

  const find = async (workspaceId: WorkspaceId, id: string): Promise<Job> => {
    const row = await store.db
      .selectFrom('fine_tuning_jobs')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('id', '=', id)
      .executeTakeFirst();
    return row ? jobIn(row) : fail('fine_tune_not_found', id.slice(0, 80));
  };

  const checkFile = async (
    workspaceId: WorkspaceId,
    asked: string,
    param: string,
    { backend, target, place }: Behind,
  ) => {
    const { reference, mostBytes, check } = backend.files;
    if (reference?.pattern.test(asked)) return;
    if (asked.includes('://')) fail('invalid_value', param, wrongAddress(param, asked, reference?.example));
    const file = await files.row(workspaceId, asked);
    if (file.purpose !== PURPOSE)
      fail(
        'invalid_value',
        param,
        `Invalid '${param}': file ${asked} has the purpose '${file.purpose}'. Expected '${PURPOSE}'.`,
      );
    if (file.bytes === 0) fail('invalid_value', param, `Invalid '${param}': file ${asked} is empty.`);
    check?.(place);
    if (file.bytes > mostBytes)
      fail(
        'not_expressible',
        param,
        target.provider.name,
        `file ${asked} has ${file.bytes} bytes, more than ${mostBytes}`,
      );
  };

  const create = async (who: Principal, slug: string, body: Checked<typeof createJob>): Promise<JobObject> => {
    const behind = await behindKey(who, slug, virtualKeys);
    refuseUnlistedIn(who, body, { provider: behind.target.provider.name, virtualKey: slug });
    const request = requestOf(body, random);
    await checkRequest(who, request, behind);
    const createdAt = now();
    const job: Job = {
      id: newObjectId('fineTuningJob', createdAt),
      workspaceId: who.workspaceId,
      organisationId: who.organisationId,
      userId: who.userId,
      virtualKey: slug,
      provider: behind.target.provider.name,
      request,
      state: beginning,
      remote: nowhere,
      createdAt,
    };
    await workers().accept({ kind: KIND, tenant: who.workspaceId, ref: job.id }, async (db) => {
      await insertJob(db, job);
      await keepEvents(db, job.id, createdEvents(job), createdAt);
    });
    return shownJob(job);
  };

  const checkRequest = async (who: Principal, request: JobRequest, behind: Behind): Promise<void> => {
    const { backend, target, place } = behind;
    checkExpressible(request, target.provider.name, backend);
    await checkFile(who.workspaceId, request.training_file, 'training_file', behind);
    if (request.validation_file !== null)
      await checkFile(who.workspaceId, request.validation_file, 'validation_file', behind);
    backend.check?.(place);
  };

  /** Changes a job together with its work, which is due at once. */
  const change = async (
    id: string,
    step: (job: Job, db: Parameters<typeof loadJob>[0]) => Promise<Job>,
  ): Promise<Job> => {
    const { result } = await workers().resume({ kind: KIND, ref: id }, async (db) =>
      step((await loadJob(db, id))!, db),
    );
    return result;
  };

  /** Asks the provider to change its job, and reads what became of it. */
  const command = async (job: Job, request: (behind: Behind, remote: string) => Question): Promise<Job> => {
    const remote = job.remote.job ?? fail('fine_tuning_job_state', job.id, job.state.status, NOT_BEGUN);
    const behind = await behindJob(job, deps);
    const asked = request(behind, remote);
    try {
      // Perhaps the job ended a moment ago: how it is now tells more than a refusal.
      const refusal = await askProvider(behind.target, asked, deps, unending).then(() => null, refused);
      const seen = await look(job, remote, behind, deps, unending);
      const next = await change(job.id, (fresh, db) => apply(db, fresh, seen, behind, deps));
      if (refusal && !isFinished(next.state)) throw refusal;
      return next;
    } catch (error) {
      return answered(error, job, behind);
    }
  };

  const cancel = async (workspaceId: WorkspaceId, id: string): Promise<JobObject> => {
    let job = await find(workspaceId, id);
    refuseFinished(job, 'cancelled');
    if (job.remote.job === null) {
      // The provider may have it by now; if not, the worker sees to it that it ends there as well.
      job = await change(id, async (fresh, db) => {
        refuseFinished(fresh, 'cancelled');
        return fresh.remote.job === null ? (await finish(db, id, { status: 'cancelled' }, deps))! : fresh;
      });
      if (isFinished(job.state)) return shownJob(job);
    }
    const next = await command(job, ({ backend, place }, remote) => backend.cancel(remote, place));
    if (next.state.status === 'succeeded' || next.state.status === 'failed') refuseFinished(next, 'cancelled');
    return shownJob(next);
  };

  const pauseOrResume =
    (verb: 'pause' | 'resume') =>
    async (workspaceId: WorkspaceId, id: string): Promise<JobObject> => {
      const job = await find(workspaceId, id);
      refuseFinished(job, `${verb}d`);
      const next = await command(job, ({ backend, target, place }, remote) => {
        const request = backend[verb];
        return request
          ? request(remote, place)
          : fail('unsupported_by_provider', target.provider.name, `way to ${verb} a fine-tuning job`);
      });
      return shownJob(next);
    };

  return {
    find,
    create,
    read: async (workspaceId: WorkspaceId, id: string): Promise<JobObject> => shownJob(await find(workspaceId, id)),
    cancel,
    pause: pauseOrResume('pause'),
    resume: pauseOrResume('resume'),
  };
}

export type Jobs = ReturnType<typeof createJobs>;

function refuseFinished({ id, state }: Job, done: string): void {
  if (isFinished(state))
    fail(
      'fine_tuning_job_state',
      id,
      state.status,
      `only a job that is still validating_files, queued or running can be ${done}`,
    );
}

const wrongAddress = (param: string, asked: string, example: string | undefined): string =>
  `Invalid '${param}': '${asked.slice(0, 80)}'. Expected the id of a file${example ? `, or an address such as ${example}` : ''}.`;

/** A change at the provider is carried through and written down, whether or not the client waits for it. */
const { signal: unending } = new AbortController();

function refused(error: unknown): ProviderRefused {
  if (error instanceof ProviderRefused) return error;
  throw error;
}

/** The answer to a caller who waits for the provider. */
function answered(error: unknown, job: Job, { backend, target }: Behind): never {
  const { name } = target.provider;
  if (error instanceof ProviderAway) fail('fine_tuning_refused', name, error.message);
  if (!(error instanceof ProviderRefused)) throw error;
  const message = inOurWords(backend.failure(error.status, error.answer).message, job);
  return fail('fine_tuning_refused', name, `it answered ${error.status}, ${message.replace(/\.$/, '')}`);
}
