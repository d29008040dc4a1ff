import type { Proofs } from '../../guardrails/proof.ts';
import { type Call, type CallAt, del, get, post, type Route } from '../../http/route.ts';
import { deleted, reads, workspaceOf, writes } from '../shared-route.ts';
import { fileObject } from './file.ts';
import { beginSync, syncedFileForm, syncObject, tellSync } from './sync.ts';
import type { SyncPlace, Syncs } from './syncs.ts';

const STORE = '/v1/vector_stores/:vector_store_id';
const SYNC = `${STORE}/sync/:sync_id` as const;

/** It makes files and deletes them, so it needs what that needs. */
const changesFiles = { ...writes, scopes: ['assistants.write', 'files.write'] as const };

export interface SyncParts {
  readonly syncs: Syncs;
  /** What the caller proves to guardrails of the embedding model. */
  readonly proven: (call: Call) => Promise<Proofs | undefined>;
}

/** Stores that are kept in step with files elsewhere: what `gateway sync` calls. */
export const syncRoutes = ({ syncs, proven }: SyncParts): Route[] => [
  post(
    `${STORE}/sync`,
    { ...writes, summary: 'Begin to sync files into a vector store', body: beginSync, response: syncObject },
    (call) => syncs.begin(workspaceOf(call), call.params.vector_store_id, call.body),
  ),
  get(
    `${STORE}/sync`,
    { ...reads, summary: 'The sync of a vector store that is under way, or the last one', response: syncObject },
    (call) => syncs.read(workspaceOf(call), call.params.vector_store_id),
  ),
  post(
    SYNC,
    { ...writes, summary: 'Tell how far a sync is, or that it has ended', body: tellSync, response: syncObject },
    (call) => syncs.tell(placeOf(call), call.body),
  ),
  post(
    `${SYNC}/files`,
    {
      ...changesFiles,
      summary: 'Bring a file of a sync as it is now; it replaces the one of its path once it is taken in',
      form: syncedFileForm,
      response: fileObject,
    },
    async (call) => {
      const place = placeOf(call);
      return syncs.put(place, call.request, { userId: call.principal.userId, proofs: await proven(call) });
    },
  ),
  del(
    `${SYNC}/files/:file_id`,
    {
      ...changesFiles,
      summary: 'Take a file of a sync out of the vector store and delete it',
      response: deleted('vector_store.file.deleted'),
    },
    (call) => syncs.remove(placeOf(call), call.params.file_id),
  ),
];

const placeOf = (call: CallAt<'vector_store_id' | 'sync_id'>): SyncPlace => ({
  workspaceId: workspaceOf(call),
  storeId: call.params.vector_store_id,
  syncId: call.params.sync_id,
});
