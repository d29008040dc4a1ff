import * as z from 'zod';
import { DEFAULT_WORKSPACE } from '../../auth/workspaces.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';
import { type PolicyKind, ratePolicyInput, usagePolicyInput } from '../../limits/policies/schema.ts';
import type { PolicyWish } from '../desired.ts';
import { checked, type Findings } from '../reading/findings.ts';
import type { Path, Source } from '../reading/source.ts';

const entries = z.array(z.unknown(), { error: 'give a list' }).nullable().optional();
const section = z.strictObject({ rate_limits: entries, usage_limits: entries }).nullable();

/** By its name a policy is known again, so that it needs one here. */
const place = {
  name: nameOf(),
  workspace: slugOf().optional(),
  organisation: z.literal(true, { error: 'give true, or leave it out' }).optional(),
};
const omitted = { workspace_id: true, organisation_id: true } as const;
const schemas = {
  rate: ratePolicyInput().omit(omitted).extend(place),
  usage: usagePolicyInput().omit(omitted).extend(place),
};

/** What a policy says of what the file leaves out. */
const DEFAULTS = {
  rate: { description: null, target: 'llm' },
  usage: {
    description: null,
    alert_threshold: null,
    periodic_reset: null,
    periodic_reset_days: null,
    next_usage_reset_at: null,
  },
} as const;

export function readPolicies(value: unknown, source: Source, findings: Findings): PolicyWish[] {
  const path = ['policies'];
  const found = checked(section, value ?? null, { source, path, findings });
  const read = (policy: PolicyKind, member: 'rate_limits' | 'usage_limits') =>
    (found?.[member] ?? []).flatMap(
      (each, index) => readPolicy(policy, each, [...path, member, index], source, findings) ?? [],
    );
  return [...read('rate', 'rate_limits'), ...read('usage', 'usage_limits')];
}

function readPolicy(
  policy: PolicyKind,
  value: unknown,
  path: Path,
  source: Source,
  findings: Findings,
): PolicyWish | null {
  const entry = checked(schemas[policy], value, { source, path, findings });
  if (entry === null) return null;
  const { workspace, organisation, ...fields } = entry;
  if (workspace !== undefined && organisation) {
    findings.fault(source.placeOf([...path, 'organisation']), 'organisation cannot stand beside workspace; give one');
    return null;
  }
  const where = organisation ? null : (workspace ?? DEFAULT_WORKSPACE);
  return {
    place: source.placeOf(path),
    ref: `${policy}/${where ?? '*'}/${entry.name}`,
    policy,
    workspace: where,
    fields: { ...DEFAULTS[policy], ...fields },
  };
}
