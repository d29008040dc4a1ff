import * as z from 'zod';
import { fail } from '../core/errors.ts';
import type { ObjectId } from '../core/object-ids.ts';
import type { Checked } from '../core/schema.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import type { UploadPartRow, UploadRow } from '../storage/schema.ts';
import { expiresAfterInJson, type FileObject, filename, fileObject, type InputPurpose, purpose } from './file.ts';

export type UploadId = ObjectId<'upload'>;
export type PartId = ObjectId<'part'>;
export type UploadStatus = UploadRow['status'];

/** A file that comes in parts, as clients see it. Times are seconds. */
export interface Upload {
  readonly id: UploadId;
  readonly object: 'upload';
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: InputPurpose;
  readonly status: UploadStatus;
  readonly expires_at: number;
  /** What it became, once it is completed. */
  readonly file?: FileObject;
}

export interface UploadPart {
  readonly id: PartId;
  readonly object: 'upload.part';
  readonly created_at: number;
  readonly upload_id: UploadId;
}

/** The largest part, and the largest file that may come in parts. */
export const MOST_PART_BYTES = 64 * 2 ** 20;
const MOST_UPLOAD_BYTES = 8 * 2 ** 30;
const MOST_PARTS = 10_000;
/** What uploads of one workspace that have not ended may hold: four of the largest. */
export interface UploadBounds {
  readonly mostParts: number;
  readonly mostBytes: number;
}
export const UPLOAD_BOUNDS: UploadBounds = { mostParts: 20_000, mostBytes: 4 * MOST_UPLOAD_BYTES };
export const UPLOAD_LIVES_MS = 3_600_000;

export const uploadInput = () =>
  z.strictObject({
    filename: filename(),
    purpose: purpose(),
    bytes: z.int().min(1).max(MOST_UPLOAD_BYTES).describe('How many bytes the parts will have together.'),
    mime_type: z.string().min(1).max(255),
    expires_after: expiresAfterInJson().optional(),
  });
export type UploadInput = Checked<typeof uploadInput>;

export const completion = () =>
  z.strictObject({
    part_ids: z.array(z.string()).min(1).max(MOST_PARTS).describe('The parts, in the order of their bytes.'),
    md5: z
      .string()
      .regex(/^[0-9a-f]{32}$/i, 'an MD5 is 32 hexadecimal digits')
      .optional()
      .describe('Of the whole file; when given, it is checked.'),
  });
export type Completion = Checked<typeof completion>;

export const uploadObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('upload'),
      bytes: z.number().int(),
      created_at: z.number().int(),
      filename: z.string(),
      purpose: z.string(),
      status: z.enum(['pending', 'completed', 'cancelled', 'expired']),
      expires_at: z.number().int(),
      file: fileObject().optional(),
    })
    .meta({ id: 'Upload' });

export const partObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('upload.part'),
      created_at: z.number().int(),
      upload_id: z.string(),
    })
    .meta({ id: 'UploadPart' });

/** A pending upload is expired from its time on, also before a sweep has said so. */
export const statusAt = ({ status, expires_at }: UploadRow, now: number): UploadStatus =>
  status === 'pending' && expires_at <= now ? 'expired' : status;

export function requirePending(row: UploadRow, now: number) {
  const status = statusAt(row, now);
  if (status !== 'pending') fail('upload_not_pending', row.id, status);
}

export interface Open {
  readonly parts: number;
  readonly bytes: number;
}

/** Whether the workspace may keep that much until its uploads end. */
export function checkBounds({ parts, bytes }: Open, { mostParts, mostBytes }: UploadBounds) {
  if (parts > mostParts) fail('too_many_upload_parts', mostParts);
  if (bytes > mostBytes) fail('upload_parts_too_large', mostBytes);
}

/** The parts in the order that was asked for; each exists, is named once, and together they have the declared size. */
export function orderParts(
  upload: UploadRow,
  parts: readonly UploadPartRow[],
  ids: readonly string[],
): UploadPartRow[] {
  const byId = new Map(parts.map((part) => [part.id, part]));
  const ordered = ids.map((id, index) => {
    const name = `part_ids[${index}]`;
    const part = byId.get(id);
    if (!part)
      return fail(
        'invalid_value',
        name,
        `Invalid '${name}': '${id.slice(0, 80)}' is no part of ${upload.id}, or is named twice.`,
      );
    byId.delete(id);
    return part;
  });
  const bytes = ordered.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes !== upload.bytes) fail('upload_size_mismatch', upload.bytes, bytes);
  return ordered;
}

export const shownUpload = (row: UploadRow, status: UploadStatus, file?: FileObject): Upload => ({
  id: row.id as UploadId,
  object: 'upload',
  bytes: row.bytes,
  created_at: unixSeconds(row.created_at),
  filename: row.filename,
  purpose: row.purpose as InputPurpose,
  status,
  expires_at: unixSeconds(row.expires_at),
  ...(file && { file }),
});

export const shownPart = (row: UploadPartRow): UploadPart => ({
  id: row.id as PartId,
  object: 'upload.part',
  created_at: unixSeconds(row.created_at),
  upload_id: row.upload_id as UploadId,
});
