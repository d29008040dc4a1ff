import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { type Metadata, newMetadata } from '../core/metadata-rule.ts';
import type { ObjectId } from '../core/object-ids.ts';
import type { Checked } from '../core/schema.ts';
import { unixSecondsOrNull } from '../core/unix-seconds.ts';
import type { BatchRow } from '../storage/schema.ts';
import { shownUsage } from './usage.ts';

export type BatchId = ObjectId<'batch'>;

export const STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof STATUSES)[number];

/** Where a batch may go from each status. What has nowhere to go has ended. */
const NEXT: Record<BatchStatus, readonly BatchStatus[]> = {
  validating: ['in_progress', 'failed', 'cancelling'],
  in_progress: ['finalizing', 'expired', 'cancelling', 'failed'],
  finalizing: ['completed', 'failed'],
  cancelling: ['cancelled', 'failed'],
  failed: [],
  completed: [],
  expired: [],
  cancelled: [],
};

export const hasEnded = (status: string): boolean => NEXT[status as BatchStatus].length === 0;

type EnteredAt = `${Exclude<BatchStatus, 'validating'>}_at`;
export type StatusChange = { readonly status: BatchStatus } & { readonly [At in EnteredAt]?: number };

/** The columns that change when a batch enters a status: the status and the moment, nothing else. */
export function entered(batch: Pick<BatchRow, 'id' | 'status'>, status: BatchStatus, now: number): StatusChange {
  if (!NEXT[batch.status as BatchStatus].includes(status))
    throw new Error(`Batch ${batch.id} is ${batch.status} and cannot become ${status}.`);
  return { status, [`${status}_at`]: now };
}

/** A batch that is being cancelled already stays as it is; any other that is not running cannot be cancelled. */
export function cancelled(batch: Pick<BatchRow, 'id' | 'status' | 'stop'>, now: number): StatusChange | null {
  if (batch.status === 'cancelling') return null;
  // Its window is over, and its output is being written.
  if (batch.stop === 'expired') fail('batch_not_cancellable', 'expired');
  if (!NEXT[batch.status as BatchStatus].includes('cancelling')) fail('batch_not_cancellable', batch.status);
  return entered(batch, 'cancelling', now);
}

/** What requests of a batch may ask for, by the path after `/v1`. */
export const PATHS = [
  '/chat/completions',
  '/completions',
  '/embeddings',
  '/responses',
  '/messages',
  '/moderations',
  '/images/generations',
  '/images/edits',
] as const;
export const ENDPOINTS = PATHS.map((path) => `/v1${path}` as const);
export type Endpoint = (typeof ENDPOINTS)[number];

/** Some clients leave the version out. */
export const withVersion = (path: string): string => (path.startsWith('/v1/') ? path : `/v1${path}`);

export const WINDOWS = ['24h', 'immediate'] as const;
export type CompletionWindow = (typeof WINDOWS)[number];
const DAY_MS = 86_400_000;
export const endOfWindow = (createdAt: number): number => createdAt + DAY_MS;

const expiresAfter = () => z.object({ anchor: z.enum(['created_at']), seconds: z.int().min(3_600).max(2_592_000) });

/** Unknown members are ignored, as OpenAI does here. */
export const newBatch = () =>
  z.object({
    input_file_id: z.string().min(1).describe('A file of the purpose `batch`.'),
    endpoint: z
      .preprocess((given) => (typeof given === 'string' ? withVersion(given) : given), z.enum(ENDPOINTS))
      .describe('What every request of the file asks for.'),
    completion_window: z.enum(WINDOWS).describe('`immediate` begins now and on the gateway, for every provider.'),
    metadata: newMetadata,
    output_expires_after: expiresAfter().nullish(),
  });
export type NewBatch = Checked<typeof newBatch>;

export interface BatchFault {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** From 1; null when it is the file's fault as a whole. */
  readonly line: number | null;
}

const moment = () => z.number().int().nullable();
const fault = () =>
  z.object({
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
    line: z.number().int().nullable(),
  });

export const batchObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('batch'),
      endpoint: z.string(),
      errors: z.object({ object: z.literal('list'), data: z.array(fault()) }).nullable(),
      input_file_id: z.string(),
      completion_window: z.string(),
      status: z.enum(STATUSES),
      output_file_id: z.string().nullable(),
      error_file_id: z.string().nullable(),
      created_at: z.number().int(),
      in_progress_at: moment(),
      expires_at: moment(),
      finalizing_at: moment(),
      completed_at: moment(),
      failed_at: moment(),
      expired_at: moment(),
      cancelling_at: moment(),
      cancelled_at: moment(),
      request_counts: z.object({
        total: z.number().int(),
        completed: z.number().int(),
        failed: z.number().int(),
      }),
      model: z.string().nullable().describe('That of all its requests; null where they name several, or none.'),
      usage: z.object({
        input_tokens: z.number().int(),
        input_tokens_details: z.object({ cached_tokens: z.number().int() }),
        output_tokens: z.number().int(),
        output_tokens_details: z.object({ reasoning_tokens: z.number().int() }),
        total_tokens: z.number().int(),
      }),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'Batch' });
export type BatchObject = Checked<typeof batchObject>;

export interface Counts {
  readonly completed: number;
  readonly failed: number;
}

/** A batch as clients see it. */
export const shownBatch = (row: BatchRow, { completed, failed }: Counts): BatchObject => ({
  id: row.id,
  object: 'batch',
  endpoint: row.endpoint,
  errors: row.errors === null ? null : { object: 'list', data: JSON.parse(row.errors) },
  input_file_id: row.input_file_id,
  completion_window: row.completion_window,
  status: row.status as BatchStatus,
  output_file_id: row.output_file_id,
  error_file_id: row.error_file_id,
  created_at: Math.floor(row.created_at / 1_000),
  in_progress_at: unixSecondsOrNull(row.in_progress_at),
  expires_at: unixSecondsOrNull(row.expires_at),
  finalizing_at: unixSecondsOrNull(row.finalizing_at),
  completed_at: unixSecondsOrNull(row.completed_at),
  failed_at: unixSecondsOrNull(row.failed_at),
  expired_at: unixSecondsOrNull(row.expired_at),
  cancelling_at: unixSecondsOrNull(row.cancelling_at),
  cancelled_at: unixSecondsOrNull(row.cancelled_at),
  request_counts: { total: row.total ?? 0, completed, failed },
  model: row.model,
  usage: shownUsage(row),
  metadata: JSON.parse(row.metadata) as Metadata,
});
