export interface BatchTables {
  batches: BatchRow;
  batch_lines: BatchLineRow;
  batch_results: BatchResultRow;
}

export interface BatchRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  /** Whose calls its requests are. */
  api_key_id: string;
  virtual_key: string;
  /** JSON: the headers that each of its requests is made with. */
  headers: string;
  /** Sealed: what its caller proved to guardrails; null: nothing, or it has ended. */
  proofs: string | null;
  endpoint: string;
  input_file_id: string;
  completion_window: string;
  /** Who carries it out: the gateway, or the provider's own batch API. */
  mode: 'managed' | 'native';
  /** JSON: what is known of the provider's job. */
  native: string | null;
  status: string;
  /** Why it ends before all of its requests were made. */
  stop: 'expired' | 'cancelled' | null;
  /** JSON. */
  errors: string | null;
  output_file_id: string | null;
  error_file_id: string | null;
  /** Null: as long as such files usually live. */
  output_lives_seconds: number | null;
  /** JSON. */
  metadata: string;
  /** Null until its input was found to be good. */
  total: number | null;
  /** Null until it has ended: before that, its results are counted. */
  completed: number | null;
  failed: number | null;
  /** Of all its requests, where all name the same; null until its input was found to be good, or where they differ. */
  model: string | null;
  /** What its results took, as far as providers said; they grow with the results, in one transaction. */
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  created_at: number;
  expires_at: number;
  in_progress_at: number | null;
  finalizing_at: number | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
}

/** Where one request of a batch stands in the input file. */
export interface BatchLineRow {
  batch_id: string;
  /** From 0, without empty lines. */
  number: number;
  /** JSON: it may hold characters that no text column takes. */
  custom_id: string;
  position: number;
  bytes: number;
}

/** What became of one request of a batch. */
export interface BatchResultRow {
  batch_id: string;
  number: number;
  id: string;
  is_error: 0 | 1;
  /** JSON. */
  response: string | null;
  error: string | null;
}
