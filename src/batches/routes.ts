import { requiredVirtualKey } from '../auth/required-virtual-key.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { ENDPOINTS } from '../core/endpoints.ts';
import { listOf, listQuery } from '../core/list.ts';
import { download } from '../files/download.ts';
import type { Files } from '../files/files.ts';
import { type Call, type CallAt, get, post, type Route } from '../http/route.ts';
import { keptHeaders } from '../relay/kept-headers.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { Configs } from '../routing/configs.ts';
import { batchObject, newBatch } from './batch.ts';
import type { Batches } from './batches.ts';

export interface BatchParts {
  readonly batches: Batches;
  readonly files: Files;
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly proofs: Pick<WorkProofs, 'prove'>;
}

const wording = 'openai' as const;
const reads = { scopes: ['batches.read'] as const, wording };
const writes = { scopes: ['batches.write'] as const, wording };
const page = () => listQuery().omit({ before: true, order: true });

/** Batches belong to the workspace of the calling key; spec 5.1 wants a virtual key on each of their routes. */
export const batchRoutes = ({ batches, files, virtualKeys, configs, proofs }: BatchParts): Route[] => {
  const workspaceOf = async (call: Call) => {
    await requiredVirtualKey(call, virtualKeys);
    return call.principal.workspaceId;
  };
  const batch = (call: CallAt<'batch_id'>) => call.params.batch_id;
  return [
    post(
      '/v1/batches',
      { ...writes, summary: 'Create a batch', body: newBatch, response: batchObject },
      async (call) => {
        const virtualKey = await requiredVirtualKey(call, virtualKeys);
        const headers = await keptHeaders(call, KEPT_HEADERS, configs);
        const kept = { ...headers, 'x-gateway-virtual-key': virtualKey.slug };
        const endpoint = ENDPOINTS.get(call.body.endpoint.slice('/v1'.length)) ?? 'proxy';
        const { principal: who, headers: sent, log } = call;
        const proven = await proofs.prove({ who, headers: sent, kept, endpoint, log });
        return batches.create(call.body, { who, virtualKey, headers, proofs: proven });
      },
    ),
    get(
      '/v1/batches',
      { ...reads, summary: 'Batches of the workspace', query: page, response: () => listOf(batchObject) },
      async (call) => batches.list(await workspaceOf(call), call.query),
    ),
    get('/v1/batches/:batch_id', { ...reads, summary: 'One batch', response: batchObject }, async (call) =>
      batches.read(await workspaceOf(call), batch(call)),
    ),
    post(
      '/v1/batches/:batch_id/cancel',
      { ...writes, summary: 'Cancel a batch', response: batchObject },
      async (call) => batches.cancel(await workspaceOf(call), batch(call)),
    ),
    get('/v1/batches/:batch_id/output', { ...reads, summary: 'The answers of a batch, as a file' }, async (call) =>
      download(call, await batches.output(await workspaceOf(call), batch(call)), files),
    ),
  ];
};

/** What the requests of a batch take over from the request that created it. */
const KEPT_HEADERS = [
  'x-gateway-config',
  'x-gateway-metadata',
  'x-gateway-session-id',
  'x-gateway-cache-force-refresh',
  'x-gateway-debug',
];
