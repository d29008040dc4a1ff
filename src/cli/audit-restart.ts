import { sql } from 'kysely';
import { isGenuine } from '../audit/chain.ts';
import { doubtAbout, headsIn, positionOf } from '../audit/chain-doubt.ts';
import { type GivenUp, type Restart, writeRestart } from '../audit/restart.ts';
import { verifyChain } from '../audit/verify.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';

interface RestartOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  /** The oldest first. */
  readonly organisations: readonly string[];
  /** Every end that is known outside of the database. */
  readonly kept: readonly AuditHeadRow[];
  readonly reason: string;
}

/**
 * Gives up what is lost, on purpose. It is a command and no call, because a person who can write to the database can make
 * an API key there, but does not have the master secret that this needs.
 */
export async function restartAudit({ store, sealer, organisations, kept, reason }: RestartOptions): Promise<void> {
  const [first] = organisations;
  if (first === undefined)
    throw new Error('The database is empty: start the gateway once, then restart the audit log.');
  const forged = kept.find((head) => !isGenuine(sealer, head));
  if (forged)
    throw new Error(
      `An end of the log that was kept (number ${forged.number} of organisation ${forged.organisation_id}) was not signed by this gateway. Take it out of audit-heads.json or of the file of --head.`,
    );
  const written = await store.transaction(async (db) => {
    // No node adds a batch meanwhile, and none has begun one: it would hold a row that is written here, and wait for this lock.
    if (store.engine === 'postgres') await sql`lock table audit_heads in exclusive mode`.execute(db);
    const heads = await headsIn(db);
    const lost = new Map<string, GivenUp[]>();
    for (const head of kept) {
      if ((await doubtAbout(head, { db, sealer, heads })) === null) continue;
      // Where its organisation is gone, too, the oldest one that there is takes over the record.
      const owner = organisations.includes(head.organisation_id) ? head.organisation_id : first;
      lost.set(owner, [...(lost.get(owner) ?? []), givenUp(head)]);
    }
    for (const id of organisations) if (!lost.has(id) && (await isDamaged(db, sealer, id, heads))) lost.set(id, []);
    const ends: AuditHeadRow[] = [];
    for (const [organisationId, given_up] of lost) {
      const found = await endIn(db, sealer, organisationId, heads);
      ends.push(await writeRestart({ db, sealer, organisationId, found, given_up, reason, now: Date.now() }));
    }
    return { ends, lost };
  });
  if (written.ends.length === 0)
    return void console.log('The audit log holds every end that is known: there is nothing to give up.');
  for (const end of written.ends) {
    for (const { organisation_id, number, records } of written.lost.get(end.organisation_id) ?? [])
      console.log(`Given up: the log of organisation ${organisation_id} that had ${records} records (end ${number}).`);
    console.log(`The log of organisation ${end.organisation_id} goes on. Its end: ${JSON.stringify(end)}`);
  }
}

const givenUp = ({ organisation_id, number, seal, records }: AuditHeadRow): GivenUp => ({
  organisation_id,
  number: Number(number),
  seal,
  records: Number(records),
});

const headOf = (heads: readonly AuditHeadRow[], id: string) =>
  heads.find(({ organisation_id }) => organisation_id === id);

/** Whether the end is altered, or gone while there are batches before it. */
async function isDamaged(db: Db, sealer: Sealer, id: string, heads: readonly AuditHeadRow[]): Promise<boolean> {
  const head = headOf(heads, id);
  if (head) return !isGenuine(sealer, head);
  const batch = await db
    .selectFrom('audit_batches')
    .select('number')
    .where('organisation_id', '=', id)
    .limit(1)
    .execute();
  return batch.length > 0;
}

/** Behind what the log goes on: its signed end, or where that is no use, the last batch up to which it holds. */
async function endIn(
  db: Db,
  sealer: Sealer,
  organisationId: string,
  heads: readonly AuditHeadRow[],
): Promise<Restart['found']> {
  const head = headOf(heads, organisationId);
  if (head && isGenuine(sealer, head)) {
    const batch = await db
      .selectFrom('audit_batches')
      .select('seal')
      .where('organisation_id', '=', organisationId)
      .where('number', '=', head.number)
      .executeTakeFirst();
    if (Number(head.number) === 0 || batch?.seal === head.seal)
      return { ...positionOf(head), records: Number(head.records) };
  }
  const { end } = await verifyChain({ db, sealer, organisationId });
  return { number: end.number, seal: end.seal, records: end.records };
}
