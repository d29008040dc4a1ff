/** What one check came to. Names are those of the wire. */
export interface CheckOutcome {
  readonly id: string;
  readonly name?: string;
  readonly verdict: boolean;
  readonly data: unknown;
  /** What a caller sees of `data` who did not write the guardrail. Not stored. */
  readonly told?: unknown;
  /** For the log alone: it may quote what was judged. */
  readonly log: unknown;
  readonly error: { readonly message: string } | null;
  readonly fail_on_error: boolean;
  readonly transformed: boolean;
  /** Milliseconds. */
  readonly execution_time: number;
  readonly created_at: string;
}

/** What a guardrail says of a verdict that it has reached. */
export interface GivenFeedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What one guardrail came to. */
export interface HookResult {
  readonly type: 'guardrail';
  readonly id: string;
  readonly guardrail_version_id: string | null;
  /** Null: none of its checks looked. */
  readonly verdict: boolean | null;
  /** The caller wrote it, and sees everything. It is stored, so that no caller adds to the figures of a stored guardrail; not shown. */
  readonly isCallers?: boolean;
  readonly deny: boolean;
  readonly async: boolean;
  readonly skipped: boolean;
  readonly transformed: boolean;
  readonly checks: readonly CheckOutcome[];
  readonly feedback: GivenFeedback | null;
  readonly execution_time: number;
  readonly created_at: string;
}

export interface HookResults {
  readonly before_request_hooks: readonly HookResult[];
  readonly after_request_hooks: readonly HookResult[];
}

/** The same without what goes without saying: nearly every guardrail passes, and the log writes one of these per call. */
export interface PackedHookResults {
  before_request_hooks?: readonly PackedHookResult[];
  after_request_hooks?: readonly PackedHookResult[];
}

type PackedHookResult = Partial<Omit<HookResult, 'checks'>> & { readonly checks?: readonly Partial<CheckOutcome>[] };
type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] };

export function packHookResults({ before_request_hooks, after_request_hooks }: HookResults): PackedHookResults {
  const packed: PackedHookResults = {};
  if (before_request_hooks.length > 0) packed.before_request_hooks = before_request_hooks.map(packResult);
  if (after_request_hooks.length > 0) packed.after_request_hooks = after_request_hooks.map(packResult);
  return packed;
}

function packResult(result: HookResult): PackedHookResult {
  const { id, guardrail_version_id, execution_time, created_at, checks } = result;
  const packed: Writable<PackedHookResult> = { id, guardrail_version_id, execution_time, created_at };
  if (result.verdict !== true) packed.verdict = result.verdict;
  if (result.deny) packed.deny = true;
  if (result.async) packed.async = true;
  if (result.skipped) packed.skipped = true;
  if (result.transformed) packed.transformed = true;
  if (result.isCallers) packed.isCallers = true;
  if (result.feedback) packed.feedback = result.feedback;
  packed.checks = checks.map((check) => packOutcome(check, created_at));
  return packed;
}

function packOutcome(outcome: CheckOutcome, begun: string): Partial<CheckOutcome> {
  const { id, name, data, log, error, execution_time, created_at } = outcome;
  const packed: Writable<Partial<CheckOutcome>> = { id, execution_time };
  if (name !== undefined) packed.name = name;
  if (!outcome.verdict) packed.verdict = false;
  if (data !== null) packed.data = data;
  if (log !== null) packed.log = log;
  if (error) packed.error = error;
  if (!outcome.fail_on_error) packed.fail_on_error = false;
  if (outcome.transformed) packed.transformed = true;
  if (created_at !== begun) packed.created_at = created_at;
  return packed;
}

/** What was stored as it was found has everything already, and stays as it is. */
export const unpackHookResults = ({
  before_request_hooks = [],
  after_request_hooks = [],
}: PackedHookResults): HookResults => ({
  before_request_hooks: before_request_hooks.map(unpackResult),
  after_request_hooks: after_request_hooks.map(unpackResult),
});

const unpackResult = (packed: PackedHookResult): HookResult => ({
  type: 'guardrail',
  id: packed.id ?? '',
  guardrail_version_id: packed.guardrail_version_id ?? null,
  verdict: packed.verdict === undefined ? true : packed.verdict,
  deny: packed.deny ?? false,
  async: packed.async ?? false,
  skipped: packed.skipped ?? false,
  transformed: packed.transformed ?? false,
  checks: (packed.checks ?? []).map((check) => unpackOutcome(check, packed.created_at ?? '')),
  feedback: packed.feedback ?? null,
  execution_time: packed.execution_time ?? 0,
  created_at: packed.created_at ?? '',
});

const unpackOutcome = (packed: Partial<CheckOutcome>, begun: string): CheckOutcome => ({
  id: packed.id ?? '',
  ...(packed.name !== undefined && { name: packed.name }),
  verdict: packed.verdict ?? true,
  data: packed.data ?? null,
  log: packed.log ?? null,
  error: packed.error ?? null,
  fail_on_error: packed.fail_on_error ?? true,
  transformed: packed.transformed ?? false,
  execution_time: packed.execution_time ?? 0,
  created_at: packed.created_at ?? begun,
});
