import { type Limit, NANO_DOLLARS } from '../core/limits.ts';
import type { Prices } from '../core/prices.ts';
import { estimateTokens } from '../limits/estimate.ts';
import type { Admission, Estimate, Limiter } from '../limits/limiter.ts';
import type { Policies } from '../limits/policies.ts';
import type { Prepared } from './prepare.ts';
import type { OpenCall } from './relay.ts';
import type { Target } from './target.ts';

export interface LimitDeps {
  readonly limiter: Limiter;
  readonly policies: Policies;
  readonly prices: Prices;
}

export interface Admitted {
  readonly admission: Admission;
  /** Whether tokens or money are counted, so that the answer's usage must be known. */
  readonly countsUsage: boolean;
}

/** Holds what the call may take, of all limits that it falls under, or refuses it. At once where nothing is looked up. */
export function admit(
  call: OpenCall,
  target: Target,
  prepared: Prepared,
  deps: LimitDeps,
): Admitted | Promise<Admitted> {
  const { principal, log } = call;
  const matching = deps.policies.matching({
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId,
    apiKeyId: principal.keyId,
    virtualKey: target.virtualKey,
    provider: target.provider.name,
    model: log.model,
    metadata: log.metadata,
    config: call.config,
    endpointType: call.endpoint,
  });
  const reserve = (policies: readonly Limit[]) => hold(call, target, prepared, policies, deps);
  return matching instanceof Promise ? matching.then(reserve) : reserve(matching);
}

function hold(
  call: OpenCall,
  target: Target,
  prepared: Prepared,
  policies: readonly Limit[],
  { limiter, prices }: LimitDeps,
): Admitted | Promise<Admitted> {
  const limits = limitsOf(call, target, policies);
  const countsUsage = limits.some(({ counts }) => counts !== 'requests');
  const { model } = call.log;
  const held = limiter.reserve(limits, {
    who: call.principal,
    virtualKey: target.virtualKey,
    provider: target.provider.name,
    model,
    estimate: () => estimateOf(call, target, prepared, prices),
  });
  const admitted = (admission: Admission): Admitted => {
    for (const { counter } of limits) call.counted.push(counter);
    return { admission, countsUsage };
  };
  return held instanceof Promise ? held.then(admitted) : admitted(held);
}

const NONE: readonly Limit[] = [];

/** A second target of the same call is not a second request; what it may take is held again. */
function limitsOf({ principal, counted }: OpenCall, target: Target, policies: readonly Limit[]): readonly Limit[] {
  if (principal.limits.length + target.limits.length + policies.length === 0) return NONE;
  const all =
    target.limits.length + policies.length === 0
      ? principal.limits
      : [...principal.limits, ...target.limits, ...policies];
  return counted.length === 0
    ? all
    : all.filter(({ counts, counter }) => counts !== 'requests' || !counted.includes(counter));
}

function estimateOf(call: OpenCall, target: Target, { body }: Prepared, prices: Prices): Estimate {
  const { model } = call.log;
  const tokens = estimateTokens({
    bytes: body?.head ?? null,
    isJson: call.isJson,
    hasMore: Boolean(body?.rest),
    model,
  });
  const cost = prices.costOf(target.provider.name, model, tokens, target.prices);
  const { inputTokens, outputTokens } = tokens;
  return { inputTokens, outputTokens, cost: cost === null ? null : Math.ceil(cost * NANO_DOLLARS) };
}
