import * as z from 'zod';
import { NANO_DOLLARS } from './money.ts';
import { type Checked, schemaOf } from './schema.ts';

/**
 * What limits are, as people write them and as the limiter counts them. A rate holds in fixed windows from the unit's
 * start (UTC); a budget holds in a calendar period, in periods of n days, or for ever.
 */

const UNITS = { rps: 1_000, rpm: 60_000, rph: 3_600_000, rpd: 86_400_000, rpw: 604_800_000 } as const;
export type RateUnit = keyof typeof UNITS;

const DAY = 86_400_000;
/** The first Monday of the epoch: weeks begin on Monday, 00:00 UTC. */
const FIRST_MONDAY = 4 * DAY;

const above0 = 'give a number above 0';

export const rateLimit = () =>
  z.strictObject({
    type: z.enum(['requests', 'tokens'], { error: 'give "requests" or "tokens"' }),
    unit: z.enum(['rps', 'rpm', 'rph', 'rpd', 'rpw'], {
      error: 'give "rps", "rpm", "rph", "rpd" or "rpw" (per second, minute, hour, day, week)',
    }),
    value: z.int({ error: 'give a whole number above 0' }).min(1, above0).max(1e12),
  });
export type RateLimit = Checked<typeof rateLimit>;

export const rateLimits = () =>
  z
    .array(schemaOf(rateLimit))
    .max(20)
    .superRefine((list, context) =>
      eachTwice(
        list,
        (limit) => `${limit.type} ${limit.unit}`,
        (index, what) =>
          context.addIssue({ code: 'custom', path: [index], message: `is a second limit of ${what}; give one` }),
      ),
    );

/** Between them billionths of a dollar are whole numbers that a double holds exactly. */
const LEAST_DOLLARS = 0.0001;
const MOST_DOLLARS = 9_000_000;

/** The members of a budget beside its `type`. */
export const budgetMembers = () => ({
  credit_limit: z.number({ error: above0 }).positive(above0).max(1e12),
  alert_threshold: z.number({ error: above0 }).positive(above0).optional(),
  periodic_reset: z.enum(['weekly', 'monthly'], { error: 'give "weekly" or "monthly"' }).nullable().optional(),
  periodic_reset_days: z
    .int('give a whole number of days')
    .min(1, 'give 1 to 365')
    .max(365, 'give 1 to 365')
    .nullable()
    .optional(),
  next_usage_reset_at: z.iso
    .datetime({ offset: true, error: 'give an ISO 8601 moment such as 2030-01-31T00:00:00Z' })
    .nullable()
    .optional(),
  unpriced: z
    .enum(['refuse', 'allow'], { error: 'give "refuse" or "allow"' })
    .optional()
    .describe('Of a budget in dollars: what happens to calls whose price is not known. They are refused by default.'),
});

/** A budget as it is written. Those of keys and workspaces count cost or tokens, policies also requests. */
export interface Budget {
  readonly type: Counted;
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  readonly periodic_reset?: 'weekly' | 'monthly' | null;
  readonly periodic_reset_days?: number | null;
  readonly next_usage_reset_at?: string | null;
  readonly unpriced?: 'refuse' | 'allow';
}

/** What is wrong between the members of a budget: the member, and why. */
export function budgetFaults(budget: Budget): [member: keyof Budget, why: string][] {
  const faults: [keyof Budget, string][] = [];
  if (budget.type !== 'cost' && !Number.isInteger(budget.credit_limit))
    faults.push(['credit_limit', `give whole ${budget.type}`]);
  if (budget.type === 'cost' && !(budget.credit_limit >= LEAST_DOLLARS && budget.credit_limit <= MOST_DOLLARS))
    faults.push(['credit_limit', `give ${LEAST_DOLLARS} to ${MOST_DOLLARS} US dollars`]);
  if (budget.alert_threshold && budget.alert_threshold >= budget.credit_limit)
    faults.push(['alert_threshold', 'must be below credit_limit']);
  if (budget.periodic_reset && budget.periodic_reset_days)
    faults.push(['periodic_reset_days', 'cannot stand beside periodic_reset; give one of the two']);
  if (budget.next_usage_reset_at && !budget.periodic_reset && !budget.periodic_reset_days)
    faults.push(['next_usage_reset_at', 'needs periodic_reset or periodic_reset_days beside it']);
  if (budget.unpriced && budget.type !== 'cost') faults.push(['unpriced', 'is for budgets of the type "cost"']);
  return faults;
}

