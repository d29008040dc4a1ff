import { createHash } from 'node:crypto';
import { basename } from 'node:path/posix';
import { fail, GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { newObjectId } from '../../core/object-ids.ts';
import type { Principal } from '../../core/principal.ts';
import { schemaOf } from '../../core/schema.ts';
import type { Segment } from '../../files/content.ts';
import { MOST_FILE_BYTES } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import { receiveForm } from '../../files/form.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import { checked } from '../../http/input.ts';
import type { VectorStoreFileRow, VectorStoreRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { addFiles } from './adding.ts';
import { chunkingOf } from './chunking.ts';
import { drop, filesAt } from './dropping.ts';
import { type StoreFile, shownFile } from './file.ts';
import { changeFile, findFile, findStore, lockStore, usableStore } from './rows.ts';
import type { StoreFilesDeps } from './store-files.ts';
import {
  isHeld,
  leaseEnds,
  type NewSync,
  NOTHING_YET,
  type Sync,
  type SyncedFile,
  type SyncObject,
  type SyncWord,
  shownSync,
  syncedFile,
  syncOf,
} from './sync.ts';

export interface SyncsDeps extends StoreFilesDeps {
  readonly files: Files;
}

/** Which sync of which store a call speaks of. */
export interface SyncPlace {
  readonly workspaceId: WorkspaceId;
  readonly storeId: string;
  readonly syncId: string;
}

const LONGEST_FILENAME = 255;

/**
 * Keeps stores in step with files elsewhere. A client that lists these files holds a lease on the store while it adds and
 * takes out; the version of a file that was there before goes when the new one is taken in, in that transaction, so what a
 * killed client began is ended without it.
 */
export function createSyncs(deps: SyncsDeps) {
  const { store, files, now } = deps;

  const write = async (db: Db, storeId: string, sync: Sync): Promise<SyncObject> => {
    await db
      .updateTable('vector_stores')
      .set({ sync: JSON.stringify(sync) })
      .where('id', '=', storeId)
      .execute();
    return shownSync(storeId, sync, now());
  };

  /** The store, locked, and its sync, which is the caller's; it is heard of with this. */
  const held = async (db: Db, { workspaceId, storeId, syncId }: SyncPlace): Promise<[VectorStoreRow, Sync]> => {
    await lockStore(store, db, storeId);
    const row = await usableStore(db, workspaceId, storeId, now());
    const sync = requireOwn(row, syncId);
    await write(db, storeId, { ...sync, heard_at: now() });
    return [row, sync];
  };

  const insert = async (db: Db, place: SyncPlace, given: SyncedFile, content: Segment, who: Giver) => {
    const [row, { source }] = await held(db, place);
    const origin = { source, path: given.path, digest: given.digest };
    const chunking = chunkingOf(given.chunking_strategy);
    const attributes = given.attributes ?? {};
    const before = await filesAt(db, row.id, origin);
    const same = before.find(
      (file) =>
        file.digest === given.digest &&
        (file.status === 'completed' || file.status === 'in_progress') &&
        file.chunk_tokens === chunking.chunkTokens &&
        file.overlap_tokens === chunking.overlapTokens,
    );
    // What is found stays until this one is taken in; the others are found by no search.
    for (const file of before)
      if (file !== same && (same !== undefined || file.status !== 'completed')) await drop(db, file, deps);
    if (same) {
      await changeFile(db, same, { attributes: JSON.stringify(attributes) });
      return { file: await findFile(db, row.id, same.file_id), isNew: false };
    }
    const { id: fileId } = await files.insert(db, {
      workspaceId: place.workspaceId,
      userId: who.userId,
      filename: filenameOf(given.path),
      purpose: 'assistants',
      segments: [content],
    });
    await addFiles(db, row, { files: [{ fileId, attributes, chunking, origin }], proofs: who.proofs }, deps);
    return { file: await findFile(db, row.id, fileId), isNew: true };
  };

  return {
    /** The store is this sync's from here on, until it ends or is not heard of for a minute. */
    begin: (workspaceId: WorkspaceId, storeId: string, { source, holder, takes_over }: NewSync): Promise<SyncObject> =>
      store.transaction(async (db) => {
        await lockStore(store, db, storeId);
        const row = await usableStore(db, workspaceId, storeId, now());
        const before = syncOf(row);
        if (before && isHeld(before, now()) && before.id !== takes_over)
          fail('vector_store_sync_busy', {
            ...before,
            since: new Date(before.began_at).toISOString(),
            until: new Date(leaseEnds(before)).toISOString(),
          });
        const at = now();
        const id = newObjectId('vectorStoreSync', at);
        const times = { began_at: at, heard_at: at, ended_at: null };
        return write(db, storeId, { id, source, holder, status: 'in_progress', ...times, progress: NOTHING_YET });
      }),

    async read(workspaceId: WorkspaceId, storeId: string): Promise<SyncObject> {
      const row = await findStore(store.db, workspaceId, storeId);
      const sync = syncOf(row) ?? fail('object_not_found', 'sync of vector store', storeId);
      return shownSync(storeId, sync, now());
    },

    tell: (place: SyncPlace, { progress, status }: SyncWord): Promise<SyncObject> =>
      store.transaction(async (db) => {
        const [row, sync] = await held(db, place);
        const at = now();
        const ended_at = status === 'in_progress' ? null : at;
        return write(db, row.id, { ...sync, progress, status, heard_at: at, ended_at });
      }),

    /** A file of the source, as it is now; it is in the store, or on its way, in one transaction with its making. */
    async put(place: SyncPlace, request: Request, who: Giver): Promise<StoreFile> {
      // Before its bytes are read.
      requireOwn(await usableStore(store.db, place.workspaceId, place.storeId, now()), place.syncId);
      const hash = createHash('sha256');
      const { fields, file } = await receiveForm(request, {
        ...{ field: 'file', mostBytes: MOST_FILE_BYTES, what: 'a file that is synced' },
        keep: (content) => files.keep(hashed(content, hash)),
        discard: files.discard,
      });
      try {
        const given = checked(
          schemaOf(syncedFile),
          {
            ...fields,
            ...(fields.attributes !== undefined && { attributes: inJson(fields, 'attributes') }),
            ...(fields.chunking_strategy !== undefined && { chunking_strategy: inJson(fields, 'chunking_strategy') }),
            ...(file && { file: true }),
          },
          'body',
          'openai',
        );
        const arrived = `sha256:${hash.digest('hex')}`;
        if (given.digest.startsWith('sha256:') && given.digest !== arrived)
          fail(
            'invalid_value',
            'digest',
            `Invalid 'digest': what arrived has ${arrived}; the file changed on its way.`,
          );
        const made = await store.transaction((db) => insert(db, place, given, file!.content, who));
        if (!made.isNew) await files.discard(file!.content);
        return shownFile(made.file);
      } catch (error) {
        // Whether an insert that failed otherwise took place is not known; what is left is swept.
        if (file && error instanceof GatewayError && error.status < 500) await files.discard(file.content);
        throw error;
      }
    },

    /** Takes out and deletes what the source no longer has. */
    async remove(place: SyncPlace, fileId: string) {
      await store.transaction(async (db) => {
        const [{ id }, { source }] = await held(db, place);
        const row: VectorStoreFileRow = await findFile(db, id, fileId);
        if (row.source !== source) fail('vector_store_file_not_found', fileId, id);
        await drop(db, row, deps);
      });
      return { id: fileId, object: 'vector_store.file.deleted' as const, deleted: true as const };
    },
  };
}

export type Syncs = ReturnType<typeof createSyncs>;

/** Who brings a file. */
export interface Giver extends Pick<Principal, 'userId'> {
  readonly proofs?: Proofs;
}

function requireOwn(row: VectorStoreRow, syncId: string): Sync {
  const sync = syncOf(row);
  if (!sync) fail('object_not_found', 'vector store sync', syncId);
  if (sync.id !== syncId) fail('vector_store_sync_lost', syncId, `${sync.holder} has begun another one (${sync.id})`);
  if (sync.status !== 'in_progress') fail('vector_store_sync_lost', syncId, `it is ${sync.status}`);
  return sync;
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
}

function inJson(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return JSON.parse(String(fields[name]));
  } catch {
    return fail('invalid_value', name, `Invalid '${name}': it is not JSON.`);
  }
}

/** What it is called in search results; its end says what it is. */
const filenameOf = (path: string): string => {
  const name = basename(path);
  return name.length <= LONGEST_FILENAME ? name : name.slice(-LONGEST_FILENAME).toWellFormed();
};
