import type { Clock } from '../core/clock.ts';
import { Pulse } from '../core/runtime/pulse.ts';
import { RARELY_SECONDS } from '../core/runtime/seconds.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { FIRST_SEAL, sealOf, signedHead } from './chain.ts';
import { addToDays, COUNTED } from './days.ts';
import type { ChainGuard } from './guard.ts';

/** How long a record waits for others to be chained with. */
const SOON_MS = 500;
/** How often a node that has recorded nothing looks at what others did to the log. */
const LOOK_MS = 5_000;
const MOST_IN_BATCH = 200;
/** How often a node that others have overtaken looks again before it leaves the work to them. */
const MOST_LOOKS = 5;

export interface SealingDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly guard: ChainGuard;
  readonly now: Clock;
  /** Gets the ends of the chains after they were found whole, to be kept out of reach of the database's owner. */
  readonly publish?: (heads: readonly AuditHeadRow[]) => void;
}

/** Adds records to the chain soon after they are stored. Any number of nodes may: the end of a chain is locked. */
export function startSealing({ store, sealer, guard, now, publish }: SealingDeps) {
  const seal = async (organisationId: string) => {
    for (let looks = 0; looks < MOST_LOOKS && guard.isQuiet; ) {
      const seen = guard.seen(organisationId);
      const outcome = await store.transaction((db) => sealBatch(db, { store, sealer, now, organisationId, seen }));
      if (outcome === 'busy') return;
      if (outcome === 'moved') {
        looks++;
        await guard.look();
        continue;
      }
      guard.grown(outcome.head);
      if (outcome.sealed < MOST_IN_BATCH) return;
    }
  };
  const sealAll = async () => {
    await guard.look();
    for (const organisationId of guard.isQuiet ? await organisations(store.db) : []) await seal(organisationId);
    if (guard.isQuiet) publish?.(guard.heads);
  };
  const begun = Promise.withResolvers<void>();
  const pulse = new Pulse({
    everyMs: LOOK_MS,
    quietMs: RARELY_SECONDS * 1_000,
    beat: async () => {
      await sealAll().finally(begun.resolve);
      return guard.isQuiet ? undefined : SOON_MS;
    },
    // The store says by itself when it is away; what is not sealed now is sealed later.
    onError: () => {},
  });
  pulse.start();

  return {
    /** Resolves when the store was compared for the first time with what was seen of it earlier. */
    begun: begun.promise,
    /** This node has stored a record, or is about to. */
    soon: () => pulse.soon(SOON_MS),
    /** Seals what is there and ends. */
    stop: async () => {
      await pulse.stop();
      await sealAll().catch(() => {});
    },
  };
}

/** Those with records that wait, and those whose chain has not begun: an empty chain has an end, too. */
async function organisations(db: Db): Promise<string[]> {
  const found = await db
    .selectFrom('audit_records')
    .select('organisation_id')
    .where('batch', 'is', null)
    .union(
      db
        .selectFrom('organisations')
        .select('id as organisation_id')
        .where('id', 'not in', db.selectFrom('audit_heads').select('organisation_id')),
    )
    .execute();
  return found.map(({ organisation_id }) => organisation_id);
}

/** `moved`: the end is not the one that this node has seen last, so it must first be followed there. */
type Outcome = 'busy' | 'moved' | { readonly sealed: number; readonly head: AuditHeadRow };

interface Sealed extends Pick<SealingDeps, 'store' | 'sealer' | 'now'> {
  readonly organisationId: string;
  readonly seen: AuditHeadRow | undefined;
}

async function sealBatch(db: Db, { store, sealer, now, organisationId, seen }: Sealed): Promise<Outcome> {
  const head = await lockHead(db, { store, sealer, now, organisationId, seen });
  if (head === 'busy' || head === 'moved') return head;
  const rows = await db
    .selectFrom('audit_records')
    .select(['id', 'mac', 'organisation_id', 'at', ...COUNTED])
    .where('organisation_id', '=', organisationId)
    .where('batch', 'is', null)
    .orderBy('id')
    .limit(MOST_IN_BATCH)
    .execute();
  if (rows.length === 0) return { sealed: 0, head };
  const ids = rows.map(({ id }) => id);
  const macs = rows.map(({ mac }) => mac);
  const number = Number(head.number) + 1;
  const seal = sealOf(sealer, { organisationId, number, previous: head.seal, ids, macs });
  const at = now();
  await db
    .insertInto('audit_batches')
    .values({ organisation_id: organisationId, number, ids: JSON.stringify(ids), seal, at })
    .execute();
  await db.updateTable('audit_records').set({ batch: number }).where('id', 'in', ids).execute();
  await addToDays(db, rows);
  const next = signedHead(sealer, {
    organisation_id: organisationId,
    number,
    records: Number(head.records) + ids.length,
    seal,
    at,
  });
  await db.updateTable('audit_heads').set(next).where('organisation_id', '=', organisationId).execute();
  return { sealed: ids.length, head: next };
}

/** The end of the chain, for this transaction alone. Only what this node has seen and found whole is built upon. */
async function lockHead(
  db: Db,
  { store, sealer, now, organisationId, seen }: Sealed,
): Promise<AuditHeadRow | 'busy' | 'moved'> {
  const query = db.selectFrom('audit_heads').selectAll().where('organisation_id', '=', organisationId);
  const head = await (store.engine === 'postgres' ? query.forUpdate().skipLocked() : query).executeTakeFirst();
  if (head) return head.signature === seen?.signature ? head : 'moved';
  if (seen) return (await query.executeTakeFirst()) ? 'busy' : 'moved';
  const first = signedHead(sealer, {
    organisation_id: organisationId,
    number: 0,
    records: 0,
    seal: FIRST_SEAL,
    at: now(),
  });
  await db
    .insertInto('audit_heads')
    .values(first)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const made = await query.executeTakeFirst();
  return made?.signature === first.signature ? first : 'busy';
}
