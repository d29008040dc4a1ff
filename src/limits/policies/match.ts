import { BoundedMap } from '../../core/bounded-map.ts';
import { compileRateLimit, compileUsageLimit, type Limit, withUnpriced } from '../../core/limits.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { PolicyRow } from '../../storage/schema.ts';
import {
  type Condition,
  type Definitions,
  METADATA,
  type PlainFact,
  type RateDefinition,
  type Target,
  type UsageDefinition,
} from './schema.ts';

/** What policies may ask about a call. Null: the call has no such thing. */
export interface Facts {
  /** Left out: a model is called. */
  readonly target?: Target;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly apiKeyId: string;
  readonly virtualKey: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly config: string | null;
  readonly endpointType: string | null;
  readonly mcpServer?: string | null;
  readonly mcpTool?: string | null;
}

type Ask = (facts: Facts) => string | null;
type Test = (facts: Facts) => boolean;

const ASKS: Record<PlainFact, Ask> = {
  api_key: (facts) => facts.apiKeyId,
  workspace_id: (facts) => facts.workspaceId,
  virtual_key: (facts) => facts.virtualKey,
  provider: (facts) => facts.provider,
  config: (facts) => facts.config,
  // No call of this version uses a stored prompt.
  prompt: () => null,
  model: (facts) => facts.model,
  endpoint_type: (facts) => facts.endpointType,
  mcp_server: (facts) => facts.mcpServer ?? null,
  mcp_tool: (facts) => facts.mcpTool ?? null,
};

function askFor(key: string): Ask {
  if (!key.startsWith(METADATA)) return ASKS[key as PlainFact];
  const name = key.slice(METADATA.length);
  return ({ metadata }) => (metadata && Object.hasOwn(metadata, name) ? metadata[name]! : null);
}

/** `slugs` are workspaces by slug: conditions may name a workspace either way. */
function testOf({ key, value, excludes = false }: Condition, slugs: ReadonlyMap<string, string>): Test {
  const given = typeof value === 'string' ? [value] : value;
  const ask = askFor(key);
  const holds = given.includes('*')
    ? (facts: Facts) => ask(facts) !== null
    : key === 'model'
      ? modelTest(given)
      : oneOf(ask, key === 'workspace_id' ? given.map((each) => slugs.get(each) ?? each) : given);
  return excludes ? (facts) => !holds(facts) : holds;
}

function oneOf(ask: Ask, values: readonly string[]): Test {
  const wanted = new Set(values);
  return (facts) => {
    const found = ask(facts);
    return found !== null && wanted.has(found);
  };
}

/** `gpt-4o`, `@openai/gpt-4o` or `@openai/*`, where what follows the @ is a provider or a virtual key. */
function modelTest(values: readonly string[]): Test {
  const wanted = new Set(values);
  const isPlain = values.every((each) => !each.startsWith('@'));
  const under = (slug: string | null, model: string | null) =>
    slug !== null && (wanted.has(`@${slug}/*`) || (model !== null && wanted.has(`@${slug}/${model}`)));
  return ({ model, virtualKey, provider }) =>
    (model !== null && wanted.has(model)) || (!isPlain && (under(virtualKey, model) || under(provider, model)));
}

/** Above this a value is counted under its hash: clients choose metadata and model names. */
const LONGEST_VALUE = 128;

const shortened = (value: string): string => (value.length > LONGEST_VALUE ? `sha256:${sha256(value)}` : value);

interface GroupedFact {
  readonly key: string;
  readonly ask: Ask;
}

/** Tells groups apart in memory, for every call: lengths keep `a` and `b` from being taken for `ab` and nothing. */
function groupOf(group: readonly GroupedFact[], facts: Facts): string {
  if (group.length === 1) return shortened(group[0]!.ask(facts) ?? '');
  let text = '';
  for (const { ask } of group) {
    const value = shortened(ask(facts) ?? '');
    text += `${value.length}:${value}`;
  }
  return text;
}

