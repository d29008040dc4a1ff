import * as z from 'zod';
import { type Metadata, metadataRule, newMetadata } from '../../core/metadata-rule.ts';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { unixSeconds } from '../../core/unix-seconds.ts';
import type { VectorStoreRow } from '../../storage/schema.ts';
import { chunkingStrategy } from './chunking.ts';

const DAY_MS = 86_400_000;
export const MOST_FILES_AT_ONCE = 500;

const expiresAfter = () => z.strictObject({ anchor: z.enum(['last_active_at']), days: z.int().min(1).max(365) });
const name = () => z.string().max(256);
const fileId = () => z.string().min(1);

export const createStore = () =>
  z.strictObject({
    name: name().nullish(),
    description: z.string().max(512).nullish(),
    file_ids: z.array(fileId()).max(MOST_FILES_AT_ONCE).nullish(),
    expires_after: expiresAfter().nullish(),
    chunking_strategy: schemaOf(chunkingStrategy).nullish(),
    metadata: newMetadata,
  });
export type NewStore = Checked<typeof createStore>;

export const updateStore = () =>
  z.strictObject({
    name: name().nullish(),
    expires_after: expiresAfter().nullish(),
    metadata: metadataRule.nullish(),
  });

export const fileCounts = () =>
  z.object({
    in_progress: z.int(),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
    total: z.int(),
  });
export type FileCounts = Checked<typeof fileCounts>;

export const storeObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('vector_store'),
      created_at: z.int(),
      name: z.string(),
      description: z.string().optional(),
      usage_bytes: z.int(),
      file_counts: fileCounts(),
      status: z.enum(['expired', 'in_progress', 'completed']),
      expires_after: expiresAfter().optional(),
      expires_at: z.int().nullable(),
      last_active_at: z.int(),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'VectorStore' });
export type StoreObject = Checked<typeof storeObject>;

export interface StoreBody {
  readonly name: string;
  readonly description: string | null;
  readonly metadata: Metadata;
}

/** What its files come to. */
export interface Contents {
  readonly counts: FileCounts;
  readonly usageBytes: number;
}

export const bodyOf = ({ body }: VectorStoreRow): StoreBody => JSON.parse(body);

/** A store is expired from its time on, also before a sweep has said so. */
export const isExpired = ({ expires_at, expired_at }: VectorStoreRow, now: number): boolean =>
  expired_at !== null || (expires_at !== null && expires_at <= now);

/** When it expires if it is not used after that moment. */
export const expiryAfter = (days: number | null | undefined, lastActiveAt: number): number | null =>
  days ? lastActiveAt + days * DAY_MS : null;

export function shownStore(row: VectorStoreRow, { counts, usageBytes }: Contents, now: number): StoreObject {
  const { name: given, description, metadata } = bodyOf(row);
  const status = counts.in_progress > 0 ? 'in_progress' : 'completed';
  return {
    id: row.id,
    object: 'vector_store',
    created_at: unixSeconds(row.created_at),
    name: given,
    ...(description !== null && { description }),
    usage_bytes: usageBytes,
    file_counts: counts,
    status: isExpired(row, now) ? 'expired' : status,
    ...(row.expires_days !== null && { expires_after: { anchor: 'last_active_at' as const, days: row.expires_days } }),
    expires_at: row.expires_at === null ? null : unixSeconds(row.expires_at),
    last_active_at: unixSeconds(row.last_active_at),
    metadata: { ...metadata },
  };
}
