import { sql } from 'kysely';
import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { MessageRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { findThread } from '../thread.ts';
import { ACTIVE } from './run.ts';

/** The statements on runs, steps and messages that more than one place needs. */

export const runById = (db: Db, id: string): Promise<RunRow | undefined> =>
  db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirst();

/** A run of a thread that is there, or the vendor's 404. */
export async function findRun(db: Db, workspaceId: WorkspaceId, threadId: string, id: string): Promise<RunRow> {
  await findThread(db, workspaceId, threadId);
  const run = await runById(db, id);
  return run?.thread_id === threadId ? run : fail('object_not_found', 'run', id);
}

const activeRunOf = (db: Db, threadId: string): Promise<{ id: string } | undefined> =>
  db.selectFrom('runs').select('id').where('thread_id', '=', threadId).where('status', 'in', ACTIVE).executeTakeFirst();

/** Neither a second run nor the end of its thread while a run is active. */
export async function refuseSecondRun(db: Db, threadId: string): Promise<void> {
  const active = await activeRunOf(db, threadId);
  if (active) fail('thread_has_active_run', threadId, active.id);
}

/** Nothing may be said while a run is active. */
export async function refuseMessages(db: Db, threadId: string): Promise<void> {
  const active = await activeRunOf(db, threadId);
  if (active) fail('thread_locked', threadId, active.id);
}

/**
 * Transactions that lock several runs lock them in one order, so that two of them wait for each other and never
 * deadlock.
 */
export async function lockRuns({ engine }: Pick<Store, 'engine'>, db: Db, ids: readonly string[]): Promise<void> {
  if (engine === 'postgres')
    await db.selectFrom('runs').select('id').where('id', 'in', ids).orderBy('id').forUpdate().execute();
}

/** Changes a run that is still in the state it was read in. Its metadata may have changed meanwhile. */
export async function changeRun(db: Db, { id, status }: RunRow, change: Partial<RunRow>): Promise<RunRow> {
  return db
    .updateTable('runs')
    .set(change)
    .where('id', '=', id)
    .where('status', '=', status)
    .returningAll()
    .executeTakeFirstOrThrow(() => new Error(`Run ${id} is not ${status} any more.`));
}

/** Each process that begins to write the history takes the next epoch, so events of an older writer are recognised. */
export async function nextEpoch(db: Db, id: string): Promise<number> {
  const { epoch } = await db
    .updateTable('runs')
    .set((set) => ({ epoch: set('epoch', '+', 1) }))
    .where('id', '=', id)
    .returning('epoch')
    .executeTakeFirstOrThrow();
  return epoch;
}

/** Inserts or overwrites: an attempt before this one may have come as far as that. */
export async function putStep(db: Db, step: RunStepRow): Promise<RunStepRow> {
  const { id: _, created_at: __, ...members } = step;
  return db
    .insertInto('run_steps')
    .values(step)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(members))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The same. A message that a caller has deleted meanwhile stays empty. */
export async function putMessage(db: Db, message: MessageRow): Promise<MessageRow> {
  const { status, incomplete_reason, completed_at, incomplete_at } = message;
  const content = sql<string>`case when messages.deleted_at is null then excluded.content else messages.content end`;
  return db
    .insertInto('messages')
    .values(message)
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ status, content, incomplete_reason, completed_at, incomplete_at }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export const stepsOf = (db: Db, runId: string): Promise<RunStepRow[]> =>
  db.selectFrom('run_steps').selectAll().where('run_id', '=', runId).orderBy('id').execute();

export const openStepOf = (db: Db, runId: string): Promise<RunStepRow | undefined> =>
  db
    .selectFrom('run_steps')
    .selectAll()
    .where('run_id', '=', runId)
    .where('status', '=', 'in_progress')
    .executeTakeFirst();

export const messageById = (db: Db, id: string): Promise<MessageRow | undefined> =>
  db.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst();

/** As if it had never been begun. */
export async function removeStep(db: Db, { id }: Pick<RunStepRow, 'id'>): Promise<void> {
  await db.deleteFrom('run_steps').where('id', '=', id).execute();
}

export async function removeMessage(db: Db, id: string): Promise<void> {
  await db.deleteFrom('messages').where('id', '=', id).execute();
}
