import { GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { ProviderRefused } from '../../relay/provider-call.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { Kind } from '../../work/work.ts';
import type { Workers } from '../../work/workers.ts';
import { TIDY } from '../kinds.ts';
import { type Provider, providerBehind } from './ask.ts';
import { bucketOf } from './bucket.ts';
import type { NativeDeps } from './deps.ts';
import { isInBucket } from './folder.ts';

interface Payload {
  readonly leftovers: readonly string[];
}

/** Has what a batch left at its provider deleted there. */
export async function enqueueTidy(
  db: Db,
  batch: Pick<BatchRow, 'id' | 'workspace_id'>,
  leftovers: readonly string[],
  workers: Workers,
): Promise<void> {
  if (leftovers.length === 0) return;
  const payload: Payload = { leftovers };
  await workers.enqueue(db, { kind: TIDY, tenant: batch.workspace_id, ref: batch.id, payload });
}

/** Deletes files at providers, as well as that can be done: a provider that says no is not asked again. */
export function tidyKind({ store, table, workspaceAsCaller, native }: NativeDeps): Kind {
  const removeAll = async (batch: BatchRow, leftovers: readonly string[], signal: AbortSignal) => {
    // The key or user that made the batch may be gone by now.
    const who = await workspaceAsCaller(batch.workspace_id as WorkspaceId);
    const provider = await providerBehind({ who, virtualKey: batch.virtual_key, signal }, native);
    for (const each of leftovers) await remove(each, provider).catch(unlessFinal);
  };
  return {
    name: TIDY,
    concurrency: 2,
    maxAttempts: 12,
    backoff: { firstMs: 10_000, mostMs: 3_600_000 },
    run: async (lease) => {
      const batch = await table.read(store.db, lease.work.ref);
      const { leftovers } = lease.work.payload as Payload;
      if (batch) await removeAll(batch, leftovers, lease.signal).catch(unlessFinal);
      await lease.transaction((db) => lease.done(db));
    },
    // What is left there is the provider's to expire.
    failed: async () => {},
    cancelled: async () => {},
  };
}

async function remove(what: string, provider: Provider): Promise<void> {
  if (!isInBucket(what)) return (await provider.send({ method: 'DELETE', path: what, body: null })).cancel();
  const bucket = bucketOf(provider);
  for (const uri of await bucket.list(what)) await bucket.remove(uri);
}

/** The provider says no, or the key or the virtual key is gone: waiting would change nothing. */
function unlessFinal(error: unknown): void {
  const isFinal = error instanceof ProviderRefused || (error instanceof GatewayError && error.status < 500);
  if (!isFinal) throw error;
}
