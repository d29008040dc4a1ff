import { fail } from '../../core/errors.ts';
import { newId, type WorkspaceId } from '../../core/ids.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { VectorStoreBatchRow, VectorStoreFileRow, VectorStoreRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Workers } from '../../work/workers.ts';
import type { Chunking } from '../documents/chunks.ts';
import type { Attributes } from './chunk-index.ts';
import { type Origin, originOf } from './origins.ts';
import { changeFile, endBatch, filesOf, lockBatch } from './rows.ts';

/** The name of the work that taking in a file is. */
export const INGEST = 'vector-store.ingest';

/** What that work is about. */
export interface Ingestion {
  readonly storeId: string;
  readonly fileId: string;
  /** The file's when it was added. It has another one when it was added again meanwhile. */
  readonly position: string;
  /** Sealed: what the caller that added it has proven to guardrails. */
  readonly proofs?: string;
  /** Of a picture: what a model has said of it. It is paid for, so what goes on after a kill takes this. */
  readonly described?: string;
}

/** Who brings files that are to be taken in. */
export interface FileGiver {
  readonly workspaceId: WorkspaceId;
  /** What the request has proven to guardrails; nothing, unless it says so. */
  readonly proofs?: Proofs;
}

/** What cancels it: the batch, or else the store. */
export const ingestionRef = ({ batch_id, store_id }: Pick<VectorStoreFileRow, 'batch_id' | 'store_id'>): string =>
  batch_id ?? store_id;

export interface FileToAdd {
  readonly fileId: string;
  readonly attributes: Attributes | null;
  readonly chunking: Chunking;
  /** Left out: a caller adds it. */
  readonly origin?: Origin;
}

export interface FilesToAdd {
  readonly files: readonly FileToAdd[];
  readonly batchId?: string | null;
  readonly proofs?: Proofs;
}

export interface AddingDeps {
  readonly store: Store;
  readonly workers: () => Workers;
  readonly proofs: Pick<WorkProofs, 'seal'>;
  readonly now: () => number;
}

/** SQLite takes some thousand values in a statement. */
const AT_ONCE = 200;

/**
 * Puts files into a store whose row is new or locked; each is then taken in by a work of its own. One that is in the store
 * already, or on its way, and is to be cut the same way stays as it is.
 */
export async function addFiles(
  db: Db,
  store: VectorStoreRow,
  { files, batchId = null, proofs }: FilesToAdd,
  deps: AddingDeps,
): Promise<void> {
  const asked = new Map(files.map((file) => [file.fileId, file]));
  await requireFiles(db, store, [...asked.keys()], deps.now());
  const known = await knownFiles(db, store.id, [...asked.keys()]);
  const left = await lockLeftBatches(db, [...known.values()], deps.store);
  const fresh: VectorStoreFileRow[] = [];
  for (const file of asked.values()) {
    const before = known.get(file.fileId);
    if (before && staysAsItIs(before, file, batchId)) {
      await keep(db, before, file, batchId);
      continue;
    }
    const row = newRow(store.id, { ...file, origin: file.origin ?? originOf(before) }, batchId, deps.now());
    if (before) await changeFile(db, row, row);
    else fresh.push(row);
    await enqueue(db, store, row, { ...deps, sealed: deps.proofs.seal(row.position, proofs) });
  }
  for (let at = 0; at < fresh.length; at += AT_ONCE)
    await db
      .insertInto('vector_store_files')
      .values(fresh.slice(at, at + AT_ONCE))
      .execute();
  for (const batch of left) await endBatch(db, batch);
}

/** Every file exists in the store's workspace, or nothing is added. */
async function requireFiles(db: Db, { workspace_id }: VectorStoreRow, ids: readonly string[], now: number) {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    const found = await db
      .selectFrom('files')
      .select('id')
      .where('workspace_id', '=', workspace_id)
      .where('id', 'in', some)
      .where('deleted_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      .execute();
    const there = new Set(found.map(({ id }) => id));
    const missing = some.find((id) => !there.has(id));
    if (missing !== undefined) fail('file_not_found', missing);
  }
}

async function knownFiles(db: Db, storeId: string, ids: readonly string[]): Promise<Map<string, VectorStoreFileRow>> {
  const known = new Map<string, VectorStoreFileRow>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const rows = await filesOf(db, storeId)
      .where('file_id', 'in', ids.slice(at, at + AT_ONCE))
      .execute();
    for (const row of rows) known.set(row.file_id, row);
  }
  return known;
}

/** Batches that files in progress leave for another one: they may have nothing to wait for any more. */
async function lockLeftBatches(
  db: Db,
  rows: readonly VectorStoreFileRow[],
  store: Store,
): Promise<VectorStoreBatchRow[]> {
  const left = rows.filter(({ status, deleted_at }) => status === 'in_progress' && deleted_at === null);
  const ids = new Set(left.map(({ batch_id }) => batch_id).filter((id) => id !== null));
  const batches: VectorStoreBatchRow[] = [];
  for (const id of [...ids].sort()) {
    const batch = await lockBatch(store, db, id);
    if (batch) batches.push(batch);
  }
  return batches;
}

/** What another batch is taking in is begun anew: the work would be cancelled with that batch. */
function staysAsItIs(row: VectorStoreFileRow, { chunking }: FileToAdd, batchId: string | null): boolean {
  const isUnderWay = row.status === 'in_progress' && (batchId === null || row.batch_id === batchId);
  const isCutSo = row.chunk_tokens === chunking.chunkTokens && row.overlap_tokens === chunking.overlapTokens;
  return row.deleted_at === null && (row.status === 'completed' || isUnderWay) && isCutSo;
}

async function keep(db: Db, row: VectorStoreFileRow, { attributes }: FileToAdd, batchId: string | null) {
  if (attributes === null && batchId === null) return;
  await changeFile(db, row, {
    ...(attributes !== null && { attributes: JSON.stringify(attributes) }),
    ...(batchId !== null && { batch_id: batchId }),
  });
}

const newRow = (
  storeId: string,
  { fileId, attributes, chunking, origin }: FileToAdd,
  batchId: string | null,
  now: number,
): VectorStoreFileRow => ({
  store_id: storeId,
  file_id: fileId,
  position: newId(),
  batch_id: batchId,
  status: 'in_progress',
  last_error: null,
  usage_bytes: 0,
  attributes: JSON.stringify(attributes ?? {}),
  chunk_tokens: chunking.chunkTokens,
  overlap_tokens: chunking.overlapTokens,
  created_at: now,
  deleted_at: null,
  source: origin?.source ?? null,
  source_path: origin?.path ?? null,
  digest: origin?.digest ?? null,
});

async function enqueue(
  db: Db,
  { workspace_id }: VectorStoreRow,
  row: VectorStoreFileRow,
  { workers, sealed }: Pick<AddingDeps, 'workers'> & { readonly sealed: string | null },
) {
  const file = { storeId: row.store_id, fileId: row.file_id, position: row.position };
  const payload: Ingestion = sealed === null ? file : { ...file, proofs: sealed };
  await workers().enqueue(db, { kind: INGEST, tenant: workspace_id, ref: ingestionRef(row), payload });
}
