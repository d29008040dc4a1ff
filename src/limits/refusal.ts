import { toIso } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { type Limit, type LimitOwner, NANO_DOLLARS } from '../core/limits.ts';
import type { OpenWindow } from './windows.ts';

/** One limit of a call, with how full its counter is. */
export interface Levelled {
  readonly limit: Limit;
  readonly window: OpenWindow;
  /** What the call may take. */
  readonly amount: number;
  /** `used + held`. */
  readonly level: number;
}

/**
 * The error of a call that does not fit. A spent budget comes first, because waiting does not help; among rates the one
 * that starts again last, because before that no retry can pass.
 */
export function refuse(refused: readonly Levelled[], all: readonly Levelled[], now: number): never {
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
    ...rateHeaders(all, now),
  });
}

const OWNERS: Record<LimitOwner['kind'], string> = {
  'api-key': 'API key',
  'virtual-key': 'virtual key',
  workspace: 'workspace',
  policy: 'policy',
  'mcp-server': 'MCP server',
};
const ownerText = ({ kind, name }: LimitOwner) => `${OWNERS[kind]} "${name}"`;

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

/** The tightest rate of requests and the tightest of tokens, in the headers that OpenAI's clients know. */
export function rateHeaders(all: readonly Levelled[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const counts of ['requests', 'tokens'] as const) {
    let tightest: Levelled | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const one of all) {
      if (one.limit.kind !== 'rate' || one.limit.counts !== counts) continue;
      const remaining = one.limit.max - one.level;
      if (remaining >= least) continue;
      tightest = one;
      least = remaining;
    }
    if (!tightest) continue;
    headers[`x-ratelimit-limit-${counts}`] = String(tightest.limit.max);
    headers[`x-ratelimit-remaining-${counts}`] = String(Math.max(0, least));
    headers[`x-ratelimit-reset-${counts}`] = durationText(tightest.window.end - now);
  }
  return headers;
}

/** As OpenAI writes it: `12ms`, `1.5s`, `6m0s`, `23h59m1s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.ceil(ms))}ms`;
  if (ms < 60_000) return `${Math.ceil(ms / 100) / 10}s`;
  const seconds = Math.ceil(ms / 1_000);
  const hours = Math.floor(seconds / 3_600);
  return `${hours > 0 ? `${hours}h` : ''}${Math.floor((seconds % 3_600) / 60)}m${seconds % 60}s`;
}
