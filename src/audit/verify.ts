import type { AuditBatchRow, AuditHeadRow, AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { FIRST_SEAL, isGenuine, type Position, sealOf } from './chain.ts';
import { endOf, findStranger } from './chain-end.ts';
import { type Break, Broken, checkRecord, idsOf, type VerifyOptions } from './record-check.ts';
import { givesUp, mayFollow, type Restart, restartIn } from './restart.ts';

export interface Verdict {
  readonly organisationId: string;
  /** In the chain, as far as it holds. */
  readonly records: number;
  /** Stored and not in the chain yet. */
  readonly unsealed: number;
  readonly head: AuditHeadRow | null;
  readonly broken: Break | null;
  /** How far the chain holds. */
  readonly end: Position & { readonly records: number };
  /** Where an operator went on without records that were lost, on purpose. */
  readonly restarts: readonly (Restart & { readonly record: string })[];
}

const BATCHES_AT_ONCE = 100;
const RECORDS_AT_ONCE = 1_000;

/** How far a chain has been gone through. */
interface Progress {
  number: number;
  seal: string;
  records: number;
  lastId: string | null;
  readonly restarts: (Restart & { readonly record: string })[];
  /** Kept ends that differ from the chain, each with the record where it shows; a restart may explain them. */
  readonly differing: { readonly kept: AuditHeadRow; readonly record: string | null }[];
}

/**
 * Goes through a chain from its first record to its end, and stops where it does not hold. The chain may grow meanwhile:
 * it is followed until it has been seen to its end in one look.
 */
export async function verifyChain(options: VerifyOptions): Promise<Verdict> {
  const { db, organisationId } = options;
  const position: Progress = {
    ...{ number: 0, seal: FIRST_SEAL, records: 0, lastId: null },
    ...{ restarts: [], differing: [] },
  };
  let broken: Break | null = null;
  let end = await endOf(db, organisationId);
  try {
    await checkUnsealed(options);
    for (let isDone = false; !isDone; ) {
      await walk(options, position, end.head ? Number(end.head.number) : end.lastBatch);
      checkEnd(options, end.head, position);
      end = await endOf(db, organisationId);
      isDone = Number(end.head?.number) === position.number;
    }
    checkKept(options, position);
    const isAlone = end.lastBatch === position.number && end.records === position.records + end.unsealed;
    if (!isAlone) throw await findStranger(options, position.number);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    broken = error.place;
  }
  const { number, seal, records, restarts } = position;
  const { unsealed, head } = end;
  return { organisationId, records, unsealed, head, broken, end: { number, seal, records }, restarts };
}

/** The batches after the position, up to and with that number. */
async function walk(options: VerifyOptions, position: Progress, last: number) {
  const { db, organisationId, knownHeads = [], batchesAtOnce = BATCHES_AT_ONCE, onProgress } = options;
  const known = Map.groupBy(knownHeads, ({ number }) => Number(number));
  while (position.number < last) {
    const batches = await db
      .selectFrom('audit_batches')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('number', '>', position.number)
      .where('number', '<=', last)
      .orderBy('number')
      .limit(batchesAtOnce)
      .execute();
    const records = await recordsOf(db, batches);
    for (const batch of batches) {
      const first = records.get(idsOf(batch)[0] ?? '');
      const restart = first ? restartIn(options.sealer, first) : null;
      if (Number(batch.number) !== position.number + 1 && !mayFollow(restart, position))
        throw await missingBatch(options, position);
      checkBatch(options, batch, position, records);
      if (restart) position.restarts.push({ ...restart, record: first!.id });
      const kept = known.get(position.number) ?? [];
      for (const each of kept)
        if (each.seal !== batch.seal) position.differing.push({ kept: each, record: first?.id ?? null });
    }
    if (batches.length === 0) throw await missingBatch(options, position);
    await onProgress?.(position.records);
  }
}

async function recordsOf(db: Db, batches: readonly AuditBatchRow[]): Promise<Map<string, AuditRecordRow>> {
  const ids = batches.flatMap(idsOf);
  const found = new Map<string, AuditRecordRow>();
  for (let from = 0; from < ids.length; from += RECORDS_AT_ONCE) {
    const some = ids.slice(from, from + RECORDS_AT_ONCE);
    const rows = await db.selectFrom('audit_records').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

function checkBatch(
  { sealer, organisationId }: VerifyOptions,
  batch: AuditBatchRow,
  position: Progress,
  records: ReadonlyMap<string, AuditRecordRow>,
) {
  const number = Number(batch.number);
  const ids = idsOf(batch);
  const macs = ids.map((id) => {
    const row = records.get(id);
    if (!row) throw new Broken(id, 'it was deleted');
    checkRecord(sealer, row);
    if (Number(row.batch) !== number)
      throw new Broken(id, `it belongs to batch ${number} of the chain and was moved to ${row.batch ?? 'none'}`);
    return row.mac;
  });
  if (batch.seal !== sealOf(sealer, { organisationId, number, previous: position.seal, ids, macs }))
    throw new Broken(ids[0] ?? null, `batch ${number} of the chain, which begins with it, was altered`);
  position.number = number;
  position.seal = batch.seal;
  position.records += ids.length;
  position.lastId = ids.at(-1) ?? position.lastId;
}

/** Records of the missing batch that are still there say which one it was. */
async function missingBatch({ db, organisationId }: VerifyOptions, { number, lastId }: Progress): Promise<Broken> {
  const record = await db
    .selectFrom('audit_records')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('batch', '=', number + 1)
    .orderBy('id')
    .executeTakeFirst();
  return new Broken(record?.id ?? null, `batch ${number + 1} of the chain is missing, ${after(lastId)}`);
}

const after = (lastId: string | null) => (lastId === null ? 'the first one' : `the one after record ${lastId}`);

function checkEnd({ sealer }: VerifyOptions, head: AuditHeadRow | null, position: Progress) {
  if (!head) throw new Broken(null, 'the signed end of the chain is missing');
  if (!isGenuine(sealer, head)) throw new Broken(null, 'the end of the chain is not one that this gateway signed');
  if (head.seal !== position.seal || Number(head.records) !== position.records)
    throw new Broken(
      null,
      `the chain holds ${position.records} records, but its signed end tells of ${head.records}; ${after(position.lastId)} is missing`,
    );
}

function checkKept({ sealer, organisationId, knownHeads = [] }: VerifyOptions, progress: Progress) {
  const { number, records, lastId, restarts, differing } = progress;
  const isExcused = (kept: AuditHeadRow) => restarts.some((restart) => givesUp(restart, kept, organisationId));
  const unexplained = differing.find(({ kept }) => !isExcused(kept));
  if (unexplained)
    throw new Broken(unexplained.record, 'the chain was made anew up to here: an end of it that was kept differs');
  for (const kept of knownHeads) {
    if (!isGenuine(sealer, kept)) throw new Broken(null, 'a kept end of the chain is not one that this gateway signed');
    if (Number(kept.number) > number && !isExcused(kept))
      throw new Broken(
        null,
        `the chain holds ${records} records, but it had ${kept.records} when its end was kept; ${after(lastId)} is missing`,
      );
  }
}

/** What waits to be sealed is as the gateway wrote it. */
async function checkUnsealed({ db, sealer, organisationId }: VerifyOptions) {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const rows: AuditRecordRow[] = await db
      .selectFrom('audit_records')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('batch', 'is', null)
      .where('id', '>', last)
      .orderBy('id')
      .limit(RECORDS_AT_ONCE)
      .execute();
    for (const row of rows) checkRecord(sealer, row);
    last = rows.length < RECORDS_AT_ONCE ? undefined : rows.at(-1)!.id;
  }
}
