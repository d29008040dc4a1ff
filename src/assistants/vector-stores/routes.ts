import { listOf } from '../../core/list.ts';
import { json } from '../../http/reply.ts';
import { type Call, type CallAt, del, get, post, type Route } from '../../http/route.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { Store } from '../../storage/store.ts';
import { provenByGiver } from '../file-proofs.ts';
import { deleted, page, reads, workspaceOf, writes } from '../shared-route.ts';
import {
  addBatch,
  addFile,
  batchObject,
  contentPage,
  type FileBatch,
  fileObject,
  type StoreFile,
  statusFilter,
  updateFile,
} from './file.ts';
import { searchRoute } from './search/route.ts';
import { createStore, storeObject, updateStore } from './store.ts';
import { syncRoutes } from './sync-routes.ts';
import type { VectorStores } from './vector-stores.ts';

const filePage = () => page().extend({ filter: statusFilter() });

const STORE = '/v1/vector_stores/:vector_store_id';

export interface VectorStoreParts {
  readonly vectorStores: VectorStores;
  readonly store: Store;
  readonly proofs: Pick<WorkProofs, 'prove'>;
}

/** Vector stores, the files in them, batches of files, and searching them. */
export const vectorStoreRoutes = ({ vectorStores, store: state, proofs }: VectorStoreParts): Route[] => {
  const store = (call: CallAt<'vector_store_id'>) => call.params.vector_store_id;
  const file = (call: CallAt<'file_id'>) => call.params.file_id;
  const batch = (call: CallAt<'batch_id'>) => call.params.batch_id;
  const proven = (call: Call, brings = true) => provenByGiver(call, brings, { proofs, embeds: vectorStores.embeds });
  return [
    post(
      '/v1/vector_stores',
      { ...writes, summary: 'Create a vector store', body: createStore, response: storeObject },
      async (call) => {
        const workspaceId = workspaceOf(call);
        const brings = (call.body.file_ids ?? []).length > 0;
        return vectorStores.stores.create(workspaceId, call.body, await proven(call, brings));
      },
    ),
    get(
      '/v1/vector_stores',
      { ...reads, summary: 'Vector stores of the workspace', query: page, response: () => listOf(storeObject) },
      (call) => vectorStores.stores.list(workspaceOf(call), call.query),
    ),
    get(STORE, { ...reads, summary: 'One vector store', response: storeObject }, (call) =>
      vectorStores.stores.read(workspaceOf(call), store(call)),
    ),
    post(STORE, { ...writes, summary: 'Change a vector store', body: updateStore, response: storeObject }, (call) =>
      vectorStores.stores.update(workspaceOf(call), store(call), call.body),
    ),
    del(
      STORE,
      { ...writes, summary: 'Delete a vector store; its files stay', response: deleted('vector_store.deleted') },
      (call) => vectorStores.stores.delete(workspaceOf(call), store(call)),
    ),
    searchRoute({
      store: state,
      search: (request) => vectorStores.search(request),
      rewrite: vectorStores.rewrite,
      proofs,
      used: (ids) => vectorStores.stores.touch(ids),
    }),

    post(
      `${STORE}/files`,
      { ...writes, summary: 'Add a file to a vector store', body: addFile, response: fileObject },
      async (call) => {
        const workspaceId = workspaceOf(call);
        const proofsOfGiver = await proven(call);
        return polled(call, await vectorStores.files.add(workspaceId, store(call), call.body, proofsOfGiver));
      },
    ),
    get(
      `${STORE}/files`,
      { ...reads, summary: 'Files in a vector store', query: filePage, response: () => listOf(fileObject) },
      (call) => vectorStores.files.list(workspaceOf(call), store(call), call.query),
    ),
    get(
      `${STORE}/files/:file_id`,
      { ...reads, summary: 'One file in a vector store', response: fileObject },
      async (call) => polled(call, await vectorStores.files.read(workspaceOf(call), store(call), file(call))),
    ),
    post(
      `${STORE}/files/:file_id`,
      { ...writes, summary: 'Change the attributes of a file', body: updateFile, response: fileObject },
      (call) => vectorStores.files.update(workspaceOf(call), store(call), file(call), call.body),
    ),
    del(
      `${STORE}/files/:file_id`,
      {
        ...writes,
        summary: 'Take a file out of a vector store; the file stays',
        response: deleted('vector_store.file.deleted'),
      },
      (call) => vectorStores.files.remove(workspaceOf(call), store(call), file(call)),
    ),
    get(
      `${STORE}/files/:file_id/content`,
      { ...reads, summary: 'The text of a file in a vector store', response: contentPage },
      (call) => vectorStores.files.content(workspaceOf(call), store(call), file(call)),
    ),

    post(
      `${STORE}/file_batches`,
      { ...writes, summary: 'Add several files to a vector store', body: addBatch, response: batchObject },
      async (call) => {
        const workspaceId = workspaceOf(call);
        const proofsOfGiver = await proven(call);
        return polled(call, await vectorStores.batches.create(workspaceId, store(call), call.body, proofsOfGiver));
      },
    ),
    get(
      `${STORE}/file_batches/:batch_id`,
      { ...reads, summary: 'One batch of files', response: batchObject },
      async (call) => polled(call, await vectorStores.batches.read(workspaceOf(call), store(call), batch(call))),
    ),
    post(
      `${STORE}/file_batches/:batch_id/cancel`,
      { ...writes, summary: 'Stop adding a batch of files', response: batchObject },
      (call) => vectorStores.batches.cancel(workspaceOf(call), store(call), batch(call)),
    ),
    get(
      `${STORE}/file_batches/:batch_id/files`,
      { ...reads, summary: 'Files of a batch', query: filePage, response: () => listOf(fileObject) },
      (call) => vectorStores.batches.listFiles(workspaceOf(call), store(call), batch(call), call.query),
    ),

    ...syncRoutes({ syncs: vectorStores.syncs, proven }),
  ];
};

/** From the age of what is waited for: the longer it has taken, the longer it may take. */
const POLL_MS = [
  [2, 200],
  [30, 500],
] as const;
const LONG_POLL_MS = 1_000;

/** Pollers of the vendor's clients wait as long as the answer says, and five seconds when it says nothing. */
function polled({ now }: Call, shown: StoreFile | FileBatch): Response {
  const response = json(shown);
  if (shown.status !== 'in_progress') return response;
  const age = now / 1_000 - shown.created_at;
  const pollMs = POLL_MS.find(([youngerThan]) => age < youngerThan)?.[1] ?? LONG_POLL_MS;
  response.headers.set('openai-poll-after-ms', String(pollMs));
  return response;
}
