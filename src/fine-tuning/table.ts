import type { OrganisationId, WorkspaceId } from '../core/ids.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { FineTuningEventRow, FineTuningJobRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { RemoteCheckpoint, RemoteEvent } from './backends/backend.ts';
import { isFinished, type Job, type JobId, type JobState } from './job.ts';

/** Jobs, events and checkpoints as they are stored. */

export const jobIn = (row: FineTuningJobRow): Job => ({
  id: row.id as JobId,
  workspaceId: row.workspace_id as WorkspaceId,
  organisationId: row.organisation_id as OrganisationId,
  userId: row.user_id,
  virtualKey: row.virtual_key,
  provider: row.provider,
  request: JSON.parse(row.request),
  state: { ...JSON.parse(row.state), status: row.status } as JobState,
  remote: JSON.parse(row.remote),
  createdAt: row.created_at,
});

const changing = ({ state, remote }: Job) => ({
  status: state.status,
  state: JSON.stringify(state),
  remote: JSON.stringify(remote),
  finished_at: isFinished(state) ? state.finishedAt : null,
});

export async function insertJob(db: Db, job: Job): Promise<void> {
  await db
    .insertInto('fine_tuning_jobs')
    .values({
      id: job.id,
      workspace_id: job.workspaceId,
      organisation_id: job.organisationId,
      user_id: job.userId,
      virtual_key: job.virtualKey,
      provider: job.provider,
      request: JSON.stringify(job.request),
      created_at: job.createdAt,
      ...changing(job),
    })
    .execute();
}

/** Each transaction that changes a job holds its work's row, so two changes follow each other. */
export async function saveJob(db: Db, job: Job): Promise<void> {
  await db.updateTable('fine_tuning_jobs').set(changing(job)).where('id', '=', job.id).execute();
}

export async function loadJob(db: Db, id: string): Promise<Job | null> {
  const row = await db.selectFrom('fine_tuning_jobs').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? jobIn(row) : null;
}

const AT_ONCE = 200;
const LONGEST_TEXT = 10_000;
const FAR = 8_640_000_000_000_000;

/** What a provider says is kept in part rather than not at all: the store takes no U+0000, and not everything. */
const storable = (text: string): string => text.replaceAll('\0', '').slice(0, LONGEST_TEXT);
/** A time that cannot be is that at which it was told. */
const moment = (at: number, now: number): number => (Math.abs(at) <= FAR ? Math.round(at) : now);

/** Keeps those that are new, in their order, which is that of their ids from then on. */
export async function keepEvents(db: Db, jobId: string, events: readonly RemoteEvent[], now: number): Promise<void> {
  const rows: FineTuningEventRow[] = events.map((event) => ({
    id: newObjectId('fineTuningEvent', now),
    job_id: jobId,
    remote_id: storable(event.remoteId),
    level: event.level,
    message: storable(event.message),
    type: event.type,
    data: event.data === null || event.data === undefined ? null : JSON.stringify(event.data),
    created_at: moment(event.createdAt, now),
  }));
  for (let at = 0; at < rows.length; at += AT_ONCE)
    await db
      .insertInto('fine_tuning_events')
      .values(rows.slice(at, at + AT_ONCE))
      .onConflict((conflict) => conflict.columns(['job_id', 'remote_id']).doNothing())
      .execute();
}

export async function keepCheckpoints(
  db: Db,
  jobId: string,
  checkpoints: readonly RemoteCheckpoint[],
  now: number,
): Promise<void> {
  if (checkpoints.length === 0) return;
  const rows = checkpoints.map((checkpoint) => ({
    id: newObjectId('fineTuningCheckpoint', now),
    job_id: jobId,
    remote_id: storable(checkpoint.remoteId),
    model: storable(checkpoint.model),
    step_number: Number.isSafeInteger(checkpoint.stepNumber) ? checkpoint.stepNumber : 0,
    metrics: JSON.stringify(checkpoint.metrics),
    created_at: moment(checkpoint.createdAt, now),
  }));
  await db
    .insertInto('fine_tuning_checkpoints')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['job_id', 'remote_id']).doNothing())
    .execute();
}

/** What the provider calls the events that are kept already. */
export async function knownEvents(db: Db, jobId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('fine_tuning_events').select('remote_id').where('job_id', '=', jobId).execute();
  return new Set(rows.map(({ remote_id }) => remote_id));
}

export async function knownCheckpoints(db: Db, jobId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('fine_tuning_checkpoints').select('remote_id').where('job_id', '=', jobId).execute();
  return new Set(rows.map(({ remote_id }) => remote_id));
}
