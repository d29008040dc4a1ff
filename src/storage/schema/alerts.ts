export interface AlertTables {
  alert_channels: AlertChannelRow;
  alert_rules: AlertRuleRow;
  alert_looks: AlertLookRow;
  alert_states: AlertStateRow;
  alert_events: AlertEventRow;
  alert_sightings: AlertSightingRow;
}

/** Where alerts are told. */
export interface AlertChannelRow {
  id: string;
  organisation_id: string;
  /** Null: it belongs to the organisation itself. */
  workspace_id: string | null;
  name: string;
  kind: 'webhook' | 'slack' | 'teams' | 'email';
  is_enabled: 0 | 1;
  /** Sealed JSON `{ settings, secrets }`. */
  sealed: string;
  /** JSON: how the last attempt went. */
  last_delivery: string | null;
  created_at: number;
  updated_at: number;
}

export interface AlertRuleRow {
  id: string;
  organisation_id: string;
  /** Null: it watches the whole organisation. */
  workspace_id: string | null;
  name: string;
  /** JSON. */
  condition: string;
  /** JSON array of ids. */
  channels: string;
  /** Seconds; null: what goes on is not told again. */
  repeat_after: number | null;
  is_enabled: 0 | 1;
  created_at: number;
  updated_at: number;
}

/** When a rule was last judged. */
export interface AlertLookRow {
  rule_id: string;
  /** Why it could not be. */
  problem: string | null;
  checked_at: number;
}

/** Something about which a rule has told that it holds, until it has told that it is over. */
export interface AlertStateRow {
  rule_id: string;
  subject: string;
  /** Which of the rule's thresholds is reached, counted from 1. */
  level: number;
  since: number;
  told_at: number;
  /** JSON: what was found when it was last looked at. */
  found: string;
}

export interface AlertEventRow {
  /** What receivers recognise it by. */
  id: string;
  rule_id: string;
  organisation_id: string;
  workspace_id: string | null;
  /** JSON: the message. */
  told: string;
  /** JSON: how it went with each of the channels that it was told to, `{channel id: delivery}`; null: not tried yet. */
  channels: string;
  at: number;
}

/** What one node sees of breakers, providers, its disk and its health. */
export interface AlertSightingRow {
  node: string;
  kind: 'breaker' | 'provider' | 'disk' | 'health';
  /** Empty: of no workspace. */
  workspace_id: string;
  subject: string;
  /** Of what is counted, the minute; 0 otherwise. */
  slot: number;
  amount: number;
  whole: number;
  detail: string | null;
  seen_at: number;
  expires_at: number;
}
