import type { Sealer } from '../crypto/seal.ts';
import type { AuditBatchRow, AuditHeadRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { FIRST_SEAL, isGenuine, type Position, sealOf } from './chain.ts';
import { idsOf } from './record-check.ts';
import { givesUp, mayFollow, restartIn, restartsOf } from './restart.ts';

const BATCHES_AT_ONCE = 100;
const RECORDS_AT_ONCE = 1_000;

/** What a chain says of an end that was seen before: null when it goes on from there, else why it does not. */
export type Doubt = string | null;

interface Chains {
  readonly db: Db;
  readonly sealer: Sealer;
  /** The signed end of every chain that the store has now. */
  readonly heads: readonly AuditHeadRow[];
}

export const positionOf = ({ number, seal }: { number: number; seal: string }): Position => ({
  number: Number(number),
  seal,
});

export const headsIn = async (db: Db): Promise<AuditHeadRow[]> =>
  (await db.selectFrom('audit_heads').selectAll().execute()).map((row) => ({
    ...row,
    number: Number(row.number),
    records: Number(row.records),
    at: Number(row.at),
  }));

/** A chain whose end is gone while its batches are still there. */
export async function isHeadless(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('organisations')
    .innerJoin('audit_batches', 'audit_batches.organisation_id', 'organisations.id')
    .select('organisations.id')
    .where('organisations.id', 'not in', db.selectFrom('audit_heads').select('organisation_id'))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether the chains in the store hold an end that was seen before. Only a chain that can be followed from that end to
 * its own does, seal by seal; or one that an operator restarted on purpose without it.
 */
export async function doubtAbout(kept: AuditHeadRow, chains: Chains): Promise<Doubt> {
  const { db, sealer, heads } = chains;
  const head = heads.find(({ organisation_id }) => organisation_id === kept.organisation_id);
  if (head?.signature === kept.signature) return null;
  if (!isGenuine(sealer, kept)) return 'an end that was kept is not one that this gateway signed';
  if (head && isGenuine(sealer, head) && (await holds(db, sealer, kept, head))) return null;
  if (await isGivenUp(kept, chains)) return null;
  const had = `it had ${kept.records} records when its end was last seen`;
  if (!head) return `the audit log of organisation ${kept.organisation_id} is gone; ${had}`;
  if (!isGenuine(sealer, head)) return 'the end of the audit log is not one that this gateway signed';
  return Number(head.number) < Number(kept.number)
    ? `the audit log has ${head.records} records; ${had}`
    : `the audit log is another one than the one whose end was seen; ${had}`;
}

async function holds(db: Db, sealer: Sealer, kept: AuditHeadRow, head: AuditHeadRow): Promise<boolean> {
  const [from, to] = [positionOf(kept), positionOf(head)];
  if (from.number > to.number) return false;
  if (from.number === to.number) return from.seal === to.seal;
  if (from.number > 0) {
    const batch = await batchAt(db, kept.organisation_id, from.number);
    if (batch?.seal !== from.seal) return false;
  } else if (from.seal !== FIRST_SEAL) return false;
  return follows({ db, sealer, organisationId: kept.organisation_id }, from, to);
}

const batchAt = (db: Db, organisationId: string, number: number): Promise<AuditBatchRow | undefined> =>
  db
    .selectFrom('audit_batches')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('number', '=', number)
    .executeTakeFirst();

/** The restart must itself be part of the chain that is there now: a copy of an old one proves nothing. */
async function isGivenUp(kept: AuditHeadRow, { db, sealer, heads }: Chains): Promise<boolean> {
  for (const head of heads) {
    if (!isGenuine(sealer, head)) continue;
    const organisationId = head.organisation_id;
    for (const restart of await restartsOf(db, sealer, organisationId)) {
      if (!givesUp(restart, kept, organisationId)) continue;
      if (await follows({ db, sealer, organisationId }, restart.found, positionOf(head))) return true;
    }
  }
  return false;
}

interface Chain {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly organisationId: string;
}

/** Whether each batch after a position vouches for the one before it, up to and with the other position. */
async function follows({ db, sealer, organisationId }: Chain, from: Position, to: Position): Promise<boolean> {
  let position = from;
  while (position.number < to.number) {
    const batches = await db
      .selectFrom('audit_batches')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('number', '>', position.number)
      .where('number', '<=', to.number)
      .orderBy('number')
      .limit(BATCHES_AT_ONCE)
      .execute();
    if (batches.length === 0) return false;
    const macs = await macsOf(db, batches);
    for (const batch of batches) {
      const number = Number(batch.number);
      const ids = idsOf(batch);
      if (number !== position.number + 1 && !(await isRestartBehind(db, sealer, ids[0], position))) return false;
      const codes = ids.map((id) => macs.get(id) ?? '');
      const seal = sealOf(sealer, { organisationId, number, previous: position.seal, ids, macs: codes });
      if (seal !== batch.seal) return false;
      position = { number, seal };
    }
  }
  return position.seal === to.seal;
}

async function macsOf(db: Db, batches: readonly AuditBatchRow[]): Promise<Map<string, string>> {
  const ids = batches.flatMap(idsOf);
  const macs = new Map<string, string>();
  for (let from = 0; from < ids.length; from += RECORDS_AT_ONCE) {
    const some = ids.slice(from, from + RECORDS_AT_ONCE);
    for (const { id, mac } of await db
      .selectFrom('audit_records')
      .select(['id', 'mac'])
      .where('id', 'in', some)
      .execute())
      macs.set(id, mac);
  }
  return macs;
}

async function isRestartBehind(db: Db, sealer: Sealer, id: string | undefined, position: Position): Promise<boolean> {
  const row = await db
    .selectFrom('audit_records')
    .selectAll()
    .where('id', '=', id ?? '')
    .executeTakeFirst();
  return row !== undefined && mayFollow(restartIn(sealer, row), position);
}
