import * as z from 'zod';
import { type ClaimRule, type Claims, claimFault } from '../../auth/token-claims.ts';
import type { GuardrailUse } from '../../core/guardrails.ts';
import { compileRateLimit, type Limit, rateLimit } from '../../core/limits.ts';
import type { Checked } from '../../core/schema.ts';
import { folded, foldedUri, matcherOf } from '../message/names.ts';
import { claimRule } from './claim-rule.ts';

/** The members of a server's configurations that say who may use what of it, and how often. */

const requirement = () =>
  z
    .strictObject({
      required_claims: z.array(z.string().min(1).max(256)).min(1).max(100).optional(),
      claim_values: z.record(z.string().min(1).max(256), claimRule()).optional(),
    })
    .refine(
      ({ required_claims, claim_values }) =>
        required_claims !== undefined || Object.keys(claim_values ?? {}).length > 0,
      'says nothing; give required_claims or claim_values',
    );
const MOST_RULES = 500;
const authorization = () =>
  z
    .record(z.string().min(1).max(2_048), requirement())
    .refine((rules) => Object.keys(rules).length <= MOST_RULES, `give at most ${MOST_RULES} names`);

const guardrails = () =>
  z.array(z.string().min(1).max(255), { error: 'give a list of slugs or ids of guardrails' }).max(50);

const limits = () =>
  z
    .array(
      rateLimit().extend({
        type: z.literal('requests', { error: 'give "requests"; calls of tools have no tokens' }),
        tool: z.string().min(1).max(256).optional(),
      }),
      { error: 'give a list of rate limits' },
    )
    .max(100)
    .superRefine((list, context) => {
      const seen = new Set<string>();
      for (const [index, { unit, tool }] of list.entries()) {
        const key = JSON.stringify([unit, tool]);
        if (seen.has(key)) context.addIssue({ code: 'custom', path: [index], message: `is a second limit of ${unit}` });
        seen.add(key);
      }
    });

export const policyMembers = () => ({
  tool_authorization: authorization().optional(),
  prompt_authorization: authorization().optional(),
  resource_authorization: authorization().optional(),
  tool_pinning: z
    .strictObject({
      mode: z.enum(['flag', 'block'], { error: 'give "flag" or "block"' }),
      first_seen: z.enum(['trusted', 'pending'], { error: 'give "trusted" or "pending"' }).optional(),
    })
    .optional(),
  input_guardrails: guardrails().optional(),
  output_guardrails: guardrails().optional(),
  rate_limits: limits().optional(),
  log_bodies: z.boolean({ error: 'give true or false' }).optional(),
});
type PolicyMembers = z.infer<z.ZodObject<ReturnType<typeof policyMembers>>>;

/** Who may use a thing of that name. All rules whose pattern fits must hold. */
export type Allows = (name: string, caller: { readonly claims: Claims }) => boolean;

export interface Pinning {
  /** What has changed is flagged, or blocked until a manager approves it. */
  readonly mode: 'flag' | 'block';
  /** Whether a definition that was never seen before is taken for good. */
  readonly trustsFirst: boolean;
}

export interface ServerPolicy {
  /** Null: every caller may use everything. */
  readonly allows: Readonly<Record<'tool' | 'prompt' | 'resource', Allows | null>>;
  readonly pinning: Pinning | null;
  readonly guardrails: GuardrailUse | null;
  /** Null: of all calls together. */
  readonly limits: readonly { readonly limit: Limit; readonly tool: string | null }[];
}

export function policyOf(given: PolicyMembers, { id, slug }: { id: string; slug: string }): ServerPolicy {
  const { tool_pinning: pinning, input_guardrails: input = [], output_guardrails: output = [] } = given;
  return {
    allows: {
      tool: allowsBy(given.tool_authorization),
      prompt: allowsBy(given.prompt_authorization),
      resource: allowsBy(given.resource_authorization, foldedUri),
    },
    pinning: pinning ? { mode: pinning.mode, trustsFirst: pinning.first_seen !== 'pending' } : null,
    guardrails: input.length + output.length > 0 ? { input, output } : null,
    limits: (given.rate_limits ?? []).map(({ tool = null, ...limit }) => ({
      limit: limitOf({ id, slug }, tool, compileRateLimit({ kind: 'mcp-server', id, name: slug }, limit)),
      tool,
    })),
  };
}

const limitOf = ({ slug }: { id: string; slug: string }, tool: string | null, limit: Limit): Limit =>
  tool === null
    ? limit
    : {
        ...limit,
        counter: `${limit.counter}/${tool}`,
        owner: { ...limit.owner, name: `${slug}, tool ${tool}` },
      };

type Rules = Checked<typeof authorization>;

function allowsBy(rules: Rules | undefined, fold = folded): Allows | null {
  if (!rules || Object.keys(rules).length === 0) return null;
  const compiled = Object.entries(rules).map(([pattern, { required_claims, claim_values }]) => ({
    fits: matcherOf(pattern),
    fitsFolded: matcherOf(fold(pattern)),
    rule: { requiredClaims: required_claims, claimValues: claim_values as Readonly<Record<string, ClaimRule>> },
  }));
  return (name, { claims }) => {
    const plain = fold(name);
    return compiled.every(
      ({ fits, fitsFolded, rule }) => !(fits(name) || fitsFolded(plain)) || claimFault(rule, claims, {}) === null,
    );
  };
}
