import { toIso } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { Limit, LimitOwner } from '../core/limits.ts';
import { NANO_DOLLARS } from '../core/money.ts';
import type { Charge, Refused } from './counters/counters.ts';
import type { OpenWindow } from './windows.ts';

/** A limit that a call is charged to. */
export interface LimitCharge extends Charge {
  readonly limit: Limit;
  readonly window: OpenWindow;
}

/** With how full its counter is: `used + held`. */
interface Levelled extends LimitCharge {
  readonly level: number;
}

/**
 * The error of a call that does not fit. A spent budget comes first, because waiting does not help; among rates the one
 * that starts again last, because before that no retry can pass.
 */
export function refuse(charges: readonly LimitCharge[], verdict: Refused, now: number): never {
  const refused = verdict.refused.map((index): Levelled => ({ ...charges[index]!, level: verdict.levels[index]! }));
  const budget = refused.find(({ limit }) => limit.kind === 'budget');
  if (budget) {
    const { limit, window } = budget;
    const resets = Number.isFinite(window.end) ? toIso(window.end) : null;
    return fail('budget_exhausted', ownerText(limit.owner), limit.text, whyNot(budget), resets);
  }
  const last = refused.reduce((one, other) => (other.window.end > one.window.end ? other : one));
  const { limit, window, amount, level } = last;
  const seconds = Math.max(1, Math.ceil((window.end - now) / 1_000));
  throw new GatewayError('rate_limited', [ownerText(limit.owner), limit.text, whyNot(last), toIso(window.end)], {
    'retry-after': String(seconds),
    ...(amount > limit.max && { 'x-should-retry': 'false' }),
    'x-ratelimit-limit': String(limit.max),
    'x-ratelimit-remaining': String(Math.max(0, limit.max - level)),
    'x-ratelimit-reset': String(seconds),
    ...rateHeaders(charges, verdict.levels, now),
  });
}

const OWNERS: Record<LimitOwner['kind'], string> = {
  'api-key': 'API key',
  'virtual-key': 'virtual key',
  workspace: 'workspace',
  policy: 'policy',
  'mcp-server': 'MCP server',
  member: 'own keys of',
};
export const ownerText = ({ kind, name }: LimitOwner) => `${OWNERS[kind]} "${name}"`;

function whyNot({ limit, amount, level }: Levelled): string {
  const left = limit.max - level;
  if (left <= 0) return limit.kind === 'budget' ? 'it is spent' : 'it is reached';
  const call = `this call may take ${amountText(limit, amount)}`;
  return amount > limit.max
    ? `${call}, so it never fits; allow less output with max_tokens`
    : `${amountText(limit, left)} is left beside calls that still run, and ${call}`;
}

const amountText = ({ counts }: Limit, amount: number) =>
  counts === 'cost' ? `$${Number((amount / NANO_DOLLARS).toPrecision(6))}` : `${amount} ${counts}`;

const RATES = (['requests', 'tokens'] as const).map((counts) => ({
  counts,
  limit: `x-ratelimit-limit-${counts}`,
  remaining: `x-ratelimit-remaining-${counts}`,
  reset: `x-ratelimit-reset-${counts}`,
}));

/** The tightest rate of requests and the tightest of tokens, in the headers that OpenAI's clients know. */
export function rateHeaders(
  charges: readonly LimitCharge[],
  levels: readonly number[],
  now: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const rate of RATES) {
    let tightest: LimitCharge | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < charges.length; index++) {
      const charge = charges[index]!;
      if (charge.limit.kind !== 'rate' || charge.limit.counts !== rate.counts) continue;
      const remaining = charge.max - levels[index]!;
      if (remaining >= least) continue;
      tightest = charge;
      least = remaining;
    }
    if (!tightest) continue;
    headers[rate.limit] = String(tightest.max);
    headers[rate.remaining] = String(Math.max(0, least));
    headers[rate.reset] = durationText(tightest.endsAt - now);
  }
  return headers;
}

/** As OpenAI writes it: `12ms`, `1.5s`, `6m0s`, `23h59m1s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.ceil(ms))}ms`;
  if (ms < 60_000) return `${Math.ceil(ms / 100) / 10}s`;
  return longText(Math.ceil(ms / 1_000));
}

/** Thousands of calls in the same second ask for the same text. */
let latest = { seconds: -1, text: '' };

function longText(seconds: number): string {
  if (latest.seconds === seconds) return latest.text;
  const hours = Math.floor(seconds / 3_600);
  const text = `${hours > 0 ? `${hours}h` : ''}${Math.floor((seconds % 3_600) / 60)}m${seconds % 60}s`;
  latest = { seconds, text };
  return text;
}
