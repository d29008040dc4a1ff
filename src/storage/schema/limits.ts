export interface LimitTables {
  usage_ledger: UsageLedgerRow;
  limit_counters: LimitCounterRow;
  limit_holds: LimitHoldRow;
  policies: PolicyRow;
  policy_entities: PolicyEntityRow;
}

/** What one call cost. Counters and budgets are sums of these rows. */
export interface UsageLedgerRow {
  id: string;
  at: number;
  organisation_id: string;
  workspace_id: string;
  api_key_id: string;
  virtual_key: string | null;
  provider: string;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  /** Billionths of a US dollar; null when unknown. */
  cost: number | null;
  state: 'final' | 'estimated' | 'unsent';
  /** JSON `[[counter, amount, ends_at]]`: what was added to which counter. */
  charges: string;
  /**
   * 0 when the hold expired before the node settled it: a settlement that comes late still corrects row and counters.
   */
  settled: 0 | 1;
}

export interface LimitCounterRow {
  counter: string;
  used: number;
  held: number;
  /** Null: never. */
  ends_at: number | null;
}

/** What a running call may still take. Only where several nodes share the counters; a single one keeps a journal. */
export interface LimitHoldRow {
  id: string;
  node: string;
  /** JSON `[[counter, amount, ends_at]]`. */
  charges: string;
  /** JSON of the ledger entry that is written if the hold expires without a settlement. */
  estimate: string;
  /** By the database's clock. */
  expires_at: number;
}

export interface PolicyRow {
  id: string;
  organisation_id: string;
  /** Null: the whole organisation. */
  workspace_id: string | null;
  kind: 'rate' | 'usage';
  name: string | null;
  description: string | null;
  /** JSON: whom it concerns, how they are grouped, and what they may use. */
  definition: string;
  created_at: number;
  updated_at: number;
}

/** A group of callers that a usage policy has counted. */
export interface PolicyEntityRow {
  policy_id: string;
  /** Follows from the policy and `value_key`, so that nodes which meet a group at once agree. */
  id: string;
  /** `metadata.team:search,model:gpt-4o`. */
  value_key: string;
  created_at: number;
}
