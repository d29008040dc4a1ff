import { NOBODY } from '../core/audit-event.ts';
import { newId } from '../core/ids.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { AuditBatchRow, AuditHeadRow, AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { type Position, sealOf, signedHead } from './chain.ts';
import { addToDays } from './days.ts';
import { maskedBody } from './mask.ts';
import { insertRecords, macOf, type NewRecord } from './record.ts';
import { idsOf } from './record-check.ts';

/** No call has such a path, so no caller can make a record that looks like one of these. */
export const RESTART_URI = 'cli:audit/restart';

/** An end that was seen and is in no chain any more. */
export interface GivenUp extends Position {
  readonly organisation_id: string;
  readonly records: number;
}

/** What an operator has decided: the chain goes on behind `found`, and `given_up` is lost. */
export interface Restart {
  readonly found: Position & { readonly records: number };
  readonly given_up: readonly GivenUp[];
}

/** What a record says about a restart; null when it is none, or was not written by this gateway. */
export function restartIn(sealer: Sealer, row: AuditRecordRow): Restart | null {
  if (row.uri !== RESTART_URI) return null;
  if (macOf(sealer, { ...row, at: Number(row.at), response_status_code: Number(row.response_status_code) }) !== row.mac)
    return null;
  const { found, given_up } = JSON.parse(row.request_body) as Restart;
  return { found, given_up };
}

/** Whether numbers may be left out between the position and this batch, because the batch begins with a restart there. */
export function mayFollow(restart: Restart | null, { number, seal }: Position): boolean {
  return restart !== null && restart.found.number === number && restart.found.seal === seal;
}

/** Whether an operator gave this end up: by itself, or as one of those before an end of the same chain. */
export const givesUp = ({ found, given_up }: Restart, kept: AuditHeadRow, restarted: string): boolean =>
  given_up.some(({ organisation_id, number, seal }) => {
    if (organisation_id !== kept.organisation_id) return false;
    if (number === Number(kept.number)) return seal === kept.seal;
    const isBehindFound = organisation_id !== restarted || Number(kept.number) > found.number;
    return isBehindFound && Number(kept.number) < number;
  });

export interface SealedRestart extends Restart {
  readonly organisationId: string;
  /** The batch that begins with it. */
  readonly batch: AuditBatchRow;
}

/** Every restart of a chain, the latest first. What is not sealed or not genuine is none. */
export async function restartsOf(db: Db, sealer: Sealer, organisationId: string): Promise<SealedRestart[]> {
  const rows = await db
    .selectFrom('audit_records')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('uri', '=', RESTART_URI)
    .where((where) => where(where.fn('substr', ['uri', where.lit(1), where.lit(200)]), '=', RESTART_URI))
    .orderBy('at', 'desc')
    .execute();
  const restarts: SealedRestart[] = [];
  for (const row of rows) {
    const restart = restartIn(sealer, row);
    if (!restart || row.batch === null) continue;
    const batch = await db
      .selectFrom('audit_batches')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('number', '=', row.batch)
      .executeTakeFirst();
    if (batch && idsOf(batch)[0] === row.id) restarts.push({ ...restart, organisationId, batch });
  }
  return restarts;
}

export interface RestartOptions extends Restart {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly organisationId: string;
  readonly reason: string;
  readonly now: number;
}

/**
 * Goes on with a chain of which something is lost. Its next batch holds one record, which names what was lost, and has a
 * number that no lost batch had. To be called in a transaction that has locked the chain's end.
 */
export async function writeRestart(options: RestartOptions): Promise<AuditHeadRow> {
  const { db, sealer, organisationId, found, given_up, now } = options;
  const record = restartRecord(options);
  await insertRecords(db, sealer, [record]);
  const number = Math.max(found.number, ...given_up.map((each) => each.number)) + 1;
  const ids = [record.id];
  const macs = [macOf(sealer, record)];
  const seal = sealOf(sealer, { organisationId, number, previous: found.seal, ids, macs });
  await db
    .insertInto('audit_batches')
    .values({ organisation_id: organisationId, number, ids: JSON.stringify(ids), seal, at: now })
    .execute();
  await db.updateTable('audit_records').set({ batch: number }).where('id', '=', record.id).execute();
  await addToDays(db, [record]);
  const head = signedHead(sealer, {
    organisation_id: organisationId,
    number,
    records: found.records + 1,
    seal,
    at: now,
  });
  await db
    .insertInto('audit_heads')
    .values(head)
    .onConflict((conflict) => conflict.column('organisation_id').doUpdateSet(head))
    .execute();
  return head;
}

const restartRecord = ({ organisationId, found, given_up, reason, now }: RestartOptions): NewRecord => ({
  id: newId<string>(),
  at: now,
  method: 'POST',
  uri: RESTART_URI,
  organisation_id: organisationId,
  workspace_id: '',
  user_type: 'api_key',
  user_id: NOBODY,
  response_status_code: 200,
  resource_type: 'audit_log',
  action: 'restart',
  client_ip: '',
  country: '',
  query_params: '{}',
  request_headers: '{}',
  // Only the operator's own words may hold a secret; a mask would make seals unreadable.
  request_body: JSON.stringify({ ...JSON.parse(maskedBody({ actor: 'command line', reason })), found, given_up }),
});
