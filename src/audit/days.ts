import type { AuditDayRow, AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';

const DAY_MS = 86_400_000;

/** The fields that have few values each, so that a day has few combinations of them. */
export const COUNTED = [
  'method',
  'user_type',
  'workspace_id',
  'response_status_code',
  'resource_type',
  'action',
  'country',
] as const;

type Counted = Pick<AuditRecordRow, 'organisation_id' | 'at' | (typeof COUNTED)[number]>;

export const dayOf = (at: number): number => Math.floor(at / DAY_MS);
export const startOf = (day: number): number => day * DAY_MS;

/** To be called in the transaction that seals these records: sealed and counted are the same. */
export async function addToDays(db: Db, rows: readonly Counted[]): Promise<void> {
  const sums = new Map<string, AuditDayRow>();
  for (const row of rows) {
    const { organisation_id, method, user_type, workspace_id, response_status_code, resource_type, action, country } =
      row;
    const day = dayOf(Number(row.at));
    const kind = {
      organisation_id,
      day,
      method,
      user_type,
      workspace_id,
      response_status_code,
      resource_type,
      action,
      country,
    };
    const key = JSON.stringify(kind);
    sums.set(key, { ...kind, records: (sums.get(key)?.records ?? 0) + 1 });
  }
  await db
    .insertInto('audit_days')
    .values([...sums.values()])
    .onConflict((conflict) =>
      conflict
        .columns(['organisation_id', 'day', ...COUNTED])
        .doUpdateSet((set) => ({ records: set('audit_days.records', '+', set.ref('excluded.records')) })),
    )
    .execute();
}
