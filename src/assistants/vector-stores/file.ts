import * as z from 'zod';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { unixSeconds } from '../../core/unix-seconds.ts';
import type { VectorStoreBatchRow, VectorStoreFileRow } from '../../storage/schema.ts';
import { attributesRule } from './attributes.ts';
import { chunkingStrategy, shownChunking, strategyOf } from './chunking.ts';
import { originOf } from './origins.ts';
import { type FileCounts, fileCounts } from './store.ts';

const MOST_IN_BATCH = 2_000;
const STATUSES = ['in_progress', 'completed', 'cancelled', 'failed'] as const;

export const addFile = () =>
  z.strictObject({
    file_id: z.string().min(1),
    attributes: attributesRule().nullish(),
    chunking_strategy: schemaOf(chunkingStrategy).nullish(),
  });
export type AddedFile = Checked<typeof addFile>;

export const updateFile = () => z.strictObject({ attributes: attributesRule().nullable() });

export const addBatch = () =>
  z.strictObject({
    file_ids: z.array(z.string().min(1)).min(1).max(MOST_IN_BATCH).nullish(),
    files: z.array(addFile()).min(1).max(MOST_IN_BATCH).nullish(),
    attributes: attributesRule().nullish(),
    chunking_strategy: schemaOf(chunkingStrategy).nullish(),
  });
export type NewFileBatch = Checked<typeof addBatch>;

export const statusFilter = () => z.enum(STATUSES).optional().describe('Only files of this status.');

const originShown = () =>
  z
    .object({ source: z.string(), path: z.string(), digest: z.string() })
    .describe('Where a sync has it from, and by what it tells whether it has changed.');

export const fileObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('vector_store.file'),
      usage_bytes: z.int(),
      created_at: z.int(),
      vector_store_id: z.string(),
      status: z.enum(STATUSES),
      last_error: z
        .object({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
        .nullable(),
      chunking_strategy: shownChunking(),
      attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      origin: originShown().optional(),
    })
    .meta({ id: 'VectorStoreFile' });
export type StoreFile = Checked<typeof fileObject>;
export type LastError = NonNullable<StoreFile['last_error']>;

export const shownFile = (row: VectorStoreFileRow): StoreFile => ({
  id: row.file_id,
  object: 'vector_store.file',
  usage_bytes: row.usage_bytes,
  created_at: unixSeconds(row.created_at),
  vector_store_id: row.store_id,
  status: row.status,
  last_error: row.last_error === null ? null : JSON.parse(row.last_error),
  chunking_strategy: strategyOf(row),
  attributes: JSON.parse(row.attributes),
  ...(row.source !== null && { origin: originOf(row)! }),
});

export const contentPage = () =>
  z.object({
    object: z.literal('vector_store.file_content.page'),
    data: z.array(z.object({ type: z.literal('text'), text: z.string() })),
    has_more: z.boolean(),
    next_page: z.string().nullable(),
  });

export const batchObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('vector_store.files_batch'),
      created_at: z.int(),
      vector_store_id: z.string(),
      status: z.enum(['in_progress', 'completed', 'cancelled', 'failed']),
      file_counts: fileCounts(),
    })
    .meta({ id: 'VectorStoreFileBatch' });
export type FileBatch = Checked<typeof batchObject>;

export const shownBatch = (row: VectorStoreBatchRow, counts: FileCounts): FileBatch => ({
  id: row.id,
  object: 'vector_store.files_batch',
  created_at: unixSeconds(row.created_at),
  vector_store_id: row.store_id,
  status: row.status,
  file_counts: counts,
});
