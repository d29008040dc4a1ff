import { GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { BlobRange } from '../../files/blobs.ts';
import type { Proven } from '../../guardrails/proof.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { FileRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Kind, Lease, Work } from '../../work/work.ts';
import { DocumentFault } from '../documents/document.ts';
import type { Document, DocumentReader } from '../documents/reader.ts';
import { ReadingFailed } from '../documents/reading-process.ts';
import { INGEST, type Ingestion } from './adding.ts';
import type { Chunk, ChunkIndex, FencedTransaction } from './chunk-index.ts';
import { dropReplaced } from './dropping.ts';
import type { LastError } from './file.ts';
import { DescriptionFailed, MARK_BYTES, type Pictures, pictureTypeOf } from './pictures.ts';
import { changeFile, endBatch, filesOf, lockBatch, lockStore } from './rows.ts';
import { EmbeddingsFailed } from './search/embeddings.ts';

export interface IngestDeps {
  readonly store: Store;
  /** Content of files; throws `file_not_found` for one that is gone. */
  readonly files: {
    row(workspaceId: WorkspaceId, id: string): Promise<FileRow>;
    open(file: FileRow, range?: BlobRange): Promise<ReadableStream<Uint8Array>>;
    drop(db: Db, id: string): Promise<void>;
  };
  readonly index: ChunkIndex;
  readonly reader: DocumentReader;
  /** Null: pictures are not read. */
  readonly pictures: Pictures | null;
  readonly proofs: Pick<WorkProofs, 'open'>;
  readonly now: () => number;
}

/** Reading takes a processor, embedding waits for a provider: more of them than processors, but not many. */
const CONCURRENCY = 3;
const MOST_ATTEMPTS = 4;
/** A file at which the reading process ended twice is what ends it. */
const MOST_CRASHES = 2;

/** By a guardrail. */
const DENIED = 446;

type Outcome =
  | { readonly status: 'completed'; readonly usageBytes: number }
  | { readonly status: 'failed'; readonly error: LastError }
  | { readonly status: 'cancelled' };

/** The file was taken out, cancelled or added anew: this work is about nothing any more. */
class Superseded extends Error {
  override readonly name = 'Superseded';
}

/**
 * Takes a file into a store: its text is read, cut and indexed, and then, in one transaction with the end of the work, it
 * is called completed. Killed before that, it is begun again and leaves the same.
 */
export function ingestKind(deps: IngestDeps): Kind {
  const { store, index } = deps;

  /** The file's row, as long as it is this ingestion's affair; it stays so until the transaction ends. */
  const current = async (db: Db, { storeId, fileId, position }: Ingestion) => {
    const query = filesOf(db, storeId)
      .where('file_id', '=', fileId)
      .where('position', '=', position)
      .where('status', '=', 'in_progress')
      .where('deleted_at', 'is', null);
    return (store.engine === 'postgres' ? query.forNoKeyUpdate() : query).executeTakeFirst();
  };

  const settle = async (db: Db, work: Work, outcome: Outcome): Promise<void> => {
    const ingestion = work.payload as Ingestion;
    // The store and the batch before the file, as in every transaction; so the row is looked up, and locked only then.
    const known = await filesOf(db, ingestion.storeId).where('file_id', '=', ingestion.fileId).executeTakeFirst();
    if (known?.source_path) await lockStore(store, db, ingestion.storeId);
    const batch = known?.batch_id ? await lockBatch(store, db, known.batch_id) : undefined;
    const row = await current(db, ingestion);
    if (!row) return;
    await changeFile(db, row, {
      status: outcome.status,
      usage_bytes: outcome.status === 'completed' ? outcome.usageBytes : 0,
      last_error: outcome.status === 'failed' ? JSON.stringify(outcome.error) : null,
    });
    if (outcome.status !== 'completed') await index.remove(db, row.store_id, row.file_id);
    if (batch) await endBatch(db, batch);
    if (outcome.status === 'completed') await dropReplaced(db, row, deps);
  };

  const run = async (lease: Lease): Promise<void> => {
    const { work } = lease;
    const ingestion = work.payload as Ingestion;
    const transaction: FencedTransaction = (step) =>
      lease.transaction(async (db) => {
        if (!(await current(db, ingestion))) throw new Superseded();
        return step(db);
      });
    const outcome = await takeIn(lease, transaction, deps);
    await lease.transaction(async (db) => {
      if (outcome) await settle(db, work, outcome);
      await lease.done(db);
    });
  };

  return {
    name: INGEST,
    concurrency: CONCURRENCY,
    maxAttempts: MOST_ATTEMPTS,
    run,
    failed: (db, work, error) => settle(db, work, { status: 'failed', error: serverError(error) }),
    cancelled: (db, work) => settle(db, work, { status: 'cancelled' }),
  };
}

/** What becomes of the file; null: this work is superseded. */
async function takeIn(lease: Lease, transaction: FencedTransaction, deps: IngestDeps): Promise<Outcome | null> {
  const { work, signal } = lease;
  const { files, index, reader, proofs } = deps;
  const { storeId, fileId, position, proofs: sealed = null } = work.payload as Ingestion;
  const workspaceId = work.tenant as WorkspaceId;
  try {
    const row = await transaction((db) => filesOf(db, storeId).where('file_id', '=', fileId).executeTakeFirstOrThrow());
    const file = await files.row(workspaceId, fileId);
    const proven = proofs.open(position, sealed);
    const text = await described(lease, file, proven, deps);
    const read = reader.chunks(
      {
        ...(text ?? { filename: file.filename, bytes: file.bytes, open: () => files.open(file) }),
        tenant: workspaceId,
        chunkTokens: row.chunk_tokens,
        overlapTokens: row.overlap_tokens,
      },
      signal,
    );
    // Lines of what a model said of a picture are none of the file.
    const chunks = text ? withoutLocators(read) : read;
    const options = { signal, transaction, proven };
    const { usageBytes } = await index.put({ storeId, fileId, workspaceId }, chunks, options);
    return { status: 'completed', usageBytes };
  } catch (error) {
    if (error instanceof Superseded) return null;
    if (error instanceof DocumentFault) return failed(error.code, error.message);
    if (error instanceof GatewayError && error.code === 'file_not_found')
      return failed('invalid_file', 'The file was deleted before it could be read.');
    // It would be denied again.
    if (error instanceof EmbeddingsFailed && error.status === DENIED) return failed('server_error', error.message);
    if (error instanceof DescriptionFailed && !error.isPassing) return failed('server_error', error.message);
    if (error instanceof ReadingFailed && work.attempts >= MOST_CRASHES)
      return failed('invalid_file', 'The file cannot be read with the memory and time that a file may take.');
    throw error;
  }
}

async function* withoutLocators(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) yield { ...chunk, locator: null };
}

