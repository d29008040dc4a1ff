import type { Generated } from 'kysely';
import type { LogRecord } from './record.ts';

export const LOG_MIGRATION_TABLE = 'gateway_log_migrations';
/** A log that has seen this one has seen those before it. */
export const LAST_LOG_MIGRATION = '0011-digests';

/** A record as a row: metadata, hook results and attempts are JSON text. */
export type LogRow = Omit<LogRecord, 'metadata' | 'hook_results'> & {
  readonly metadata: string | null;
  readonly hook_results: string | null;
  /** Packed (`attempts.ts`); null: no target was reached. */
  readonly attempts: string | null;
};

/** What the entries of one session amount to. */
export interface SessionRow {
  workspace_id: string;
  session_id: string;
  organisation_id: string | null;
  /** When its first and its last call came, and when the last one to end had ended; milliseconds since the epoch. */
  first_at: number;
  last_at: number;
  ended_at: number;
  calls: number;
  errors: number;
  unpriced_calls: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  reasoning_tokens: number;
  /** Billionths of a US dollar: whole numbers add up, and can be taken away again. */
  nano_dollars: number;
}

export interface LogTables {
  /** `body_place`: where the embedded store keeps headers and bodies (`body-segments.ts`). */
  request_logs: LogRow & { readonly body_place: string | null };
  /** PostgreSQL: headers and bodies, packed (`packed-bodies.ts`), mostly compressed. */
  request_log_bodies: { log_id: string; content: Uint8Array };
  /** Metadata pairs once more, so that a rare value is found without reading every record. */
  request_log_labels: { workspace_id: string; key: string; value: string; created_at: number; log_id: string };
  /** PostgreSQL: the words of entries that are searched. The embedded store has an index of that name. */
  request_log_words: { log_id: string; words: string };
  request_log_sessions: SessionRow;
  /** Which entries wait to be exported, and with which shipment: ids as JSON text. */
  request_log_unshipped: { id: Generated<number>; shipment: string | null; entries: number; ids: string };
  request_log_session_models: {
    workspace_id: string;
    session_id: string;
    model: string;
    calls: number;
    nano_dollars: number;
  };
}

/** The workspace of labels whose record has none: a primary key takes no null. */
export const NO_WORKSPACE = '';

export const LOG_COLUMNS = [
  'id',
  'trace_id',
  'created_at',
  'organisation_id',
  'workspace_id',
  'api_key_id',
  'user_id',
  'virtual_key',
  'provider',
  'model',
  'method',
  'path',
  'status',
  'failed_by',
  'error_code',
  'is_stream',
  'request_bytes',
  'response_bytes',
  'first_byte_ms',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost',
  'client_address',
  'metadata',
  'hook_results',
  'session_id',
  'attempt_count',
  'attempts',
] as const satisfies readonly (keyof LogRow)[];

/** What a page of entries shows: attempts are for those who open one. */
export type ListedRow = Omit<LogRow, 'attempts'>;

export const LISTED_COLUMNS = LOG_COLUMNS.filter((column) => column !== 'attempts');
