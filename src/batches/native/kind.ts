import { GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import { ProviderRefused } from '../../relay/provider-call.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Kind, Lease } from '../../work/work.ts';
import { type BatchFault, hasEnded } from '../batch.ts';
import { callerOf, NATIVE } from '../kinds.ts';
import { nativeApi } from './apis.ts';
import { providerBehind, reasonOf } from './ask.ts';
import type { NativeDeps } from './deps.ts';
import { finish, giveUp, providerFault } from './ending.ts';
import { poll } from './follow.ts';
import { create, upload } from './hand-over.ts';
import { carryOutHere, holdForAll } from './hold.ts';
import { type Context, nativeOf, type Step } from './step.ts';

/** The provider's window began a little after ours. */
const GRACE_MS = 600_000;
/** So long after a batch was to stop, its provider may take to end it and to give its results out. */
const LONGEST_END_MS = 21_600_000;

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
      // A provider that is away for good keeps no batch from its end.
      if (isOverdue(batch, deps.now())) return finish(batch, lease, deps);
      try {
        await advance(batch, lease, await contextOf(batch, lease, deps));
      } catch (error) {
        const fault = faultOf(error);
        if (!fault) throw error;
        await lease.transaction(async (db) => {
          const current = await table.lock(db, batch.id);
          if (current && !hasEnded(current.status)) await giveUp(db, current, fault, deps);
          await lease.done(db);
        });
      }
    },
    failed: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      if (batch && !hasEnded(batch.status))
        await giveUp(db, batch, providerFault('The provider does not answer.'), deps);
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
      for (const { id } of over) {
        const batch = await table.lock(db, id);
        // Meanwhile its results may have come, or a caller has cancelled it.
        if (batch?.status === 'in_progress' && batch.stop === null) await table.change(db, id, { stop: 'expired' });
      }
    },
  };
}

const stepOf = ({ work }: Lease): Step => (work.payload ?? { step: 'upload' }) as Step;

const isOverdue = ({ stop, cancelling_at, expires_at }: BatchRow, now: number): boolean =>
  stop !== null && now - (cancelling_at ?? expires_at) > LONGEST_END_MS;

async function contextOf(batch: BatchRow, lease: Lease, deps: NativeDeps): Promise<Context> {
  const who = await payerOf(batch, lease, deps);
  const provider = await providerBehind({ who, virtualKey: batch.virtual_key, signal: lease.signal }, deps.native);
  const { name } = provider.target.provider;
  const api = nativeApi(name);
  // A virtual key that was made anew for another provider knows nothing of this batch.
  if (!api || name !== nativeOf(batch).provider) throw new GatewayError('unknown_virtual_key', [batch.virtual_key]);
  return { who, api, provider, deps };
}

/**
 * The caller that made the batch pays. If that caller is gone, results that the provider has by then are still fetched,
 * and the workspace pays.
 */
async function payerOf(batch: BatchRow, lease: Lease, deps: NativeDeps): Promise<Principal> {
  try {
    return await callerOf(batch, deps);
  } catch (error) {
    const isGone = error instanceof GatewayError && error.status === 401;
    if (!isGone || stepOf(lease).step !== 'poll') throw error;
    return deps.workspaceAsCaller(batch.workspace_id as WorkspaceId);
  }
}

async function advance(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const step = stepOf(lease);
  switch (step.step) {
    case 'upload':
      if (!batch.stop && !(await holdForAll(batch, lease, context))) return carryOutHere(batch, lease, context);
      return upload((await context.deps.table.read(context.deps.store.db, batch.id)) ?? batch, lease, context);
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
  if (error instanceof ProviderRefused) return providerFault(reasonOf(error));
  if (error instanceof GatewayError && error.status < 500 && error.status !== 429)
    return { code: error.code, message: error.message, param: error.param, line: null };
  return null;
}
