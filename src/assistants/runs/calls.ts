import { newObjectId, sortBehind } from '../../core/object-ids.ts';
import type { RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { goBehindMessages } from '../thread.ts';
import { changeRun, openStepOf } from './rows.ts';
import { type RunUsage, usageOf } from './run.ts';
import { detailsOf } from './step.ts';

/** The record of a run's model calls: written before a call is made, and again when it is known what came of it. */

export const lastCallOf = (db: Db, runId: string): Promise<RunCallRow | undefined> =>
  db
    .selectFrom('run_calls')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('number', 'desc')
    .orderBy('attempt', 'desc')
    .executeTakeFirst();

/** Made in the order in which their things appear: lists go by id. */
const freshIds = () => ({
  message_id: newObjectId('message'),
  message_step_id: newObjectId('step'),
  tool_step_id: newObjectId('step'),
});

export interface CallStart {
  readonly runId: string;
  readonly threadId: string;
  readonly fence: number;
  readonly now: number;
}

export async function startCall(db: Db, last: RunCallRow | undefined, start: CallStart): Promise<RunCallRow> {
  await goBehindMessages(db, start.threadId);
  if (last) sortBehind(last.tool_step_id);
  return insertCall(db, { number: (last?.number ?? 0) + 1, attempt: 1, ...freshIds() }, start);
}

/** The call again, under the same ids, because the node that made it is gone. */
export async function repeatCall(db: Db, lost: RunCallRow, start: CallStart): Promise<RunCallRow> {
  await setCall(db, lost, { state: 'lost' });
  return insertCall(db, { ...lost, attempt: lost.attempt + 1 }, start);
}

async function insertCall(
  db: Db,
  call: Pick<RunCallRow, 'number' | 'attempt' | 'message_id' | 'message_step_id' | 'tool_step_id'>,
  { runId, fence, now }: CallStart,
): Promise<RunCallRow> {
  const row: RunCallRow = {
    ...call,
    run_id: runId,
    fence,
    state: 'started',
    usage: null,
    started_at: now,
  };
  await db.insertInto('run_calls').values(row).execute();
  return row;
}

const setCall = (db: Db, { run_id, number, attempt }: RunCallRow, change: Partial<RunCallRow>) =>
  db
    .updateTable('run_calls')
    .set(change)
    .where('run_id', '=', run_id)
    .where('number', '=', number)
    .where('attempt', '=', attempt)
    .execute();

/** What a call took; `isEstimated` when the provider did not say. */
export interface CallUsage extends RunUsage {
  readonly isEstimated: boolean;
}

/** It is over, and this is what it took: the run's sums and the call's record grow together. */
export async function endCall(db: Db, run: RunRow, call: RunCallRow, usage: CallUsage): Promise<RunRow> {
  await setCall(db, call, { state: 'done', usage: JSON.stringify(usage) });
  return changeRun(db, run, {
    prompt_tokens: run.prompt_tokens + usage.prompt_tokens,
    completion_tokens: run.completion_tokens + usage.completion_tokens,
  });
}

/** What the call of a step took. */
export async function usageOfStep(db: Db, { run_id, call }: RunStepRow): Promise<RunUsage> {
  const row = await db
    .selectFrom('run_calls')
    .select('usage')
    .where('run_id', '=', run_id)
    .where('number', '=', call)
    .where('state', '=', 'done')
    .executeTakeFirst();
  if (!row?.usage) return usageOf(0, 0);
  const { prompt_tokens, completion_tokens } = JSON.parse(row.usage) as CallUsage;
  return usageOf(prompt_tokens, completion_tokens);
}

/** What those who watch were told has begun and has not ended. */
export async function openedBy(db: Db, runId: string): Promise<'message' | 'tools' | null> {
  const step = await openStepOf(db, runId);
  if (!step) return null;
  return detailsOf(step).type === 'message_creation' ? 'message' : 'tools';
}
