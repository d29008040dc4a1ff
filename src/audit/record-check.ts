import type { Sealer } from '../crypto/seal.ts';
import type { AuditBatchRow, AuditHeadRow, AuditRecordRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { macOf } from './record.ts';

/** The first place where a chain does not hold. */
export interface Break {
  /** Null: it is not a record that is wrong but the end of the chain. */
  readonly record: string | null;
  readonly why: string;
}

export class Broken extends Error {
  readonly place: Break;

  constructor(record: string | null, why: string) {
    super(why);
    this.place = { record, why };
  }
}

export interface VerifyOptions {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly organisationId: string;
  /** Ends of this chain that were kept elsewhere. */
  readonly knownHeads?: readonly AuditHeadRow[];
  /** Fewer hold a running gateway up less. */
  readonly batchesAtOnce?: number;
  /** Waited for before it goes on. */
  readonly onProgress?: (records: number) => void | Promise<void>;
}

export const idsOf = ({ ids }: AuditBatchRow): string[] => {
  try {
    const list: unknown = JSON.parse(ids);
    return Array.isArray(list) ? list.map(String) : [];
  } catch {
    return [];
  }
};

export function checkRecord(sealer: Sealer, row: AuditRecordRow) {
  const mac = macOf(sealer, { ...row, at: Number(row.at), response_status_code: Number(row.response_status_code) });
  if (mac !== row.mac) throw new Broken(row.id, 'it was altered, or it was not written by this gateway');
}
