import * as z from 'zod';
import { type Budget, budgetMembers, isPast, type RateLimit, rateLimit } from '../../core/limits.ts';
import { type Checked, schemaOf } from '../../core/schema.ts';

/** What policies are, as people write them. */

const SHARED = ['api_key', 'workspace_id'] as const;
const OF_MODELS = ['virtual_key', 'provider', 'config', 'prompt', 'model', 'endpoint_type'] as const;
const OF_TOOLS = ['mcp_server', 'mcp_tool'] as const;
const FACTS = [...SHARED, ...OF_MODELS, ...OF_TOOLS] as const;
export type PlainFact = (typeof FACTS)[number];

/** What is limited: calls of models, or of tools of MCP servers. */
const TARGETS = ['llm', 'mcp_tools'] as const;
export type Target = (typeof TARGETS)[number];
export const METADATA = 'metadata.';

const isFact = (name: string): boolean =>
  (FACTS as readonly string[]).includes(name) || (name.startsWith(METADATA) && name.length > METADATA.length);

const factName = () =>
  z
    .string()
    .max(128 + METADATA.length)
    .refine(isFact, `is not known; give ${FACTS.join(', ')} or metadata.<name>`);

const value = () => z.string({ error: 'give a text' }).min(1, 'give at least one character').max(256);
const condition = () =>
  z
    .strictObject({
      key: factName(),
      value: z
        .union([value(), z.array(value()).min(1, 'give at least one').max(100)], {
          error: 'give a text or a list of texts',
        })
        .describe('Any of these; "*" is every value.'),
      excludes: z
        .boolean({ error: 'give true or false' })
        .optional()
        .describe('Turns the condition into its opposite.'),
    })
    .superRefine(({ key, value }, context) => {
      if (key !== 'model') return;
      for (const [index, each] of (typeof value === 'string' ? [value] : value).entries()) {
        if (!each.includes('*') || each === '*' || /^@[^/*]+\/\*$/.test(each)) continue;
        const path = typeof value === 'string' ? ['value'] : ['value', index];
        context.addIssue({ code: 'custom', path, message: 'may use "*" alone or as "@provider/*"' });
      }
    });
export type Condition = Checked<typeof condition>;

const target = () =>
  z
    .enum(TARGETS, { error: 'give "llm" or "mcp_tools"' })
    .optional()
    .describe('What is limited: calls of models, or of tools of MCP servers. It cannot be changed.');

/** What a policy asks about that calls of its target do not have: the member, and why not. */
export function targetFaults({ target = 'llm', type, conditions, group_by }: Targeted): [string, string][] {
  const foreign: readonly string[] = target === 'llm' ? OF_TOOLS : OF_MODELS;
  const why = target === 'llm' ? 'is for the target "mcp_tools"' : 'is for the target "llm"';
  const faults: [string, string][] = [];
  for (const [member, list] of Object.entries({ conditions, group_by })) {
    for (const [index, { key }] of list.entries())
      if (foreign.includes(key)) faults.push([`${member}[${index}].key`, why]);
  }
  if (target === 'mcp_tools' && type !== 'requests') faults.push(['type', 'give "requests"; tools take no tokens']);
  return faults;
}

interface Targeted {
  readonly target?: Target;
  readonly type: string;
  readonly conditions: readonly { readonly key: string }[];
  readonly group_by: readonly { readonly key: string }[];
}

const head = () => ({
  name: z.string().trim().min(1, 'give at least one character').max(255, 'give at most 255 characters').nullable(),
  description: z.string().max(500, 'give at most 500 characters').nullable(),
});
const whom = () => ({
  conditions: z
    .array(schemaOf(condition))
    .min(1, 'give at least one condition')
    .max(20)
    .describe('All of them must hold.'),
  group_by: z
    .array(z.strictObject({ key: factName() }))
    .min(1, 'give at least one key')
    .max(5)
    .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'names a key twice')
    .describe('Each combination of their values is counted by itself.'),
});
const place = () => ({
  workspace_id: z.string().min(1).optional().describe("Id or slug; the caller's own when nothing is said."),
  organisation_id: z.uuid().optional().describe('In place of workspace_id: every workspace of the organisation.'),
});

const usage = () => ({
  type: z.enum(['cost', 'tokens', 'requests'], { error: 'give "cost" (US dollars), "tokens" or "requests"' }),
  ...budgetMembers(),
  alert_threshold: budgetMembers().alert_threshold.unwrap().nullable().optional(),
  next_usage_reset_at: budgetMembers().next_usage_reset_at.refine((moment) => !isPast(moment), 'lies in the past'),
});

export const ratePolicyInput = () =>
  z.strictObject({
    name: head().name.optional(),
    description: head().description.optional(),
    ...whom(),
    ...rateLimit().shape,
    target: target(),
    ...place(),
  });
export const usagePolicyInput = () =>
  z.strictObject({
    name: head().name.optional(),
    description: head().description.optional(),
    ...whom(),
    ...usage(),
    ...place(),
  });
export const ratePolicyChange = () => ratePolicyInput().omit({ workspace_id: true, organisation_id: true }).partial();
export const usagePolicyChange = () =>
  usagePolicyInput()
    .omit({ workspace_id: true, organisation_id: true })
    .partial()
    .extend({
      reset_usage_for_value: z.string().min(1).optional().describe('The value_key of an entity that starts from 0.'),
    });

interface Whom {
  readonly conditions: readonly Condition[];
  readonly group_by: readonly { readonly key: string }[];
}
export interface RateDefinition extends Whom, RateLimit {
  readonly target: Target;
}
export interface UsageDefinition extends Whom, Budget {}

/** What a policy of each kind says. */
export interface Definitions {
  readonly rate: RateDefinition;
  readonly usage: UsageDefinition;
}
export type PolicyKind = keyof Definitions;

interface Named {
  readonly name?: string | null;
  readonly description?: string | null;
}
export type PolicyInput<Kind extends PolicyKind> = Named & {
  readonly workspace_id?: string;
  readonly organisation_id?: string;
} & Omit<Definitions[Kind], 'target'> & { readonly target?: Target };
export type PolicyChange<Kind extends PolicyKind> = Named & Partial<Definitions[Kind]>;

const shown = () => ({
  id: z.uuid(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  organisation_id: z.string(),
  workspace_id: z.string().nullable().describe('Null: the whole organisation.'),
  ...whom(),
  status: z.literal('active'),
  created_at: z.string(),
  last_updated_at: z.string(),
});
export const ratePolicy = () =>
  z
    .object({ ...shown(), object: z.literal('policy_rate_limits'), ...rateLimit().shape, target: z.enum(TARGETS) })
    .meta({ id: 'RateLimitsPolicy' });
export const usagePolicy = () =>
  z
    .object({
      ...shown(),
      object: z.literal('policy_usage_limits'),
      type: usage().type,
      credit_limit: z.number(),
      alert_threshold: z.number().nullable(),
      periodic_reset: z.enum(['weekly', 'monthly']).nullable(),
      periodic_reset_days: z.number().nullable(),
      next_usage_reset_at: z.string().nullable(),
      unpriced: usage().unpriced,
      value_key_usage_map: z
        .record(z.string(), z.object({ current_usage: z.number(), status: z.enum(['active', 'exhausted']) }))
        .optional()
        .describe('With include_usage: the first 1000 entities.'),
    })
    .meta({ id: 'UsageLimitsPolicy' });
export const policyEntity = () =>
  z
    .object({
      id: z.uuid(),
      object: z.literal('policy_entity'),
      value_key: z.string(),
      current_usage: z.number(),
      status: z.enum(['active', 'exhausted']),
      resets_at: z.string().nullable(),
      unpriced_calls: z.number().optional().describe('With `unpriced: "allow"`: calls of unknown price.'),
    })
    .meta({ id: 'PolicyEntity' });
export type PolicyEntity = Checked<typeof policyEntity>;
