import type { WorkAbroad } from '../area/abroad.ts';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { hasEnded } from './batch.ts';
import { FINISH, LINES, NATIVE, TIDY, VALIDATE } from './kinds.ts';
import { nativeApi } from './native/apis.ts';
import { type AskDeps, providerBehind } from './native/ask.ts';
import { cancellation } from './native/follow.ts';
import { nativeOf } from './native/step.ts';

const TABLES = ['batches', 'batch_lines', 'batch_results'];
const KINDS = [VALIDATE, LINES, NATIVE, FINISH, TIDY];
const CHILDREN = [
  { table: 'batch_results', column: 'batch_id' },
  { table: 'batch_lines', column: 'batch_id' },
] as const;

/** Batches with their requests and answers. Their files are files like any other. */
export function batchEndings(deps: { readonly store: Store; readonly workers: () => Workers }): Endings {
  const remove = (owned: Owned, step: EndingStep) => removeBatches(owned, step, deps);
  return {
    endsWithWorkspace: [{ area: 'batches', tables: TABLES, remove: (id, step) => remove(ofWorkspace(id), step) }],
    endsWithUser: [{ area: 'batches', tables: TABLES, remove: (person, step) => remove(ofPerson(person), step) }],
  };
}

async function removeBatches(
  owned: Owned,
  { db, transaction, atMost }: EndingStep,
  { store, workers }: { readonly store: Store; readonly workers: () => Workers },
): Promise<number> {
  const some = await db
    .selectFrom('batches')
    .select('id')
    .where(owned.column, '=', owned.value)
    .limit(atMost)
    .execute();
  return transaction(async (locked) => {
    // Work on a batch that is being removed must not go on.
    for (const { id } of some) for (const kind of KINDS) await workers().discard(locked, { kind, ref: id });
    return removeRows(locked, store.engine, { table: 'batches', children: CHILDREN, owned, atMost });
  });
}

/** Batches that a provider carries out with its own batch API. */
export const batchesAbroad = ({ store, native }: { readonly store: Store; readonly native: AskDeps }): WorkAbroad => ({
  area: 'batches',
  running: async (db, { column, value }) => {
    const rows = await db
      .selectFrom('batches')
      .selectAll()
      .where(column, '=', value)
      .where('mode', '=', 'native')
      .execute();
    return rows
      .filter((row) => !hasEnded(row.status) && nativeOf(row).job !== undefined)
      .map((row) => ({ id: row.id, workspaceId: row.workspace_id as WorkspaceId, virtualKey: row.virtual_key }));
  },
  cancel: async (id, { who, virtualKeys }, signal) => {
    const row = await store.db.selectFrom('batches').selectAll().where('id', '=', id).executeTakeFirst();
    const { provider: name, job } = row ? nativeOf(row) : {};
    if (!row || !job) return;
    const provider = await providerBehind({ who, virtualKey: row.virtual_key, signal }, { ...native, virtualKeys });
    const api = nativeApi(provider.target.provider.name);
    // A virtual key that was made anew for another provider knows nothing of this batch.
    if (!api || provider.target.provider.name !== name) return fail('unknown_virtual_key', row.virtual_key);
    (await provider.send(cancellation(api, job))).cancel();
  },
});