/** A value as people see it: it cannot be taken for two values, and any store can hold it. */
const written = (value: string): string =>
  value.replace(/[%,\p{Cc}]/gu, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** `metadata.team:search,model:gpt-4o`; what a call does not have is empty. */
const valueKeyOf = (group: readonly GroupedFact[], facts: Facts): string =>
  group.map(({ key, ask }) => `${key}:${written(shortened(ask(facts) ?? ''))}`).join(',');

/** Budgets are for models. */
const targetIn = (row: PolicyRow): Target =>
  row.kind === 'rate' ? (JSON.parse(row.definition) as RateDefinition).target : 'llm';

export const definitionIn = <Kind extends keyof Definitions>(row: PolicyRow & { kind: Kind }): Definitions[Kind] =>
  JSON.parse(row.definition);

/** The limit of a policy, before it is known which group of callers it counts. */
export function limitIn(row: PolicyRow): Limit {
  const owner = { kind: 'policy', id: row.id, name: row.name ?? row.id } as const;
  const definition = JSON.parse(row.definition);
  return row.kind === 'rate'
    ? compileRateLimit(owner, definition as RateDefinition)
    : compileUsageLimit(owner, definition as UsageDefinition, row.created_at);
}

export function limitOfGroup({ unpriced, ...limit }: Limit, valueKey: string): Limit {
  const ofGroup = {
    ...limit,
    counter: `${limit.counter}/${valueKey}`,
    text: `${limit.text} for ${valueKey}`,
  };
  return unpriced ? withUnpriced(ofGroup) : ofGroup;
}

/** Groups whose limit is kept ready; the bound is for clients that invent values. */
const MOST_GROUPS = 10_000;

interface CompiledPolicy {
  readonly target: Target;
  readonly workspaceId: string | null;
  /** Whether it depends on the call's model whether it concerns the call, or what it counts. */
  asksForModel(facts: Facts): boolean;
  /** Null when the policy does not concern the call. */
  limitFor(facts: Facts): Limit | null;
}

/** `onGroup` hears of every group that a usage policy meets, more than once. */
export type OnGroup = (policyId: string, valueKey: string) => void;

function compile(row: PolicyRow, slugs: ReadonlyMap<string, string>, onGroup: OnGroup): CompiledPolicy {
  const { conditions, group_by } = definitionIn(row);
  const tests = conditions.map((condition) => testOf(condition, slugs));
  const group = group_by.map(({ key }) => ({ key, ask: askFor(key) }));
  const limit = limitIn(row);
  const others = conditions.filter(({ key }) => key !== 'model').map((condition) => testOf(condition, slugs));
  const isByModel =
    others.length < conditions.length || group_by.some(({ key }) => key === 'model') || limit.counts === 'cost';
  const groups = new BoundedMap<string, Limit>(MOST_GROUPS);
  return {
    target: targetIn(row),
    workspaceId: row.workspace_id,
    asksForModel: (facts) => isByModel && others.every((test) => test(facts)),
    limitFor: (facts) => {
      for (const test of tests) if (!test(facts)) return null;
      const key = groupOf(group, facts);
      let found = groups.get(key);
      if (!found) {
        const valueKey = valueKeyOf(group, facts);
        found = limitOfGroup(limit, valueKey);
        groups.set(key, found);
        if (row.kind === 'usage') onGroup(row.id, valueKey);
      }
      return found;
    },
  };
}

/** All policies of one organisation, ready to be asked. */
export interface PolicySet {
  matching(facts: Facts): readonly Limit[];
  /** Whether the call's model decides for some policy; the model itself is not looked at. */
  askForModel(facts: Facts): boolean;
  /** Whether some policy counts such calls in that workspace. */
  counts(workspaceId: string, target: Target): boolean;
}

const NONE: readonly Limit[] = [];

export function compilePolicies(
  rows: readonly PolicyRow[],
  slugs: ReadonlyMap<string, string>,
  onGroup: OnGroup,
): PolicySet {
  const policies = rows.map((row) => compile(row, slugs, onGroup));
  const everywhere = policies.filter(({ workspaceId }) => workspaceId === null);
  const byWorkspace = new Map<string, CompiledPolicy[]>();
  for (const policy of policies) {
    const { workspaceId } = policy;
    if (workspaceId === null) continue;
    const own = byWorkspace.get(workspaceId) ?? [...everywhere];
    own.push(policy);
    byWorkspace.set(workspaceId, own);
  }
  return {
    counts: (workspaceId, target) =>
      (byWorkspace.get(workspaceId) ?? everywhere).some((policy) => policy.target === target),
    askForModel: (facts) =>
      (byWorkspace.get(facts.workspaceId) ?? everywhere).some(
        (policy) => policy.target === (facts.target ?? 'llm') && policy.asksForModel(facts),
      ),
    matching: (facts) => {
      const asked = byWorkspace.get(facts.workspaceId) ?? everywhere;
      if (asked.length === 0) return NONE;
      const { target = 'llm' } = facts;
      const found: Limit[] = [];
      for (const policy of asked) {
        if (policy.target !== target) continue;
        const limit = policy.limitFor(facts);
        if (limit) found.push(limit);
      }
      return found;
    },
  };
}
