export interface AuditTables {
  audit_records: AuditRecordRow;
  audit_batches: AuditBatchRow;
  audit_days: AuditDayRow;
  audit_heads: AuditHeadRow;
}

/** One call that changed something, or was to. Its columns are the fields of the record, `at` is its timestamp. */
export interface AuditRecordRow {
  /** The id of the request. */
  id: string;
  organisation_id: string;
  at: number;
  /** The batch of the chain that holds it; null until it is sealed. */
  batch: number | null;
  method: 'POST' | 'PUT' | 'DELETE';
  user_type: 'user' | 'api_key';
  user_id: string;
  workspace_id: string;
  response_status_code: number;
  resource_type: string;
  action: string;
  client_ip: string;
  country: string;
  uri: string;
  /** Over all columns but `batch`. */
  mac: string;
  /** JSON, masked. */
  query_params: string;
  request_headers: string;
  request_body: string;
}

/** A link of an organisation's chain of audit records. */
export interface AuditBatchRow {
  organisation_id: string;
  number: number;
  /** JSON array of the ids of its records, in their order. */
  ids: string;
  /** Over the batch before, these ids and the records' own codes. */
  seal: string;
  at: number;
}

/** How many sealed records of a kind a day has. A list shows totals from here instead of counting a million records. */
export interface AuditDayRow {
  organisation_id: string;
  /** Days since the epoch. */
  day: number;
  method: string;
  user_type: string;
  workspace_id: string;
  response_status_code: number;
  resource_type: string;
  action: string;
  country: string;
  records: number;
}

/** The end of an organisation's chain. */
export interface AuditHeadRow {
  organisation_id: string;
  /** Of the last batch; 0 before the first. */
  number: number;
  /** In all batches together. */
  records: number;
  seal: string;
  at: number;
  signature: string;
}
