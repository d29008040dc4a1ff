import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { OF_RUNS, RUNS_AT_ONCE, removeMessages, removeRuns } from './clearing.ts';
import { RUN } from './runs/runs.ts';

export interface AssistantEndingDeps {
  readonly store: Pick<Store, 'engine'>;
  readonly workers: () => Workers;
}

const TABLES = ['threads', 'messages', 'imported_messages', 'runs', ...OF_RUNS];
const THREADS_AT_ONCE = 20;

/**
 * Threads with what was said and done in them. A person's are the threads they began; in threads of others, the messages
 * they wrote, and the runs they began with what these answered. Assistants are tools of the workspace and stay when one
 * of its people goes.
 */
export function assistantEndings(deps: AssistantEndingDeps): Endings {
  const { engine } = deps.store;
  return {
    endsWithWorkspace: [
      {
        area: 'assistants',
        tables: ['assistants'],
        remove: (id, { transaction, atMost }) =>
          transaction((db) => removeRows(db, engine, { table: 'assistants', owned: ofWorkspace(id), atMost })),
      },
      { area: 'threads', tables: TABLES, remove: (id, step) => removeThreads(ofWorkspace(id), step, deps) },
    ],
    endsWithUser: [
      {
        area: 'threads',
        tables: TABLES,
        remove: async (person, step) =>
          (await removeThreads(ofPerson(person), step, deps)) || removeSayings(ofPerson(person), step, deps),
      },
      {
        area: 'assistants',
        tables: ['assistants'],
        kept: 'Assistants are tools of their workspace; they say nothing of who made them.',
      },
    ],
  };
}

/** Some of what is in some of the threads; those in which nothing is left go as well. */
async function removeThreads(owned: Owned, step: EndingStep, deps: AssistantEndingDeps): Promise<number> {
  const rows = await step.db
    .selectFrom('threads')
    .select('id')
    .where(owned.column, '=', owned.value)
    .limit(THREADS_AT_ONCE)
    .execute();
  const threadIds = idsOf(rows);
  if (threadIds.length === 0) return 0;
  const runs = await step.db
    .selectFrom('runs')
    .select('id')
    .where('thread_id', 'in', threadIds)
    .limit(RUNS_AT_ONCE)
    .execute();
  if (runs.length > 0) return endRuns(idsOf(runs), step, deps);
  return step.transaction(async (db) => {
    const said = await removeMessages(db, { threadIds });
    if (said > 0) return said;
    await db.deleteFrom('imported_messages').where('thread_id', 'in', threadIds).execute();
    return (await db.deleteFrom('threads').where('id', 'in', threadIds).returning('id').execute()).length;
  });
}

/** The messages and runs of a user in threads of other users. */
async function removeSayings({ value: userId }: Owned, step: EndingStep, deps: AssistantEndingDeps): Promise<number> {
  const some = step.db.selectFrom('runs').select('id').where('user_id', '=', userId).limit(RUNS_AT_ONCE);
  const runs = await some.execute();
  if (runs.length > 0) return endRuns(idsOf(runs), step, deps);
  return step.transaction((db) => removeMessages(db, { userId }));
}

/** A run that is under way loses its lease, and its row with it. */
const endRuns = (ids: readonly string[], { transaction }: EndingStep, { store, workers }: AssistantEndingDeps) =>
  transaction(async (db) => {
    for (const ref of ids) await workers().discard(db, { kind: RUN, ref });
    await removeRuns(store, db, ids);
    return ids.length;
  });

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
