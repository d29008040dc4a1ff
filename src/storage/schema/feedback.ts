export interface FeedbackTables {
  feedbacks: FeedbackRow;
}

/** What a caller thinks of the answer to a traced request. */
export interface FeedbackRow {
  id: string;
  workspace_id: string;
  /** The user who gave it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  /** Who gave it: of a key, or the id that stands in its place for users and machines. */
  api_key_id: string;
  trace_id: string;
  /** From -10 to 10. */
  value: number;
  /** From 0 to 1. */
  weight: number;
  /** JSON. */
  metadata: string;
  created_at: number;
  updated_at: number;
}
