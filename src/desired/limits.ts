import type { RateLimit, UsageLimit, UsageLimits } from '../core/limits.ts';

export interface Limits {
  readonly rate_limits: readonly RateLimit[];
  readonly usage_limits: readonly UsageLimit[];
}

/** The limits of a row, as a file writes them. */
export function limitsIn(row: { rate_limits: string | null; usage_limits: string | null }): Limits {
  const usage: UsageLimits | null = row.usage_limits === null ? null : JSON.parse(row.usage_limits);
  return {
    rate_limits: row.rate_limits === null ? [] : JSON.parse(row.rate_limits),
    usage_limits: usage === null ? [] : Array.isArray(usage) ? usage : [usage],
  };
}

/** The fields as the repositories take them: no limits are null. */
export const withLimits = <Fields extends Limits>(fields: Fields) => ({
  ...fields,
  rate_limits: fields.rate_limits.length > 0 ? fields.rate_limits : null,
  usage_limits: fields.usage_limits.length > 0 ? [...fields.usage_limits] : null,
});
