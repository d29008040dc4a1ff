import { sql } from 'kysely';
import type { Clock } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { FIRST_SEAL, isGenuine, sealOf, signedHead } from './chain.ts';
import { addToDays, COUNTED } from './days.ts';

const EVERY_MS = 500;
const MOST_IN_BATCH = 200;
const BROKEN =
  'The end of the audit log was altered by somebody else: new records are kept and not sealed. Run gateway audit verify.';

export interface SealingDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Health;
  readonly now: Clock;
  /** Gets the end of a chain after it has grown, to be kept where the database's owner does not reach. */
  readonly publish?: (head: AuditHeadRow) => void;
  readonly everyMs?: number;
}

/** Adds records to the chain soon after they are stored. Any number of nodes may: the end of a chain is locked. */
export function startSealing({ store, sealer, health, now, publish, everyMs = EVERY_MS }: SealingDeps) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  const sealAll = async () => {
    let isAltered = false;
    for (const organisationId of await organisations(store.db)) {
      for (;;) {
        const outcome = await store.transaction((db) => sealBatch(db, { store, sealer, now, organisationId }));
        isAltered ||= outcome === 'altered';
        if (outcome === 'altered' || outcome === 'busy') break;
        publish?.(outcome.head);
        if (outcome.sealed < MOST_IN_BATCH) break;
      }
    }
    if (isAltered) health.degraded('audit-seal', BROKEN);
    else health.well('audit-seal');
  };
  const run = async () => {
    try {
      await sealAll();
    } catch {
      // The store says by itself when it is away; what is not sealed now is sealed later.
    }
    if (isStopped) return;
    timer = setTimeout(() => {
      running = run();
    }, everyMs);
    timer.unref?.();
  };
  let running = run();

  return {
    /** Seals what is there and ends. */
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
      await sealAll().catch(() => {});
    },
  };
}

/** Those with records that wait, and those whose chain has not begun: an empty chain has an end, too. */
async function organisations(db: Db): Promise<string[]> {
  const waiting = await db
    .selectFrom('audit_records')
    .select('organisation_id')
    .distinct()
    .where('batch', 'is', null)
    .execute();
  const unbegun = await db
    .selectFrom('organisations')
    .select('id as organisation_id')
    .where('id', 'not in', db.selectFrom('audit_heads').select('organisation_id'))
    .execute();
  return [...new Set([...waiting, ...unbegun].map(({ organisation_id }) => organisation_id))];
}

type Outcome = 'busy' | 'altered' | { readonly sealed: number; readonly head: AuditHeadRow };

async function sealBatch(
  db: Db,
  { store, sealer, now, organisationId }: Pick<SealingDeps, 'store' | 'sealer' | 'now'> & { organisationId: string },
): Promise<Outcome> {
  const head = await lockHead(db, { store, sealer, now, organisationId });
  if (head === 'busy' || head === 'altered') return head;
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

/** The end of the chain, for this transaction alone. What somebody altered is not built upon: that would hide it. */
async function lockHead(
  db: Db,
  { store, sealer, now, organisationId }: Pick<SealingDeps, 'store' | 'sealer' | 'now'> & { organisationId: string },
): Promise<AuditHeadRow | 'busy' | 'altered'> {
  const query = db.selectFrom('audit_heads').selectAll().where('organisation_id', '=', organisationId);
  const head = await (store.engine === 'postgres' ? query.forUpdate().skipLocked() : query).executeTakeFirst();
  if (head) return isGenuine(sealer, head) ? head : 'altered';
  const known = await query.executeTakeFirst();
  if (known) return 'busy';
  const { begun } = (
    await sql<{ begun: number }>`select count(*) as begun from (
      select 1 from audit_batches where organisation_id = ${organisationId} limit 1) b`.execute(db)
  ).rows[0]!;
  if (Number(begun) > 0) return 'altered';
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
