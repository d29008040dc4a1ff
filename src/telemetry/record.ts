import type { FailedBy } from '../core/call-log.ts';
import type { Usage } from '../core/usage.ts';

export type { FailedBy, Usage };

/** One request to /v1 as it is stored and read back. Field names are those of the wire. */
export interface LogRecord {
  readonly id: string;
  readonly trace_id: string;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  readonly organisation_id: string | null;
  readonly workspace_id: string | null;
  readonly api_key_id: string | null;
  readonly user_id: string | null;
  readonly virtual_key: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly failed_by: FailedBy | null;
  readonly error_code: string | null;
  readonly is_stream: boolean;
  readonly request_bytes: number;
  readonly response_bytes: number;
  /** Milliseconds, with fractions. */
  readonly first_byte_ms: number | null;
  readonly duration_ms: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly reasoning_tokens: number | null;
  /** US dollars; null when the model's price or the usage is unknown. */
  readonly cost: number | null;
  readonly client_address: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** What guardrails found; null where none looked. */
  readonly hook_results: unknown;
  /** What its caller's calls are grouped by; null: the call belongs to no session. */
  readonly session_id: string | null;
  /** How often a provider was asked; null in entries of versions that did not count. */
  readonly attempt_count: number | null;
}

/** What is stored apart from the record, compressed, when bodies are logged. */
export interface LogBodies {
  readonly request_headers: Readonly<Record<string, string>>;
  readonly response_headers: Readonly<Record<string, string>>;
  /** The bytes as they travelled, up to the cap. */
  readonly request_body: Uint8Array | null;
  readonly response_body: Uint8Array | null;
  readonly request_truncated: boolean;
  readonly response_truncated: boolean;
  /** Of targets that speak another dialect than the client. */
  readonly upstream: readonly LogExchange[];
  /** Its words are to be found. */
  readonly is_searched?: boolean;
}

/** What went to a target in its own words, and what came back. */
export interface LogExchange {
  readonly target: string;
  readonly request_body: Uint8Array | null;
  readonly response_body: Uint8Array | null;
  readonly request_truncated: boolean;
  readonly response_truncated: boolean;
}
