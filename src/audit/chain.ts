import type { Sealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';

/** What a chain begins with. */
export const FIRST_SEAL = '';

/** A place in a chain: the number and the seal of the batch there. */
export interface Position {
  readonly number: number;
  readonly seal: string;
}

export interface Batch {
  readonly organisationId: string;
  /** From 1. */
  readonly number: number;
  /** Of the batch before. */
  readonly previous: string;
  readonly ids: readonly string[];
  /** The codes of these records, in the same order. */
  readonly macs: readonly string[];
}

/** Each batch vouches for its records, their order, and for everything before it. */
export function sealOf(sealer: Sealer, { organisationId, number, previous, ids, macs }: Batch): string {
  return sealer.sign('audit', JSON.stringify(['batch', organisationId, number, previous, ids, macs]));
}

export type Head = Omit<AuditHeadRow, 'signature'>;

/** Without a signed end, records that are cut off at the end would not be missed. */
export function signatureOf(sealer: Sealer, { organisation_id, number, records, seal, at }: Head): string {
  return sealer.sign(
    'audit',
    JSON.stringify(['head', organisation_id, Number(number), Number(records), seal, Number(at)]),
  );
}

export const signedHead = (sealer: Sealer, head: Head): AuditHeadRow => ({
  ...head,
  signature: signatureOf(sealer, head),
});

export const isGenuine = (sealer: Sealer, head: AuditHeadRow): boolean => head.signature === signatureOf(sealer, head);
