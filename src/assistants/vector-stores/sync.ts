import * as z from 'zod';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { unixSeconds } from '../../core/unix-seconds.ts';
import { attributesRule } from './attributes.ts';
import { chunkingStrategy } from './chunking.ts';

/** So long after its last word a sync may be replaced by another one. */
export const LEASE_MS = 60_000;

/** In one line, without what would break it. */
const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'it has no control characters');

const sourceName = () => line(256).describe('The name of what is kept in step; only its own files are touched.');

const LONGEST_PATH = 1_024;
const path = () =>
  line(LONGEST_PATH)
    .refine(
      (text) => text.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
      "a path is relative, with / between its parts and without '.' and '..'",
    )
    .describe('Where the file is in its source, such as guides/setup.md.');

/** What begins with `sha256:` is compared with what arrived. */
const digest = () =>
  z
    .string()
    .max(200)
    .regex(/^(?:sha256:[0-9a-f]{64}|(?!sha256:)[a-z0-9]+:[\x21-\x7e]+)$/)
    .describe('sha256:… of its bytes, or another mark that changes with them, such as etag:….');

const count = () => z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const progress = () =>
  z.strictObject({
    total: count(),
    done: count(),
    uploaded: count(),
    removed: count(),
    failed: count(),
    bytes: count(),
  });
export type SyncProgress = Checked<typeof progress>;

export const NOTHING_YET: SyncProgress = { total: 0, done: 0, uploaded: 0, removed: 0, failed: 0, bytes: 0 };

export const beginSync = () =>
  z.strictObject({
    source: sourceName(),
    holder: line(256).describe('Who is syncing, for others who try.'),
    takes_over: z.string().optional().describe('The id of a sync that is known to have died.'),
  });
export type NewSync = Checked<typeof beginSync>;

export const tellSync = () =>
  z.strictObject({
    progress: progress(),
    status: z.enum(['in_progress', 'completed', 'failed']).default('in_progress'),
  });
export type SyncWord = Checked<typeof tellSync>;

/** The form as the description of the API shows it. */
export const syncedFileForm = () =>
  z.strictObject({
    path: path(),
    digest: digest(),
    attributes: z.string().optional().describe('JSON: as for any file of a vector store.'),
    chunking_strategy: z.string().optional().describe('JSON: as for any file of a vector store.'),
    file: z.custom<unknown>().meta({ type: 'string', format: 'binary' }),
  });

export const syncedFile = () =>
  z.strictObject({
    path: path(),
    digest: digest(),
    attributes: attributesRule().nullish(),
    chunking_strategy: schemaOf(chunkingStrategy).nullish(),
    file: z.literal(true),
  });
export type SyncedFile = Checked<typeof syncedFile>;

export const syncObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('vector_store.sync'),
      vector_store_id: z.string(),
      source: z.string(),
      holder: z.string(),
      status: z.enum(['in_progress', 'completed', 'failed', 'abandoned']),
      created_at: z.int(),
      expires_at: z.int().nullable(),
      ended_at: z.int().nullable(),
      progress: progress(),
    })
    .meta({ id: 'VectorStoreSync' });
export type SyncObject = Checked<typeof syncObject>;

/** As it stands in the row of its store. */
export interface Sync {
  readonly id: string;
  readonly source: string;
  readonly holder: string;
  readonly status: 'in_progress' | 'completed' | 'failed';
  readonly began_at: number;
  readonly heard_at: number;
  readonly ended_at: number | null;
  readonly progress: SyncProgress;
}

export const syncOf = ({ sync }: { readonly sync: string | null }): Sync | null =>
  sync === null ? null : JSON.parse(sync);

export const leaseEnds = ({ heard_at }: Sync): number => heard_at + LEASE_MS;

/** Another sync may not begin. */
export const isHeld = (sync: Sync, now: number): boolean => sync.status === 'in_progress' && leaseEnds(sync) > now;

export const shownSync = (storeId: string, sync: Sync, now: number): SyncObject => ({
  id: sync.id,
  object: 'vector_store.sync',
  vector_store_id: storeId,
  source: sync.source,
  holder: sync.holder,
  status: sync.status === 'in_progress' && !isHeld(sync, now) ? 'abandoned' : sync.status,
  created_at: unixSeconds(sync.began_at),
  expires_at: sync.status === 'in_progress' ? unixSeconds(leaseEnds(sync)) : null,
  ended_at: sync.ended_at === null ? null : unixSeconds(sync.ended_at),
  progress: sync.progress,
});
