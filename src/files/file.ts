import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { integerInQuery } from '../core/list.ts';
import type { ObjectId } from '../core/object-ids.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import type { FileRow } from '../storage/schema.ts';

export type FileId = ObjectId<'file'>;

/** What a client may upload a file for. */
export const INPUT_PURPOSES = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const;
/** What the gateway makes files for. */
export const OUTPUT_PURPOSES = ['assistants_output', 'batch_output', 'fine-tune-results'] as const;
export const PURPOSES = [...INPUT_PURPOSES, ...OUTPUT_PURPOSES] as const;

export type InputPurpose = (typeof INPUT_PURPOSES)[number];
export type Purpose = (typeof PURPOSES)[number];

/** A file as clients see it. Times are seconds. */
export interface FileObject {
  readonly id: FileId;
  readonly object: 'file';
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: Purpose;
  /** Out of use, but clients wait for it to leave `uploaded`. */
  readonly status: 'processed';
  readonly expires_at?: number;
}

const MEBIBYTE = 1 << 20;
/** The largest file that comes in one request. */
export const MOST_FILE_BYTES = 512 * MEBIBYTE;
const MOST_BATCH_BYTES = 200 * MEBIBYTE;
const DAY_SECONDS = 86_400;
const BATCH_LIVES_SECONDS = 30 * DAY_SECONDS;

export const purpose = () => z.enum(INPUT_PURPOSES).describe('What the file is for.');

export const filename = () =>
  z
    .string()
    .min(1)
    .max(255)
    .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), 'a file name has no control characters');

const expiresAfter = <Seconds extends z.ZodType<number>>(seconds: Seconds) =>
  z.strictObject({ anchor: z.enum(['created_at']), seconds: seconds.describe('3600 to 2592000.') });
const [LEAST_SECONDS, MOST_SECONDS] = [3_600, 30 * DAY_SECONDS];

export const expiresAfterInJson = () => expiresAfter(z.int().min(LEAST_SECONDS).max(MOST_SECONDS));
export const expiresAfterInForm = () => expiresAfter(integerInQuery(LEAST_SECONDS, MOST_SECONDS));

export const fileObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('file'),
      bytes: z.number().int(),
      created_at: z.number().int(),
      filename: z.string(),
      purpose: z.enum(PURPOSES),
      status: z.literal('processed'),
      expires_at: z.number().int().optional(),
    })
    .meta({ id: 'File' });

/** Whether a file of this name may be used for this. A batch finds out by the lines themselves what its input is. */
export function checkFormat(name: string, use: Purpose) {
  if (use === 'fine-tune' && !name.toLowerCase().endsWith('.jsonl')) fail('file_format_unsupported', 'Fine-Tuning API');
}

/** Whether a file of this size may be used for this; `param` is where the size or the content was given. */
export function checkSize(bytes: number, use: Purpose, param: string) {
  if (use === 'batch' && bytes > MOST_BATCH_BYTES)
    fail('file_too_large', param, MOST_BATCH_BYTES, 'a file for batches');
}

/** How long a file lives after it was made; null: until it is deleted. */
export const livesSeconds = (use: Purpose, given: number | null | undefined): number | null =>
  given ?? (use === 'batch' ? BATCH_LIVES_SECONDS : null);

export const shownFile = (row: FileRow): FileObject => ({
  id: row.id as FileId,
  object: 'file',
  bytes: row.bytes,
  created_at: unixSeconds(row.created_at),
  filename: row.filename,
  purpose: row.purpose as Purpose,
  status: 'processed',
  ...(row.expires_at !== null && { expires_at: unixSeconds(row.expires_at) }),
});
