import type { Sealer } from '../crypto/seal.ts';
import type { AuditBatchRow, AuditHeadRow, AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { FIRST_SEAL, isGenuine, sealOf } from './chain.ts';
import { macOf } from './record.ts';

/** The first place where a chain does not hold. */
export interface Break {
  /** Null: it is not a record that is wrong but the end of the chain. */
  readonly record: string | null;
  readonly why: string;
}

export interface Verdict {
  readonly organisationId: string;
  /** In the chain, as far as it holds. */
  readonly records: number;
  /** Stored and not in the chain yet. */
  readonly unsealed: number;
  readonly head: AuditHeadRow | null;
  readonly broken: Break | null;
}

export interface VerifyOptions {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly organisationId: string;
  /** Ends of this chain that were kept elsewhere. */
  readonly knownHeads?: readonly AuditHeadRow[];
  readonly onProgress?: (records: number) => void;
}

const BATCHES_AT_ONCE = 50;
const RECORDS_AT_ONCE = 1_000;

class Broken extends Error {
  readonly place: Break;

  constructor(record: string | null, why: string) {
    super(why);
    this.place = { record, why };
  }
}

/** Goes through a chain from its first record to its end, and stops where it does not hold. */
export async function verifyChain(options: VerifyOptions): Promise<Verdict> {
  const { db, organisationId } = options;
  const head = (await headOf(db, organisationId)) ?? null;
  const progress = { records: 0 };
  let broken: Break | null = null;
  let unsealed = 0;
  try {
    await walk(options, head, progress);
    unsealed = await checkUnsealed(options);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    broken = error.place;
  }
  return { organisationId, records: progress.records, unsealed, head, broken };
}

const headOf = (db: Db, organisationId: string): Promise<AuditHeadRow | undefined> =>
  db.selectFrom('audit_heads').selectAll().where('organisation_id', '=', organisationId).executeTakeFirst();

async function walk(options: VerifyOptions, head: AuditHeadRow | null, progress: { records: number }) {
  const { db, sealer, organisationId, knownHeads = [], onProgress } = options;
  const known = new Map(knownHeads.map((each) => [Number(each.number), each]));
  let previous = FIRST_SEAL;
  let number = 0;
  for (;;) {
    const batches = await db
      .selectFrom('audit_batches')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('number', '>', number)
      .orderBy('number')
      .limit(BATCHES_AT_ONCE)
      .execute();
    if (batches.length === 0) break;
    for (const batch of batches) {
      number++;
      if (Number(batch.number) !== number) throw await missingBatch(options, number);
      progress.records += await checkBatch(options, batch, previous);
      previous = batch.seal;
      const kept = known.get(number);
      if (kept && kept.seal !== batch.seal)
        throw new Broken(idsOf(batch)[0] ?? null, 'the chain was made anew from here on: a kept end of it differs');
      onProgress?.(progress.records);
    }
  }
  await checkEnd(options, head, { number, previous, records: progress.records });
  const longest = Math.max(0, ...known.keys());
  if (longest > number) throw new Broken(null, `the chain ends at batch ${number}, but it had ${longest} when its end was kept`);
  for (const each of knownHeads) {
    if (!isGenuine(sealer, each)) throw new Broken(null, 'a kept end of the chain is not one that this gateway signed');
  }
}

async function checkEnd(
  { sealer }: VerifyOptions,
  head: AuditHeadRow | null,
  found: { number: number; previous: string; records: number },
) {
  if (!head) throw new Broken(null, 'the signed end of the chain is missing');
  if (!isGenuine(sealer, head)) throw new Broken(null, 'the end of the chain is not one that this gateway signed');
  if (Number(head.number) !== found.number || head.seal !== found.previous || Number(head.records) !== found.records)
    throw new Broken(
      null,
      `the chain ends after ${found.records} records in ${found.number} batches, but its signed end tells of ${head.records} in ${head.number}`,
    );
}

/** Records of the missing batch that are still there say which one it was. */
async function missingBatch({ db, organisationId }: VerifyOptions, number: number): Promise<Broken> {
  const record = await db
    .selectFrom('audit_records')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('batch', '=', number)
    .orderBy('id')
    .executeTakeFirst();
  return new Broken(record?.id ?? null, `batch ${number} of the chain is missing`);
}

const idsOf = ({ ids }: AuditBatchRow): string[] => {
  try {
    return JSON.parse(ids);
  } catch {
    return [];
  }
};

/** Answers how many records it holds. */
async function checkBatch(options: VerifyOptions, batch: AuditBatchRow, previous: string): Promise<number> {
  const { db, sealer, organisationId } = options;
  const ids = idsOf(batch);
  const number = Number(batch.number);
  const rows = ids.length === 0 ? [] : await db.selectFrom('audit_records').selectAll().where('id', 'in', ids).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  const macs: string[] = [];
  for (const id of ids) {
    const row = byId.get(id);
    if (!row) throw new Broken(id, 'it was deleted');
    checkRecord(sealer, row);
    if (Number(row.batch) !== number)
      throw new Broken(id, `it belongs to batch ${number} of the chain and was moved to ${row.batch ?? 'none'}`);
    macs.push(row.mac);
  }
  if (batch.seal !== sealOf(sealer, { organisationId, number, previous, ids, macs }))
    throw new Broken(ids[0] ?? null, `batch ${number} of the chain, which begins with it, was altered`);
  return ids.length;
}

function checkRecord(sealer: Sealer, row: AuditRecordRow) {
  const mac = macOf(sealer, { ...row, at: Number(row.at), response_status_code: Number(row.response_status_code) });
  if (mac !== row.mac) throw new Broken(row.id, 'it was altered, or it was not written by this gateway');
}

/** Whatever is stored and in no batch of the chain: what waits to be sealed is genuine, everything else was put there. */
async function checkUnsealed({ db, sealer, organisationId }: VerifyOptions): Promise<number> {
  let waiting = 0;
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('audit_records')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('batch', 'is', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(RECORDS_AT_ONCE)
      .execute();
    for (const row of rows) checkRecord(sealer, row);
    waiting += rows.length;
    if (rows.length < RECORDS_AT_ONCE) break;
    after = rows.at(-1)!.id;
  }
  await checkStrangers({ db, sealer, organisationId });
  return waiting;
}

/** Records that claim a batch which does not list them. */
async function checkStrangers({ db, organisationId }: VerifyOptions) {
  const batches = db.selectFrom('audit_batches').select('number').where('organisation_id', '=', organisationId);
  const stranger = await db
    .selectFrom('audit_records')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('batch', 'is not', null)
    .where('batch', 'not in', batches)
    .orderBy('id')
    .executeTakeFirst();
  if (stranger) throw new Broken(stranger.id, 'it claims to be in the chain, which does not know it');
}