export const isPast = (moment: string | null | undefined): boolean => !!moment && Date.parse(moment) <= Date.now();

export const usageLimit = () =>
  z
    .strictObject({
      type: z
        .enum(['cost', 'tokens'], { error: 'give "cost" (US dollars) or "tokens"' })
        .default('cost')
        .describe('"cost" (US dollars) when nothing is said.'),
      ...budgetMembers(),
    })
    .superRefine((limit, context) => {
      for (const [member, message] of budgetFaults(limit))
        context.addIssue({ code: 'custom', path: [member], message });
      if (isPast(limit.next_usage_reset_at))
        context.addIssue({ code: 'custom', path: ['next_usage_reset_at'], message: 'lies in the past' });
    });
export type UsageLimit = Checked<typeof usageLimit>;

const resetOf = (limit: Budget) =>
  limit.periodic_reset ?? (limit.periodic_reset_days ? `${limit.periodic_reset_days} days` : 'never');

export const usageLimits = () =>
  z.union(
    [
      schemaOf(usageLimit),
      z
        .array(schemaOf(usageLimit))
        .max(10)
        .superRefine((list, context) =>
          eachTwice(
            list,
            (limit) => `${limit.type}, reset ${resetOf(limit)}`,
            (index, what) =>
              context.addIssue({ code: 'custom', path: [index], message: `is a second limit of ${what}; give one` }),
          ),
        ),
    ],
    { error: 'give a usage limit or a list of them' },
  );
export type UsageLimits = UsageLimit | readonly UsageLimit[];

function eachTwice<Item>(
  list: readonly Item[],
  nameOf: (item: Item) => string,
  found: (index: number, name: string) => void,
) {
  const seen = new Set<string>();
  list.forEach((item, index) => {
    const name = nameOf(item);
    if (seen.has(name)) found(index, name);
    seen.add(name);
  });
}

/** What a limit counts: calls, tokens, or billionths of a US dollar (`NANO_DOLLARS`). */
export type Counted = 'requests' | 'tokens' | 'cost';

/** When a counter starts again from 0. */
export type Period =
  | { readonly every: 'fixed'; readonly ms: number; readonly anchor: number }
  | { readonly every: 'month'; readonly anchor: number }
  | { readonly every: 'never' };

/** Whose limit it is, for counters and for the message that names it. */
export interface LimitOwner {
  readonly kind: 'api-key' | 'virtual-key' | 'workspace' | 'policy' | 'mcp-server' | 'member';
  readonly id: string;
  /** What people call it: a name or slug. */
  readonly name: string;
}

/** One limit, ready to be counted. Made when its owner is loaded, never per call. */
export interface Limit {
  /** Names the counter; the start of the window is added to it. */
  readonly counter: string;
  readonly owner: LimitOwner;
  /** A rate that is reached is 429 and passes by itself; a spent budget is 412. */
  readonly kind: 'rate' | 'budget';
  readonly counts: Counted;
  readonly max: number;
  /** In the same measure as `max`. */
  readonly alertAt: number | null;
  readonly period: Period;
  /** As people wrote it: "100 requests per minute". */
  readonly text: string;
  /** Of a budget in dollars that lets calls of unknown price pass: where these are counted. Without it they are refused. */
  readonly unpriced?: Limit;
}

const PER: Record<RateUnit, string> = { rps: 'second', rpm: 'minute', rph: 'hour', rpd: 'day', rpw: 'week' };

export function compileRateLimit(owner: LimitOwner, { type, unit, value }: RateLimit): Limit {
  return {
    counter: `${owner.kind}/${owner.id}/${type}/${unit}`,
    owner,
    kind: 'rate',
    counts: type,
    max: value,
    alertAt: null,
    period: { every: 'fixed', ms: UNITS[unit], anchor: unit === 'rpw' ? FIRST_MONDAY : 0 },
    text: `${value} ${type} per ${PER[unit]}`,
  };
}

