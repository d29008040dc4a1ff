import { sql } from 'kysely';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { Broken, checkRecord, idsOf, type VerifyOptions } from './record-check.ts';

/** What there is of a chain, all of it seen in the same moment. */
export interface End {
  readonly head: AuditHeadRow | null;
  readonly lastBatch: number;
  /** Stored, whether in the chain or not. */
  readonly records: number;
  readonly unsealed: number;
}

interface Facts extends Partial<Omit<AuditHeadRow, 'records'>> {
  readonly head_records: number | null;
  readonly last_batch: number | null;
  readonly stored: number;
  readonly unsealed: number;
}

/** One statement, so that a chain which grows meanwhile is never seen half. */
export async function endOf(db: Db, organisationId: string): Promise<End> {
  const { rows } = await sql<Facts>`select
      (select max(number) from audit_batches where organisation_id = ${organisationId}) as last_batch,
      (select count(*) from audit_records where organisation_id = ${organisationId}) as stored,
      (select count(*) from audit_records where organisation_id = ${organisationId} and batch is null) as unsealed,
      h.organisation_id, h.number, h.records as head_records, h.seal, h.at, h.signature
    from (select 1 as one) o left join audit_heads h on h.organisation_id = ${organisationId}`.execute(db);
  const { last_batch, stored, unsealed, head_records, ...head } = rows[0]!;
  return {
    head: head.signature ? ({ ...head, records: Number(head_records) } as AuditHeadRow) : null,
    lastBatch: Number(last_batch ?? 0),
    records: Number(stored),
    unsealed: Number(unsealed),
  };
}

const AT_ONCE = 1_000;

/** There is more stored than the chain knows: names what does not belong. */
export async function findStranger({ db, sealer, organisationId }: VerifyOptions, lastBatch: number): Promise<Broken> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const rows = await db
      .selectFrom('audit_records')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('batch', 'is not', null)
      .where('id', '>', last as string)
      .orderBy('id')
      .limit(AT_ONCE)
      .execute();
    const numbers = [...new Set(rows.map(({ batch }) => Number(batch)))];
    const batches =
      numbers.length === 0
        ? []
        : await db
            .selectFrom('audit_batches')
            .selectAll()
            .where('organisation_id', '=', organisationId)
            .where('number', 'in', numbers)
            .execute();
    const listed = new Set(batches.filter(({ number }) => Number(number) <= lastBatch).flatMap(idsOf));
    for (const row of rows) {
      checkRecord(sealer, row);
      if (!listed.has(row.id)) return new Broken(row.id, 'it claims to be in the chain, which does not know it');
    }
    last = rows.length < AT_ONCE ? undefined : rows.at(-1)!.id;
  }
  return new Broken(null, 'there are batches behind the signed end of the chain');
}
