export interface IngestTables {
  ingested_spans: IngestedRow;
}

/** A span, a log record or a point of a metric that a client has sent. */
export interface IngestedRow {
  /** Of its trace and itself; of what has no span id, a hash of what it says. */
  id: string;
  workspace_id: string;
  /** The user who sent it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  /** Who sent it: of a key, or the id that stands in its place for users and machines. */
  api_key_id: string;
  /** What it is a part of, as the client says; else its trace. */
  session_id: string | null;
  signal: 'span' | 'log' | 'metric';
  /** Hex. */
  trace_id: string | null;
  span_id: string | null;
  parent_id: string | null;
  name: string;
  kind: string;
  is_error: 0 | 1;
  /** `service.name` of its resource. */
  service: string | null;
  /** Milliseconds since the epoch. */
  started_at: number;
  duration_ms: number;
  /** JSON. */
  attributes: string;
  /** When it came. */
  created_at: number;
}
