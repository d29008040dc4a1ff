import type { VectorStoreFileRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type Origin, originOf } from './origins.ts';
import { filesOf } from './rows.ts';
import { type TakingOutDeps, takeOut } from './store-files.ts';

export interface DroppingDeps extends TakingOutDeps {
  readonly files: { drop(db: Db, id: string): Promise<void> };
}

/** What a store has of one path. */
export const filesAt = (db: Db, storeId: string, { source, path }: Pick<Origin, 'source' | 'path'>) =>
  filesOf(db, storeId)
    .where('source_path', '=', path)
    .where('source', '=', source)
    .where('deleted_at', 'is', null)
    .orderBy('position')
    .execute();

/** Out of the store, whose row is locked, and deleted: what a sync brought belongs to it. */
export async function drop(db: Db, row: VectorStoreFileRow, deps: DroppingDeps): Promise<void> {
  await takeOut(db, row, deps);
  await deps.files.drop(db, row.file_id);
}

/** A newer version is in the store, since this transaction: older ones of its path go. */
export async function dropReplaced(db: Db, row: VectorStoreFileRow, deps: DroppingDeps): Promise<void> {
  const origin = originOf(row);
  if (!origin) return;
  for (const other of await filesAt(db, row.store_id, origin))
    if (other.position < row.position) await drop(db, other, deps);
}
