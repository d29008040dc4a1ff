import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { type ErrorCode, fail, GatewayError } from '../core/errors.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import { isInline } from '../http/forbidden-headers.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import type { Breakers } from '../routing/breaker.ts';
import type { Configs } from '../routing/configs.ts';
import type { Plan, TargetSettings, TargetStep } from '../routing/plan.ts';
import { selectProvider } from '../routing/select.ts';
import { runPlan } from '../routing/strategy.ts';
import { keepWhole } from './body.ts';
import type { Attempt, Attempted, OpenCall } from './call.ts';
import { refuseCostlyChecks } from './check-config.ts';
import { findTarget, targetOfChoice } from './target.ts';

export interface PlanDeps {
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly breakers: Breakers;
  readonly maxBodyBytes: number;
  readonly now: () => number;
}

/** The stages from `prepare` to `settle`, for one target. */
type AttemptOne<Deps> = (call: OpenCall, to: Attempt, deps: Deps) => Promise<Attempted>;

/** Resolves a call by a config: its plan says who is asked, in which order, and how. */
export async function followPlan<Deps extends PlanDeps>(
  call: OpenCall,
  reference: string,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const resolving = deps.configs.resolve(call.principal, reference);
  const plan = resolving instanceof Promise ? await resolving : resolving;
  const body =
    call.body?.rest && plan.needsWholeBody ? await keepWhole(call.body, deps.maxBodyBytes, call.isJson) : call.body;
  const config = isInline(reference) ? null : reference.trim();
  const whole = { ...call, body, config };
  if (call.slug === null) return walk(whole, plan, attempt, deps);
  return attempt(whole, await byRequest(whole, call.slug, plan, deps), deps);
}

/** A model that names its virtual key has chosen before any target could. */
async function byRequest(
  call: OpenCall,
  slug: string,
  { settings }: Plan,
  { virtualKeys }: PlanDeps,
): Promise<Attempt> {
  const selection = selectProvider(call, call.principal.defaults, slug);
  const target = await findTarget(selection, call.principal, call, virtualKeys);
  refuseCostly(call, settings);
  return { target, settings, path: 'config' };
}

function walk<Deps extends PlanDeps>(
  call: OpenCall,
  plan: Plan,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const { principal, request } = call;
  // Most configs have one target and no circuit breaker: nothing is to be chosen, and nothing to be remembered.
  if (plan.root.kind === 'target' && !plan.root.breaker) return step(call, plan.root, attempt, deps);
  let params: Readonly<Record<string, unknown>> | null | undefined;
  const parsed = () => {
    params ??= call.isJson && call.body && !call.body.rest ? parsedObject(call.body.head) : null;
    return params;
  };
  // Two workspaces may send the same config, and their virtual keys are not the same.
  const own = { ...plan, id: `${principal.workspaceId} ${plan.id}` };
  return runPlan(own, {
    attempt: (target) => step(call, target, attempt, deps),
    breakers: deps.breakers,
    facts: { metadata: call.log.metadata, params: parsed, pathname: `/v1${call.path}` },
    now: deps.now,
    random: Math.random,
    statusOf: (error) => (request.signal.aborted || isNoneOfTarget(error) ? null : statusOf(error)),
  });
}

async function step<Deps extends PlanDeps>(
  call: OpenCall,
  { choice, settings, path }: TargetStep,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const { principal } = call;
  refuseCostly(call, settings);
  const finding =
    choice.by === 'request'
      ? findTarget(selectProvider(call, principal.defaults, null), principal, call, deps.virtualKeys)
      : targetOfChoice(choice, principal, call, deps.virtualKeys);
  const target = finding instanceof Promise ? await finding : finding;
  return attempt(call, { target, settings, path }, deps);
}

/** A config without a slug is the caller's own. */
function refuseCostly({ config, body, headers }: OpenCall, { guardrails }: TargetSettings) {
  if (config !== null || !guardrails || !body) return;
  const bytes = body.rest ? Number(headers['content-length'] ?? body.head.byteLength) : body.head.byteLength;
  refuseCostlyChecks(guardrails, bytes);
}

/** What a call may not bring along, and a body that did not come: no other target makes up for it. */
const OF_CALLER = new Set<ErrorCode>(['forbidden_by_rule', 'body_too_slow', 'body_incomplete']);
const isNoneOfTarget = (error: unknown) => error instanceof GatewayError && OF_CALLER.has(error.code);

function statusOf(error: unknown): number | null {
  if (error instanceof GatewayError) return error.status;
  return error instanceof UpstreamFailure ? error.toGatewayError().status : null;
}

/** For conditions on what a call asks for. */
function parsedObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  const fault = shapeFault(bytes, READ_LIMITS);
  if (fault) fail('invalid_request', fault.member ?? 'body', fault.why);
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
