import type { Sealer } from '../crypto/seal.ts';
import type { AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';

/** A record as it is shown (spec 2.5). */
export interface AuditRecord {
  readonly timestamp: string;
  readonly method: AuditRecordRow['method'];
  readonly uri: string;
  readonly request_id: string;
  readonly request_body: string;
  readonly query_params: string;
  readonly request_headers: string;
  readonly user_id: string;
  readonly user_type: AuditRecordRow['user_type'];
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly response_status_code: number;
  readonly resource_type: string;
  readonly action: string;
  readonly client_ip: string;
  readonly country: string;
}

/** A record before it has a code of its own. */
export type NewRecord = Omit<AuditRecordRow, 'mac' | 'batch'>;

/** PATCH changes what is there, as PUT does, and the records know three methods. */
export function recordedMethod(method: string): AuditRecordRow['method'] | null {
  if (method === 'PATCH') return 'PUT';
  return method === 'POST' || method === 'PUT' || method === 'DELETE' ? method : null;
}

export const usualAction = (method: AuditRecordRow['method']): string =>
  ({ POST: 'create', PUT: 'update', DELETE: 'delete' })[method];

/** What no edit of a record leaves as it was. The order is part of the format. */
export function macOf(sealer: Sealer, row: NewRecord): string {
  return sealer.sign(
    'audit',
    JSON.stringify([
      'record',
      row.id,
      row.organisation_id,
      row.at,
      row.method,
      row.user_type,
      row.user_id,
      row.workspace_id,
      row.response_status_code,
      row.resource_type,
      row.action,
      row.client_ip,
      row.country,
      row.uri,
      row.query_params,
      row.request_headers,
      row.request_body,
    ]),
  );
}

/** A call has one record however often it is written: the second write changes nothing. */
export async function insertRecords(db: Db, sealer: Sealer, records: readonly NewRecord[]): Promise<void> {
  const rows = records.map((record) => ({ ...record, batch: null, mac: macOf(sealer, record) }));
  await db
    .insertInto('audit_records')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

export const shownRecord = (row: AuditRecordRow): AuditRecord => ({
  timestamp: new Date(Number(row.at)).toISOString(),
  method: row.method,
  uri: row.uri,
  request_id: row.id,
  request_body: row.request_body,
  query_params: row.query_params,
  request_headers: row.request_headers,
  user_id: row.user_id,
  user_type: row.user_type,
  organisation_id: row.organisation_id,
  workspace_id: row.workspace_id,
  response_status_code: row.response_status_code,
  resource_type: row.resource_type,
  action: row.action,
  client_ip: row.client_ip,
  country: row.country,
});
