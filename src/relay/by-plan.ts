import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { type ErrorCode, fail, GatewayError } from '../core/errors.ts';
import type { GuardrailUse } from '../core/guardrails.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import { isInline } from '../http/forbidden-headers.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import type { Breakers } from '../routing/breaker.ts';
import type { Configs } from '../routing/configs.ts';
import { NO_SETTINGS, type Plan, type TargetSettings, type TargetStep } from '../routing/plan.ts';
import { runPlan, targetsOf } from '../routing/strategy.ts';
import { refuseUnlistedChecks } from './allowed-model.ts';
import { noteFailure } from './ask.ts';
import { keepWhole } from './body.ts';
import type { Attempt, Attempted, OpenCall } from './call.ts';
import { refuseCostlyChecks } from './check-config.ts';
import { type ChooseDeps, chooseTarget } from './choose.ts';
import { ownsName } from './model-names.ts';
import { withParams } from './prepare.ts';
import { findTarget, type Target, targetOfChoice } from './target.ts';

export interface PlanDeps extends ChooseDeps {
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
  const plan = await deps.configs.resolve(call.principal, reference);
  const body =
    call.body?.rest && plan.needsWholeBody ? await keepWhole(call.body, deps.maxBodyBytes, call.isJson) : call.body;
  const config = isInline(reference) ? null : reference.trim();
  const whole = { ...call, body, config };
  if (call.slug === null) return walk(whole, plan, attempt, deps);
  // A model that names its virtual key has chosen before any target could.
  const { settings } = plan;
  call.log.aims('config');
  return step(whole, { choice: { by: 'virtual-key', slug: call.slug }, settings, path: 'config' }, attempt, deps);
}

/**
 * What holds for a call that serves a tool: of the config of the request whose tool it is, the guardrails, and nothing else.
 * Those of all its targets do, since the call goes to none of them, and what one denies is not to be had by a tool.
 */
export async function settingsInService(
  call: OpenCall,
  headers: SentHeaders,
  { configs }: Pick<PlanDeps, 'configs'>,
): Promise<TargetSettings> {
  const { principal } = call;
  const reference = headerOf(headers, 'x-gateway-config') ?? principal.defaults.config;
  if (!reference) return NO_SETTINGS;
  const { root } = await configs.resolve(principal, reference);
  const uses = targetsOf(root).flatMap(({ settings }) => settings.guardrails ?? []);
  if (uses.length === 0) return NO_SETTINGS;
  const guardrails = { input: uses.flatMap(({ input }) => input), output: uses.flatMap(({ output }) => output) };
  if (isInline(reference)) refuseWritten(call, guardrails);
  return { ...NO_SETTINGS, guardrails };
}

function walk<Deps extends PlanDeps>(
  call: OpenCall,
  plan: Plan,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const { principal, request, log } = call;
  const { model } = log;
  // Most configs have one target and no circuit breaker: nothing is to be chosen, and nothing to be remembered.
  if (plan.root.kind === 'target' && !plan.root.breaker) {
    log.aims(plan.root.path);
    return step(call, plan.root, attempt, deps);
  }
  let params: Readonly<Record<string, unknown>> | null | undefined;
  const parsed = () => {
    params ??= call.isJson && call.body && !call.body.rest ? parsedObject(call.body.head) : null;
    return params;
  };
  // Two workspaces may send the same config, and their virtual keys are not the same.
  const own = { ...plan, id: `${principal.workspaceId} ${plan.id}` };
  return runPlan(own, {
    attempt: (target) => {
      log.aims(target.path);
      // A target before may have set another one.
      log.model = model;
      return step(call, target, attempt, deps);
    },
    onFailure: (error) => noteFailure(log, error),
    onPassedOver: ({ path, choice }) =>
      log.passesOver(
        path,
        'circuit_open',
        choice.by === 'virtual-key' ? choice.slug : null,
        choice.by === 'provider' ? choice.name : null,
      ),
    breakers: deps.breakers,
    facts: { metadata: log.metadata, params: parsed, pathname: `/v1${call.path}` },
    now: deps.now,
    random: Math.random,
    statusOf: (error) => (request.signal.aborted || isNoneOfTarget(error) ? null : statusOf(error)),
  });
}

async function step<Deps extends PlanDeps>(
  call: OpenCall,
  given: Pick<TargetStep, 'choice' | 'settings' | 'path'>,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const { choice, path } = given;
  if (call.config === null && given.settings.guardrails) refuseWritten(call, given.settings.guardrails);
  if (choice.by === 'request') return byRequest(call, given, attempt, deps);
  const target = await targetOfChoice(choice, call.principal, call, deps.virtualKeys);
  return attempt(call, { target, settings: plainIn(given.settings, target), path }, deps);
}

/** Whom the request asks, once the config has set its parameters: one of them may be the model. */
async function byRequest<Deps extends PlanDeps>(
  given: OpenCall,
  { settings, path }: Pick<TargetStep, 'settings' | 'path'>,
  attempt: AttemptOne<Deps>,
  deps: Deps,
): Promise<Attempted> {
  const edited = settings.params ? withParams(given, settings.params) : given;
  // What stands in a stored config was written by those who may.
  const where = given.config === null ? `${path}.override_params.model` : null;
  const { call, route } = await chooseTarget(edited, where, deps);
  const target = await findTarget(route, call.principal, call, deps.virtualKeys);
  return attempt(call, { target, settings: { ...settings, params: null }, path }, deps);
}

/** `override_params.model: "@slug/name"` at the virtual key of that slug: its provider gets the name. */
function plainIn(settings: TargetSettings, { virtualKey, provider }: Target): TargetSettings {
  const slugged = settings.params?.slugged;
  if (!slugged || slugged.slug !== virtualKey || ownsName(provider.name, slugged.model)) return settings;
  return { ...settings, params: slugged.plain };
}

/** A config without a slug is the caller's own, and so are the checks in it. */
function refuseWritten({ principal, body, headers }: OpenCall, guardrails: GuardrailUse) {
  if (principal.models) refuseUnlistedChecks(guardrails, principal.models);
  if (!body) return;
  const bytes = body.rest ? Number(headers['content-length'] ?? body.head.byteLength) : body.head.byteLength;
  refuseCostlyChecks(guardrails, bytes);
}

/** What a call may not bring along, and a body that did not come: no other target makes up for it. */
const OF_CALLER = new Set<ErrorCode>(['forbidden_by_rule', 'model_not_allowed', 'body_too_slow', 'body_incomplete']);
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
