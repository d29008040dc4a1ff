import { fail } from '../../core/errors.ts';
import { budgetFaults } from '../../core/limits.ts';
import type { PolicyRow } from '../../storage/schema.ts';
import { type Definitions, type PolicyEntity, type PolicyKind, targetFaults, type UsageDefinition } from './schema.ts';

export type Policy<Kind extends PolicyKind> = Definitions[Kind] & {
  readonly id: string;
  readonly object: Kind extends 'rate' ? 'policy_rate_limits' : 'policy_usage_limits';
  readonly name: string | null;
  readonly description: string | null;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly status: 'active';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly value_key_usage_map?: Readonly<Record<string, { current_usage: number; status: PolicyEntity['status'] }>>;
};

export const shown = <Kind extends PolicyKind>(row: PolicyRow): Policy<Kind> =>
  ({
    id: row.id,
    object: row.kind === 'rate' ? 'policy_rate_limits' : 'policy_usage_limits',
    name: row.name,
    description: row.description,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    ...JSON.parse(row.definition),
    status: 'active',
    created_at: new Date(row.created_at).toISOString(),
    last_updated_at: new Date(row.updated_at).toISOString(),
  }) as Policy<Kind>;

const EMPTY = {
  rate: { target: 'llm' },
  usage: { alert_threshold: null, periodic_reset: null, periodic_reset_days: null, next_usage_reset_at: null },
} as const;
const MEMBERS: Record<PolicyKind, readonly string[]> = {
  rate: ['conditions', 'group_by', 'type', 'unit', 'value', 'target'],
  usage: [
    'conditions',
    'group_by',
    'type',
    'credit_limit',
    'alert_threshold',
    'periodic_reset',
    'periodic_reset_days',
    'next_usage_reset_at',
    'unpriced',
  ],
};

/** What a policy says after a change: what the change does not name stays. */
export function definitionAfter<Kind extends PolicyKind>(kind: Kind, input: object, old: object = EMPTY[kind]) {
  const given = Object.entries(input).filter(([name, value]) => value !== undefined && MEMBERS[kind].includes(name));
  const definition = { ...old, ...Object.fromEntries(given) } as Definitions[Kind];
  const isOther = 'target' in old && 'target' in definition && old.target !== definition.target;
  if (isOther && old !== EMPTY[kind]) fail('invalid_request', 'target', 'cannot be changed; make another policy');
  const budgets = kind === 'usage' ? budgetFaults(definition as UsageDefinition) : [];
  const faults: [string, string][] = [...budgets, ...targetFaults(definition)];
  const [fault] = faults;
  if (fault) fail('invalid_request', ...fault);
  return definition;
}
