export interface AssistantTables {
  assistants: AssistantRow;
  threads: ThreadRow;
  messages: MessageRow;
  imported_messages: ImportedMessageRow;
  runs: RunRow;
  run_steps: RunStepRow;
  run_calls: RunCallRow;
  run_events: RunEventRow;
  code_cells: CodeCellRow;
}

export interface AssistantRow {
  id: string;
  workspace_id: string;
  /** JSON of everything but id and times. */
  body: string;
  created_at: number;
  deleted_at: number | null;
}

export interface ThreadRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  tool_resources: string;
  metadata: string;
  created_at: number;
  deleted_at: number | null;
}

export interface MessageRow {
  id: string;
  thread_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  role: string;
  status: string;
  content: string;
  attachments: string;
  assistant_id: string | null;
  run_id: string | null;
  metadata: string;
  incomplete_reason: string | null;
  created_at: number;
  completed_at: number | null;
  incomplete_at: number | null;
  deleted_at: number | null;
}

/** That a message of an export was taken over: it is not taken over again, whatever has become of it here. */
export interface ImportedMessageRow {
  thread_id: string;
  /** Its id in the export; here it has one that sorts by time. */
  source_id: string;
  message_id: string;
}

export interface RunRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  thread_id: string;
  assistant_id: string;
  /** On whose behalf models are called. */
  api_key_id: string;
  /** JSON: which provider, config and trace its model calls name, as headers. */
  headers: string;
  /** Sealed: what its caller proved to guardrails; null: nothing, or it has ended. */
  proofs: string | null;
  status: string;
  /** JSON: what it was asked to do, as it was when it was created; later changes of the assistant are not its concern. */
  body: string;
  metadata: string;
  /** JSON. */
  required_action: string | null;
  last_error: string | null;
  incomplete_reason: string | null;
  /** Of all its finished calls. */
  prompt_tokens: number;
  completion_tokens: number;
  /** Model calls that were repeated because their outcome is unknown: the provider may have billed them twice. */
  repeated_calls: number;
  /** Grows with every process that begins to write its history, so that events of a former writer are told apart. */
  epoch: number;
  created_at: number;
  expires_at: number;
  started_at: number | null;
  cancelled_at: number | null;
  failed_at: number | null;
  completed_at: number | null;
  /** Whichever way it ended. */
  ended_at: number | null;
  /** 1 until its events are pruned. */
  keeps_events: 0 | 1;
}

export interface RunStepRow {
  id: string;
  run_id: string;
  /** The number of the model call it came from. */
  call: number;
  status: string;
  /** JSON, as clients see it. */
  details: string;
  /** JSON: the tool calls and their results, as the model sees them. */
  exchange: string;
  last_error: string | null;
  usage: string | null;
  created_at: number;
  expired_at: number | null;
  cancelled_at: number | null;
  failed_at: number | null;
  completed_at: number | null;
}

/** One call of a model. `lost`: the node that made it died, and another made it again. */
export interface RunCallRow {
  run_id: string;
  number: number;
  attempt: number;
  /** Of the lease it was made under. */
  fence: number;
  state: 'started' | 'done' | 'lost';
  /** Whatever comes of it goes by these ids, in every attempt: a repetition overwrites, it adds nothing. */
  message_id: string;
  message_step_id: string;
  tool_step_id: string;
  /** JSON. */
  usage: string | null;
  started_at: number;
}

/** Events of a run's stream that were written together. */
export interface RunEventRow {
  run_id: string;
  epoch: number;
  /** Of the last event in it. */
  seq: number;
  /** Of pieces of an answer: the number of the call they came from. */
  call: number | null;
  /** A line for each: its name, a space, its data. */
  events: string;
}

/** Code that a run has executed; its place in the order of its thread. */
export interface CodeCellRow {
  run_id: string;
  /** Which of the run's calls of tools it is. */
  ordinal: number;
  thread_id: string;
  number: number;
  /** JSON: the code, and the files that were mounted before it. */
  cell: string;
  /** JSON: what came of it. */
  result: string;
  /** 1: cells after it find what it has left; 0: it was stopped, and nothing of it is there. */
  leaves_state: number;
  /** 1: it found nothing of the cells before it. */
  begins_anew: number;
  created_at: number;
}
