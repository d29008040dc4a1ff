import { GatewayError } from '../core/errors.ts';
import type { Files } from '../files/files.ts';
import { askProvider, ProviderRefused, understood } from '../relay/provider-call.ts';
import type { Lease } from '../work/work.ts';
import { type FileToSend, type NewJob, tokenOf } from './backends/backend.ts';
import { isFinished, type Job, type RemoteFile } from './job.ts';
import type { LookDeps } from './look.ts';
import type { Behind } from './provider.ts';
import { loadJob, saveJob } from './table.ts';
import { JobFault, upload } from './upload.ts';

interface Beginning {
  readonly lease: Lease;
  readonly behind: Behind;
  readonly deps: LookDeps;
}

type Param = 'training_file' | 'validation_file';

/** What is left to do before the job is at the provider: wait for a file, nothing, or the job has ended meanwhile. */
export type Begun = 'waiting' | 'created' | 'ended';

/** Brings files and job to the provider. Each step is saved before the next, and is not done twice. */
export async function begin(first: Job, beginning: Beginning): Promise<Begun> {
  let job = first;
  for (const param of ['training_file', 'validation_file'] as const) {
    const asked = job.request[param];
    if (asked === null || job.remote.files[asked]?.isReady) continue;
    job = await bring(job, asked, param, beginning);
    if (isFinished(job.state)) return 'ended';
    if (!job.remote.files[asked]?.isReady) return 'waiting';
  }
  return create(job, beginning);
}

/** A file of the job at the provider: there and ready, or on its way. */
async function bring(job: Job, asked: string, param: Param, beginning: Beginning): Promise<Job> {
  const { behind, deps, lease } = beginning;
  const { files } = behind.backend;
  const keep = (file: RemoteFile) => change(beginning, (fresh) => withFile(fresh, asked, file));
  if (files.reference?.pattern.test(asked)) return keep({ name: asked, isReady: true });
  let name = job.remote.files[asked]?.name ?? null;
  if (name === null) {
    const isSecondTry = asked in job.remote.files;
    const begun = isSecondTry ? job : await keep({ name: null, isReady: false });
    if (isFinished(begun.state)) return begun;
    const file = await fileOf(job, asked, param, deps.files);
    name = isSecondTry ? await findFile(file, beginning) : null;
    name ??= await place(job, asked, param, file, beginning);
    const kept = await keep({ name, isReady: !files.readiness });
    if (!files.readiness || isFinished(kept.state)) return kept;
  }
  const { readiness } = files;
  const answer = await askProvider(behind.target, readiness!.ask(name, behind.place), deps, lease.signal);
  const said = understood(() => readiness!.in(answer));
  if (typeof said !== 'string') throw new JobFault({ ...said, param });
  return said === 'ready' ? keep({ name, isReady: true }) : ((await loadJob(deps.store.db, job.id)) ?? job);
}

const withFile = (job: Job, asked: string, file: RemoteFile): Job => ({
  ...job,
  remote: { ...job.remote, files: { ...job.remote.files, [asked]: file } },
});

async function fileOf({ id, workspaceId }: Job, asked: string, param: Param, files: Files): Promise<FileToSend> {
  const { bytes } = await files.row(workspaceId, asked).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || error.code !== 'file_not_found') throw error;
    throw new JobFault({ code: 'file_not_found', message: error.message, param });
  });
  return { name: tokenOf(`${id} ${asked}`), bytes };
}

async function findFile(file: FileToSend, { behind, deps, lease }: Beginning): Promise<string | null> {
  const { files } = behind.backend;
  if (!files.find || !files.foundIn) return null;
  const answer = await askProvider(behind.target, files.find(behind.place), deps, lease.signal).catch(unlessRefused);
  return understood(() => files.foundIn!(answer, file));
}

async function place(job: Job, asked: string, param: Param, file: FileToSend, beginning: Beginning): Promise<string> {
  const { behind, deps, lease } = beginning;
  const { prepare } = behind.backend.files;
  if (prepare) await askProvider(behind.target, prepare(file, behind.place), deps, lease.signal).catch(unlessThere);
  const sent = { file, param, method: job.request.method.type, open: () => deps.files.open({ id: asked }) };
  return upload(sent, behind, deps, lease.signal);
}

/** Not every provider lists files; without a list the file is sent once more. */
function unlessRefused(error: unknown): null {
  if (error instanceof ProviderRefused) return null;
  throw error;
}

function unlessThere(error: unknown): void {
  if (!(error instanceof ProviderRefused) || error.status !== 409) throw error;
}

async function create(job: Job, beginning: Beginning): Promise<Begun> {
  const { behind, deps, lease } = beginning;
  const { backend, target, place: where } = behind;
  const made = newJobOf(job);
  // A node that began before this one may have made the job and died before it could save that.
  let remote = job.remote.isCreating ? await findJob(made, behind, deps, lease.signal) : null;
  if (!job.remote.isCreating) {
    const marked = await change(beginning, (fresh) => ({ ...fresh, remote: { ...fresh.remote, isCreating: true } }));
    if (isFinished(marked.state)) return 'ended';
  }
  if (remote === null) {
    const answer = await askProvider(target, backend.create(made, where), deps, lease.signal);
    remote = createdIn(answer, made, behind);
  }
  const found = remote;
  const saved = await lease.transaction(async (db) => {
    const fresh = (await loadJob(db, job.id))!;
    const next = { ...fresh, remote: { ...fresh.remote, job: found } };
    await saveJob(db, next);
    await lease.checkpoint(db, null);
    return next;
  });
  return isFinished(saved.state) ? 'ended' : 'created';
}

/** An answer that names no job would make us create it again and again. */
function createdIn(answer: unknown, job: NewJob, { backend, target }: Behind): string {
  try {
    return backend.createdIn(answer, job);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new JobFault({
      code: 'unreadable_answer',
      message: `Provider ${target.provider.name} answered, but ${why}.`,
      param: null,
    });
  }
}

export const newJobOf = ({ id, request, remote }: Job): NewJob => ({
  id,
  request,
  trainingFile: remote.files[request.training_file]?.name ?? request.training_file,
  validationFile:
    request.validation_file === null ? null : (remote.files[request.validation_file]?.name ?? request.validation_file),
});

const MOST_PAGES = 50;

/** The provider's job that carries our id. */
export async function findJob(
  job: NewJob,
  { backend, target, place: where }: Behind,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<string | null> {
  let after: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: unknown = await askProvider(target, backend.find(job, where, after), deps, signal).catch(
      unlessMissing,
    );
    const found = understood(() => backend.foundIn(answer, job));
    if (found.job !== null || found.next === null) return found.job;
    after = found.next;
  }
  return null;
}

function unlessMissing(error: unknown): null {
  if (error instanceof ProviderRefused && error.status === 404) return null;
  throw error;
}

/** Saves a step, unless the job has ended meanwhile. */
async function change({ lease }: Beginning, step: (job: Job) => Job): Promise<Job> {
  return lease.transaction(async (db) => {
    const fresh = (await loadJob(db, lease.work.ref))!;
    if (isFinished(fresh.state)) return fresh;
    const next = step(fresh);
    await saveJob(db, next);
    await lease.checkpoint(db, lease.work.payload);
    return next;
  });
}
