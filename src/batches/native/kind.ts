import { GatewayError } from '../../core/errors.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Kind, Lease } from '../../work/work.ts';
import { type BatchFault, hasEnded } from '../batch.ts';
import { NATIVE } from '../kinds.ts';
import { nativeApi } from './apis.ts';
import { providerBehind, Refused } from './ask.ts';
import type { NativeDeps } from './deps.ts';
import { giveUp, providerFault } from './ending.ts';
import { poll } from './follow.ts';
import { create, upload } from './hand-over.ts';
import type { Context, Step } from './step.ts';

/** The provider's window began a little after ours. */
const GRACE_MS = 600_000;

/** Hands a batch to the provider's own batch API, asks until it has ended, and brings the results home. */
export function nativeKind(deps: NativeDeps): Kind {
  const { store, table } = deps;
  return {
    name: NATIVE,
    concurrency: 4,
    // A provider that is away changes nothing; the window ends it.
    maxAttempts: 1_000,
    run: async (lease) => {
      const batch = await table.read(store.db, lease.work.ref);
      if (!batch || hasEnded(batch.status)) return lease.transaction((db) => lease.done(db));
      try {
        await advance(batch, lease, await contextOf(batch, lease, deps));
      } catch (error) {
        const fault = faultOf(error);
        if (!fault) throw error;
        await lease.transaction(async (db) => {
          const current = await table.lock(db, batch.id);
          if (current && !hasEnded(current.status)) await giveUp(db, current, [fault], deps);
          await lease.done(db);
        });
      }
    },
    failed: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      if (batch && !hasEnded(batch.status))
        await giveUp(db, batch, [providerFault('The provider does not answer.')], deps);
    },
    // Cancelling a batch asks the provider to; this row is not cancelled.
    cancelled: async () => {},
    sweep: async (db, at) => {
      const over = await db
        .selectFrom('batches')
        .select('id')
        .where('status', '=', 'in_progress')
        .where('mode', '=', 'native')
        .where('expires_at', '<=', at - GRACE_MS)
        .where('stop', 'is', null)
        .limit(20)
        .execute();
      for (const { id } of over) await table.change(db, id, { stop: 'expired' });
    },
  };
}

async function contextOf(batch: BatchRow, lease: Lease, deps: NativeDeps): Promise<Context> {
  const who = await deps.principalOf(batch);
  const provider = await providerBehind({ who, virtualKey: batch.virtual_key, signal: lease.signal }, deps.native);
  const api = nativeApi(provider.target.provider.name);
  if (!api) throw new Refused(400, 'the virtual key leads to another provider than it did.');
  return { api, provider, deps };
}

function advance(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const step = (lease.work.payload ?? { step: 'upload' }) as Step;
  switch (step.step) {
    case 'upload':
      return upload(batch, lease, context);
    case 'create':
      return create(batch, step, lease, context);
    case 'poll':
      return poll(batch, step, lease, context);
    default:
      return step satisfies never;
  }
}

/** What will not get better by waiting: the provider's no, or a key that is gone. */
function faultOf(error: unknown): BatchFault | null {
  if (error instanceof Refused) return providerFault(error.message);
  if (error instanceof GatewayError && error.status < 500 && error.status !== 429)
    return { code: error.code, message: error.message, param: error.param, line: null };
  return null;
}