/** `since` is where periods of n days begin when `next_usage_reset_at` does not say. */
export function compileUsageLimit(owner: LimitOwner, limit: Budget, since: number): Limit {
  const measure = limit.type === 'cost' ? NANO_DOLLARS : 1;
  const reset = resetOf(limit);
  const every = limit.periodic_reset
    ? ` per ${limit.periodic_reset === 'weekly' ? 'week' : 'month'}`
    : limit.periodic_reset_days
      ? ` per ${limit.periodic_reset_days} days`
      : '';
  const compiled: Limit = {
    counter: `${owner.kind}/${owner.id}/${limit.type}/${reset.replace(' ', '-')}`,
    owner,
    kind: 'budget',
    counts: limit.type,
    max: Math.round(limit.credit_limit * measure),
    alertAt: limit.alert_threshold ? Math.round(limit.alert_threshold * measure) : null,
    period: periodOf(limit, since),
    text: limit.type === 'cost' ? `$${limit.credit_limit}${every}` : `${limit.credit_limit} ${limit.type}${every}`,
  };
  return limit.unpriced === 'allow' ? withUnpriced(compiled) : compiled;
}

/** The limit with a counter beside it that never ends, in the same period. */
export const withUnpriced = (limit: Limit): Limit => ({
  ...limit,
  unpriced: {
    ...limit,
    counter: `${limit.counter}/unpriced`,
    counts: 'requests',
    max: Number.MAX_SAFE_INTEGER,
    alertAt: null,
    unpriced: undefined,
  },
});

/** The limits with the counters that stand beside them. */
export const withTheirUnpriced = (limits: readonly Limit[]): readonly Limit[] =>
  limits.flatMap((limit) => (limit.unpriced ? [limit, limit.unpriced] : [limit]));

function periodOf(limit: Budget, since: number): Period {
  const anchor = limit.next_usage_reset_at ? Date.parse(limit.next_usage_reset_at) : null;
  if (limit.periodic_reset === 'weekly') return { every: 'fixed', ms: 7 * DAY, anchor: anchor ?? FIRST_MONDAY };
  if (limit.periodic_reset === 'monthly') return { every: 'month', anchor: anchor ?? 0 };
  if (limit.periodic_reset_days)
    return { every: 'fixed', ms: limit.periodic_reset_days * DAY, anchor: anchor ?? since };
  return { every: 'never' };
}

/** All limits of one owner. */
export function compileLimits(
  owner: LimitOwner,
  { rate_limits, usage_limits }: { rate_limits?: readonly RateLimit[] | null; usage_limits?: UsageLimits | null },
  since: number,
): readonly Limit[] {
  const budgets = usage_limits ? ('type' in usage_limits ? [usage_limits] : usage_limits) : [];
  return [
    ...(rate_limits ?? []).map((limit) => compileRateLimit(owner, limit)),
    ...budgets.map((limit) => compileUsageLimit(owner, limit, since)),
  ];
}

/** The window a moment falls into. A limit that never starts again has no end. */
export function windowAt(period: Period, now: number): { readonly start: number; readonly end: number } {
  if (period.every === 'never') return { start: 0, end: Number.POSITIVE_INFINITY };
  if (period.every === 'fixed') {
    const start = period.anchor + Math.floor((now - period.anchor) / period.ms) * period.ms;
    return { start, end: start + period.ms };
  }
  const anchor = new Date(period.anchor);
  const today = new Date(now);
  const months = (today.getUTCFullYear() - anchor.getUTCFullYear()) * 12 + today.getUTCMonth() - anchor.getUTCMonth();
  const from = addMonths(anchor, months);
  return from <= now
    ? { start: from, end: addMonths(anchor, months + 1) }
    : { start: addMonths(anchor, months - 1), end: from };
}

/** The same day and time some months later; the last day of a shorter month. */
function addMonths(from: Date, months: number): number {
  const first = new Date(from);
  first.setUTCDate(1);
  first.setUTCMonth(first.getUTCMonth() + months);
  const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(from.getUTCDate(), days));
  return first.getTime();
}
