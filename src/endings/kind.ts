import type { CancelledAbroad, Payer, RunningAbroad, WorkAbroad } from '../area/abroad.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Ending, EndingStep, Owned, Person } from '../storage/ending.ts';
import type { EndingRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Kind, Lease } from '../work/work.ts';
import type { AllEndings, Needed, Removed } from './ending.ts';

/** The name of the work that removing what belonged to a workspace or a person is. */
export const ENDING = 'ending';

export interface EndingKindDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly all: AllEndings;
  readonly abroad: readonly WorkAbroad[];
  readonly virtualKeys: Pick<VirtualKeys, 'resolve' | 'opened'>;
  readonly workspaceAsCaller: (id: WorkspaceId) => Promise<Principal>;
  readonly now: () => number;
  /** How long after everything was removed it is looked once more. */
  readonly lastLookMs?: number;
}

/** Rows of one step: a transaction of a few milliseconds. */
const ROWS_AT_ONCE = 200;
/** A provider that does not answer by then is reported; its job is not worth waiting longer. */
const PROVIDER_MS = 20_000;
/**
 * Calls that were under way when the owner ended may still write: an entry of the log that waits on the disk of another
 * node, the answer of a model that thinks for long.
 */
const LAST_LOOK_MS = 900_000;

interface Payload {
  /** Everything was removed once. */
  readonly isLastLook?: boolean;
}

/** Removes step by step what belonged to a workspace or a person. Every node may go on where another has stopped. */
export function endingKind(deps: EndingKindDeps): Kind {
  const { store, now, lastLookMs = LAST_LOOK_MS } = deps;
  return {
    name: ENDING,
    concurrency: 1,
    // This kind alone removes what is left, so it never gives up.
    maxAttempts: Number.POSITIVE_INFINITY,
    backoff: { firstMs: 1_000, mostMs: 60_000 },
    run: async (lease) => {
      const row = await rowOf(store.db, lease.work.ref);
      if (!row || row.sealed === null) return lease.transaction((db) => lease.done(db));
      const { isLastLook = false } = (lease.work.payload ?? {}) as Payload;
      const needed = JSON.parse(deps.sealer.open('ending', row.id, row.sealed)) as Needed;
      if (!isLastLook) await cancelAbroad(row, needed, lease, deps);
      await removeAll(row, needed, lease, deps);
      await lease.transaction(async (db) => {
        const change = isLastLook
          ? { sealed: null, updated_at: now() }
          : { status: 'completed' as const, completed_at: now(), updated_at: now() };
        await db.updateTable('endings').set(change).where('id', '=', row.id).execute();
        if (isLastLook) await lease.done(db);
        else await lease.reschedule(db, { afterMs: lastLookMs }, { isLastLook: true } satisfies Payload);
      });
    },
    failed: async () => {},
    cancelled: async () => {},
  };
}

const rowOf = (db: Db, id: string): Promise<EndingRow | undefined> =>
  db.selectFrom('endings').selectAll().where('id', '=', id).executeTakeFirst();

const ownedBy = (row: EndingRow): Owned => ({
  column: row.subject === 'workspace' ? 'workspace_id' : 'user_id',
  value: row.subject_id,
});

async function removeAll(row: EndingRow, needed: Needed, lease: Lease, { store, all }: EndingKindDeps): Promise<void> {
  const each = async <Owner>(endings: readonly Ending<Owner>[], owner: Owner) => {
    for (const { area, remove } of endings) {
      if (!remove) continue;
      const step = stepOf(row.id, area, lease, store.db);
      do {
        lease.signal.throwIfAborted();
        // The embedded store answers without ever waiting: others get their turn here.
        await Bun.sleep(0);
      } while ((await remove(owner, step)) > 0);
    }
  };
  if (needed.subject === 'workspace') return each(all.withWorkspace, row.subject_id as WorkspaceId);
  const { names } = needed;
  const person: Person = { id: row.subject_id, organisationId: row.organisation_id, names };
  return each(all.withUser, person);
}

function stepOf(id: string, area: string, lease: Lease, db: Db): EndingStep {
  const transaction: EndingStep['transaction'] = (remove) =>
    lease.transaction(
      async (locked) => {
        const rows = await remove(locked);
        if (rows > 0) await addRemoved(locked, id, { [area]: rows });
        return rows;
      },
      // What a power cut takes back is removed again: the work is back, too.
      { flush: 'later' },
    );
  return {
    db,
    atMost: ROWS_AT_ONCE,
    signal: lease.signal,
    transaction,
    removedElsewhere: (rows) => (rows === 0 ? Promise.resolve(0) : transaction(async () => rows)),
  };
}

/** The transaction that holds the lock on the work's row is the only one that changes the ending's row. */
export async function addRemoved(db: Db, id: string, more: Removed): Promise<void> {
  const row = (await rowOf(db, id))!;
  const removed: Record<string, number> = JSON.parse(row.removed);
  for (const [area, rows] of Object.entries(more)) removed[area] = (removed[area] ?? 0) + rows;
  await db
    .updateTable('endings')
    .set({ removed: JSON.stringify(removed) })
    .where('id', '=', id)
    .execute();
}

/** Before the rows go that know of it. Each is asked for once that its outcome is written down. */
async function cancelAbroad(row: EndingRow, needed: Needed, lease: Lease, deps: EndingKindDeps): Promise<void> {
  const told: CancelledAbroad[] = JSON.parse(row.abroad);
  for (const work of deps.abroad) {
    for (const running of await work.running(deps.store.db, ownedBy(row))) {
      if (told.some(({ area, id }) => area === work.area && id === running.id)) continue;
      const error = await cancelOne(work, running, needed, lease, deps);
      told.push({ area: work.area, id: running.id, error });
      await lease.transaction((db) =>
        db
          .updateTable('endings')
          .set({ abroad: JSON.stringify(told) })
          .where('id', '=', row.id)
          .execute(),
      );
    }
  }
}

/** What kept the provider from stopping it; null when it was told. */
async function cancelOne(
  work: WorkAbroad,
  running: RunningAbroad,
  needed: Needed,
  lease: Lease,
  deps: EndingKindDeps,
): Promise<string | null> {
  try {
    const payer = await payerOf(running, needed, deps);
    await work.cancel(running.id, payer, AbortSignal.any([lease.signal, AbortSignal.timeout(PROVIDER_MS)]));
    return null;
  } catch (error) {
    lease.signal.throwIfAborted();
    return error instanceof Error ? error.message.slice(0, 500) : 'It could not be asked.';
  }
}

async function payerOf({ workspaceId }: RunningAbroad, needed: Needed, deps: EndingKindDeps): Promise<Payer> {
  const { virtualKeys, workspaceAsCaller } = deps;
  if (needed.subject === 'user') return { who: await workspaceAsCaller(workspaceId), virtualKeys };
  const { organisationId, slug } = needed;
  const who: Principal = {
    organisationId: organisationId as OrganisationId,
    workspaceId,
    workspaceSlug: slug,
    keyId: workspaceId as string as ApiKeyId,
    keyName: slug,
    userId: null,
    scopes: new Set(),
    defaults: {},
    limits: [],
  };
  const resolve = (_: Principal, name: string) => {
    const row = needed.virtualKeys.find((each) => each.slug === name) ?? fail('unknown_virtual_key', name);
    return virtualKeys.opened(who, row);
  };
  return { who, virtualKeys: { resolve } };
}
