export interface ResponseTables {
  responses: ResponseRow;
  response_items: ResponseItemRow;
  response_work: ResponseWorkRow;
  response_events: ResponseEventsRow;
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

/** What a response in the background needs beside its row: who asked what, how far it is, and what was told of it. */
export interface ResponseWorkRow {
  response_id: string;
  workspace_id: string;
  api_key_id: string;
  /** JSON, sealed: what was asked, and what was said before. Empty when the response is over. */
  request: string;
  /** Sealed: what the caller proved to guardrails. */
  proofs: string | null;
  /** JSON: where its loop stands. Null: it has not begun, or is over. */
  state: string | null;
  /** The number of the last event that was told when the state was written. */
  state_sequence: number;
  /** Whether what is told of it is kept, for streams. */
  keeps_events: number;
  ended_at: number | null;
}

/** Events of a response in the background, several together. */
export interface ResponseEventsRow {
  response_id: string;
  /** The number of the last of them. */
  sequence: number;
  /** JSON: a list. */
  events: string;
}

export interface KeptThoughtsRow {
  /** Of workspace, call and name of the tool. */
  id: string;
  workspace_id: string;
  sealed: string;
  bytes: number;
  expires_at: number;
}