/** What a model says of a picture, as a file to read; null: it is no picture, or pictures are not read here. */
async function described(
  lease: Lease,
  file: FileRow,
  proven: Proven | undefined,
  { files, pictures }: IngestDeps,
): Promise<Pick<Document, 'filename' | 'bytes' | 'open'> | null> {
  const { signal } = lease;
  const ingestion = lease.work.payload as Ingestion;
  const workspaceId = lease.work.tenant as WorkspaceId;
  let text = ingestion.described;
  if (text === undefined) {
    if (!pictures || file.bytes < MARK_BYTES) return null;
    const head = await new Response(await files.open(file, { start: 0, end: MARK_BYTES })).bytes();
    const type = pictureTypeOf(head);
    if (!type || !(await pictures.readsFor(workspaceId))) return null;
    const open = () => files.open(file);
    const said = await pictures.describe({ workspaceId, type, bytes: file.bytes, open, proven, signal });
    await lease.transaction((db) => lease.checkpoint(db, { ...ingestion, described: said } satisfies Ingestion));
    text = said;
  }
  const bytes = new TextEncoder().encode(text);
  return { filename: 'picture.txt', bytes: bytes.byteLength, open: async () => new Blob([bytes]).stream() };
}

const failed = (code: LastError['code'], message: string): Outcome => ({ status: 'failed', error: { code, message } });

/** What the gateway says itself may be shown; what others throw may say too much. */
const serverError = (error: unknown): LastError => ({
  code: 'server_error',
  message:
    error instanceof GatewayError || error instanceof EmbeddingsFailed || error instanceof DescriptionFailed
      ? error.message
      : 'The file could not be taken in, though it was tried several times. Add it again to try once more.',
});
