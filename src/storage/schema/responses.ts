export interface ResponseTables {
  responses: ResponseRow;
  response_items: ResponseItemRow;
  kept_thoughts: KeptThoughtsRow;
}

/**
 * A response of a model that is kept for clients, because its provider has no such API; or, by its id, a conversation, or a
 * container in which code runs.
 */
export interface ResponseRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  /** The response it goes on from. */
  previous_id: string | null;
  /** JSON, without the output, which is in the items. */
  body: string;
  /** Of all its items together. */
  bytes: number;
  created_at: number;
  /** From then on it cannot be read; it stays as long as others go on from it. */
  expires_at: number;
}

/** What went into a response, and what came out of it, in this order. */
export interface ResponseItemRow {
  response_id: string;
  position: number;
  /** `cell`: code that ran in a container. */
  side: 'input' | 'output' | 'cell';
  item_id: string;
  /** JSON. */
  body: string;
}

export interface KeptThoughtsRow {
  /** Of workspace, call and name of the tool. */
  id: string;
  workspace_id: string;
  sealed: string;
  bytes: number;
  expires_at: number;
}
