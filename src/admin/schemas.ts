import * as z from 'zod';
import { charactersIn } from '../core/characters.ts';
import { FORBIDDABLE } from '../core/forbidden.ts';
import { rateLimits, usageLimits } from '../core/limits.ts';
import { MCP_TOOLS } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import { DATA_SCOPES, SCOPES } from '../core/scopes.ts';
import { slug } from '../http/resource.ts';
import { optionNames } from '../providers/registry.ts';

/** Pieces that the bodies of several admin resources share. */

/** Lengths count characters as people do, not UTF-16 units. */
const short = () => z.string().refine((text) => charactersIn(text) <= 128, 'give at most 128 characters');

/** Metadata that is added to every call of a key or workspace. */
export const callMetadata = () => z.record(short().min(1), short());

/** Guardrails that hold for every call of a key, a workspace or the organisation. */
const guardrailList = () =>
  z
    .array(slug(), { error: 'give a list of slugs or ids' })
    .max(50, 'give at most 50')
    .refine((list) => new Set(list).size === list.length, 'names a guardrail twice');
export const guardrailDefaults = () => ({
  input_guardrails: guardrailList().optional().describe('Slugs or ids of guardrails that look at every request.'),
  output_guardrails: guardrailList().optional().describe('Slugs or ids of guardrails that look at every answer.'),
});

/** What MCP clients of a key or workspace get at the address of all servers. */
export const mcpDefaults = () => ({
  mcp_tools: z
    .enum(MCP_TOOLS, { error: 'give "all", "search" or "code"' })
    .optional()
    .describe('At /mcp: the tools of all servers, or three that find, describe and call them, singly or by a program.'),
});

/**
 * Terraform knows a few of the defaults and sends those alone. The others stay then: guardrails that an operator has set
 * elsewhere must not go with a change of metadata. Everything else that is sent replaces them all.
 */
const OF_TERRAFORM: ReadonlySet<string> = new Set(['metadata', 'config_id', 'allow_config_override']);
export const keepsOtherDefaults = (defaults: object | undefined): boolean => {
  const named = Object.keys(defaults ?? {});
  return named.length > 0 && named.every((each) => OF_TERRAFORM.has(each));
};

/** A moment in the future, ISO 8601 with a zone. */
export const expiry = () =>
  z.iso
    .datetime({ offset: true, abort: true, error: 'give an ISO 8601 moment such as 2030-01-31T12:00:00Z' })
    .refine((text) => Date.parse(text) > Date.now(), 'lies in the past')
    .nullable();

export const scopes = () =>
  z
    .array(z.enum(SCOPES, { error: 'is not a scope; GET /openapi.json lists them' }))
    .refine((list) => new Set(list).size === list.length, 'names a scope twice');

/** What calls may be forbidden to bring along. */
const rule = () =>
  z.enum([...FORBIDDABLE, ...optionNames], {
    error: `is nothing that can be forbidden; give ${FORBIDDABLE.join(', ')}, or an option of a provider such as aws_region`,
  });
export const forbidden = () => ({
  forbidden: z
    .array(rule(), { error: 'give a list' })
    .refine((list) => new Set(list).size === list.length, 'names something twice')
    .nullable()
    .optional()
    .describe(
      'What calls may not bring along: inline_config, config, members of a config, options of a provider. null or [] allows everything.',
    ),
});
export const shownForbidden = () => ({
  forbidden: z.array(z.string()).nullable().describe('What calls may not bring along; null: nothing is forbidden.'),
});

/** Which models a key may call. */
const LONGEST_MODEL = 256;
const MOST_MODELS = 1_000;
const modelName = () =>
  z
    .string({ error: 'give the name of a model' })
    .min(1, 'give the name of a model')
    .max(LONGEST_MODEL, `give at most ${LONGEST_MODEL} characters`)
    .regex(/^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u, 'has spaces around it, or control characters');
export const models = () => ({
  models: z
    .array(modelName(), { error: 'give a list of names such as gpt-4o, gpt-4o* or openai/*, or null' })
    .min(1, 'give at least one name, or null for every model')
    .max(MOST_MODELS, `give at most ${MOST_MODELS} names; a star stands for any text`)
    .refine((list) => new Set(list).size === list.length, 'names a model twice')
    .nullable()
    .optional()
    .describe('The models that the key may call: names, with stars for any text. null: every model.'),
});
export const shownModels = () => ({
  models: z.array(z.string()).nullable().describe('The models that the key may call; null: every model.'),
});

/** What members of a workspace may have as keys of their own. */
const ownScope = () =>
  z.enum(DATA_SCOPES, { error: `is nothing that keys of members may do; give of ${DATA_SCOPES.join(', ')}` });
export const memberKeys = () =>
  z.strictObject({
    most: z.number().int().min(1).max(100).default(5).describe('How many keys each member may have.'),
    scopes: z
      .array(ownScope())
      .min(1, 'give at least one scope')
      .refine((list) => new Set(list).size === list.length, 'names a scope twice')
      .default([...DATA_SCOPES])
      .describe('What these keys may do, of what their member may do. All data-plane scopes, unless given.'),
    models: models().models.default(null),
    max_days: z
      .number()
      .int()
      .min(1)
      .max(3_650)
      .nullable()
      .default(null)
      .describe('A key ends so many days after it was made. null: it lasts.'),
    rate_limits: schemaOf(rateLimits).nullable().default(null).describe('For all keys of one member together.'),
    usage_limits: schemaOf(usageLimits)
      .nullable()
      .default(null)
      .describe('Budgets of each member, for all their keys together.'),
  });
export const shownMemberKeys = () =>
  schemaOf(memberKeys).nullable().describe('What members may have as keys of their own; null: none.');

/** What keys, virtual keys and workspaces may be given to use. */
export const limits = () => ({
  rate_limits: schemaOf(rateLimits).nullable().optional().describe('Fixed windows, each type and unit once.'),
  usage_limits: schemaOf(usageLimits).nullable().optional().describe('One budget or a list of them.'),
});
export const resetUsage = () => ({
  reset_usage: z.boolean().optional().describe('Starts the budgets of this owner again from 0.'),
});
export const shownLimits = () => ({
  rate_limits: schemaOf(rateLimits).nullable(),
  usage_limits: schemaOf(usageLimits).nullable(),
  usage: z
    .array(
      z.object({
        type: z.enum(['cost', 'tokens', 'requests']),
        credit_limit: z.number(),
        current_usage: z.number(),
        resets_at: z.string().nullable(),
        unpriced_calls: z
          .number()
          .optional()
          .describe(
            'Calls of unknown price that a budget with `unpriced: "allow"` let pass; they took nothing from it.',
          ),
      }),
    )
    .describe('What is spent of each budget in its current period.'),
});
