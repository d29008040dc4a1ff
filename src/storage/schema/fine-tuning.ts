export interface FineTuningTables {
  fine_tuning_jobs: FineTuningJobRow;
  fine_tuning_events: FineTuningEventRow;
  fine_tuning_checkpoints: FineTuningCheckpointRow;
}

export interface FineTuningJobRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  organisation_id: string;
  /** The slug whose provider does the work. */
  virtual_key: string;
  provider: string;
  /** JSON: what was asked for. */
  request: string;
  status: 'validating_files' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** JSON: what belongs to the status, such as an error. */
  state: string;
  /** JSON: what the job and its files are called at the provider, as far as they are there. */
  remote: string;
  created_at: number;
  finished_at: number | null;
}

export interface FineTuningEventRow {
  id: string;
  job_id: string;
  /** The provider's id, or a name of ours for what the gateway says itself. */
  remote_id: string;
  level: 'info' | 'warn' | 'error';
  message: string;
  type: 'message' | 'metrics';
  /** JSON. */
  data: string | null;
  created_at: number;
}

export interface FineTuningCheckpointRow {
  id: string;
  job_id: string;
  remote_id: string;
  model: string;
  step_number: number;
  /** JSON. */
  metrics: string;
  created_at: number;
}
