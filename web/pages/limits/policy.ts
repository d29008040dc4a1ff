import type { RateLimitsPolicy, UsageLimitsPolicy } from '../../api/types.d.ts';
import { formatMoney, formatNumber } from '../../design/format.ts';

export type Policy = RateLimitsPolicy | UsageLimitsPolicy;
export type Condition = Policy['conditions'][number];

export const isUsage = (policy: Policy): policy is UsageLimitsPolicy => policy.object === 'policy_usage_limits';

export const nameOfPolicy = ({ name, id }: Policy): string => name ?? id.slice(0, 8);

export const UNITS = {
  rps: 'a second',
  rpm: 'a minute',
  rph: 'an hour',
  rpd: 'a day',
  rpw: 'a week',
} as const;

export const money = (type: string, value: number): string =>
  type === 'cost' ? formatMoney(value) : `${formatNumber(value)} ${type}`;

/** `$3.20 of $50.00`, `12 of 40 requests`. */
export const spentOf = (type: string, used: number, limit: number): string =>
  `${type === 'cost' ? formatMoney(used) : formatNumber(used)} of ${money(type, limit)}`;

export function periodOf({ periodic_reset, periodic_reset_days }: UsageLimitsPolicy): string {
  if (periodic_reset_days) return `every ${periodic_reset_days} days`;
  return periodic_reset === 'monthly' ? 'a month' : periodic_reset === 'weekly' ? 'a week' : 'in all';
}

export const amountOf = (policy: Policy): string =>
  isUsage(policy)
    ? `${money(policy.type, policy.credit_limit)} ${periodOf(policy)}`
    : `${formatNumber(policy.value)} ${policy.target === 'mcp_tools' ? 'tool calls' : policy.type} ${UNITS[policy.unit]}`;

/** `metadata._user` is what people call a user. */
export const keyName = (key: string): string => key.replace(/^metadata\._?/, '').replaceAll('_', ' ');

export const whoOf = ({ group_by }: Policy): string =>
  group_by.length === 0 ? 'all together' : group_by.map(({ key }) => keyName(key)).join(' and ');

export const conditionText = ({ key, value, excludes }: Condition): string => {
  const values = Array.isArray(value) ? value : [value];
  const any = values.includes('*');
  if (any) return excludes ? `${key} is missing` : `${key} is given`;
  return `${key} is ${excludes ? 'not ' : ''}${values.join(' or ')}`;
};

/** `metadata.team:search` as people read it. */
export const entityName = (valueKey: string): string =>
  valueKey
    .split(',')
    .map((part) => {
      const at = part.indexOf(':');
      const value = decodeURIComponent(part.slice(at + 1).replace(/%(?![0-9a-f]{2})/gi, '%25'));
      return value || `no ${keyName(part.slice(0, at))}`;
    })
    .join(', ');
