import { GatewayError } from '../core/errors.ts';
import type { Limit } from '../core/limits.ts';
import { NANO_DOLLARS } from '../core/money.ts';
import type { Prices } from '../core/prices.ts';
import type { Principal } from '../core/principal.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import type { Estimate } from '../limits/ask.ts';
import { estimateTokens } from '../limits/estimate.ts';
import type { Admission, Limiter, Outcome } from '../limits/limiter.ts';
import type { Facts, Policies } from '../limits/policies/policies.ts';
import { askedUnits, longestRecording } from './asked-units.ts';
import type { OpenCall, Prepared } from './call.ts';
import type { Target } from './target.ts';

export interface LimitDeps {
  readonly limiter: Limiter;
  readonly policies: Policies;
  readonly prices: Prices;
}

/** Holds what one call of a provider may take, of all limits that it falls under, or refuses it. */
export async function admit(
  call: OpenCall,
  target: Target,
  prepared: Prepared,
  { limiter, policies, prices }: LimitDeps,
): Promise<Admission> {
  call.log.asked = askedUnits(call);
  const limits = limitsOf(call.principal, target, await policies.matching(factsOf(call, target)));
  return limiter.reserve(limits, {
    who: call.principal,
    virtualKey: target.virtualKey,
    provider: target.provider.name,
    model: call.log.model,
    estimate: () => estimateOf(call, target, prepared, prices),
  });
}

/** Refuses a call for which a limit has no room at all, and holds nothing. */
export async function refuseExhausted(call: OpenCall, target: Target, { limiter, policies }: LimitDeps): Promise<void> {
  const limits = limitsOf(call.principal, target, await policies.matching(factsOf(call, target)));
  await limiter.refuseExhausted(limits);
}

function factsOf({ principal, log, config, endpoint }: OpenCall, target: Target): Facts {
  return {
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId,
    apiKeyId: principal.keyId,
    virtualKey: target.virtualKey,
    provider: target.provider.name,
    model: log.model,
    metadata: log.metadata,
    config,
    endpointType: endpoint,
  };
}

/** Whether the model decides about this call: the key may call certain ones, or by its price, or a policy asks for it. */
export async function asksForModel(call: OpenCall, target: Target, deps: LimitDeps): Promise<boolean> {
  if (call.principal.models) return true;
  if (isFree(call)) return false;
  const isPriced = ({ counts }: Limit) => counts === 'cost';
  if (call.principal.limits.some(isPriced) || target.limits.some(isPriced)) return true;
  return deps.policies.askForModel(factsOf(call, target));
}

/** Each call of a provider is counted in all of them: a retry or another target is a request, too. */
function limitsOf(principal: Principal, target: Target, policies: readonly Limit[]): readonly Limit[] {
  if (target.limits.length + policies.length === 0) return principal.limits;
  return [...principal.limits, ...target.limits, ...policies];
}

/** What a provider took that refused the call: nothing. */
export const NOTHING_TAKEN: Outcome = {
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  cost: 0,
  model: null,
};
/** What a provider took whose answer says nothing, or broke off: the estimate, once anything was sent. */
export const UNKNOWN_TAKEN: Outcome = { usage: null, cost: null, model: null };

/** What a provider took whose answer does not go to the client: it is paid for all the same. */
export function takenBy({ log }: OpenCall, { provider, prices: own }: Target, prices: Prices): Outcome {
  const { usage, model, answeredBy, isCached } = log;
  if (usage === null || isCached) return UNKNOWN_TAKEN;
  const cost = prices.costOf(provider.name, answeredBy ?? model, usage, own);
  return { usage, cost: nanoDollars(cost), model: null };
}

/** The same where no answer came of it: what the gateway itself kept from the client was paid for. */
export const takenInVain = (error: unknown, call: OpenCall, target: Target, prices: Prices): Outcome =>
  isWithheld(error) || call.line ? takenBy(call, target, prices) : UNKNOWN_TAKEN;

const isWithheld = (error: unknown): boolean =>
  error instanceof GuardrailDenied
    ? error.hook === 'output'
    : error instanceof GatewayError && error.code === 'answer_not_json';

export const nanoDollars = (cost: number | null): number | null =>
  cost === null ? null : Math.round(cost * NANO_DOLLARS);

/** The same for a call that is made again. Null: a limit has no room for another one, and the last answer stands. */
export async function admitAgain(...given: Parameters<typeof admit>): Promise<Admission | null> {
  try {
    return await admit(...given);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

function estimateOf(call: OpenCall, target: Target, { body }: Prepared, prices: Prices): Estimate {
  const { model } = call.log;
  const tokens =
    call.expects ??
    estimateTokens({
      bytes: body?.head ?? null,
      isJson: call.isJson,
      isText: isText(call.headers['content-type']),
      hasMore: Boolean(body?.rest),
      length: body?.rest ? declaredLength(call) : null,
      model,
    });
  const units =
    call.log.asked ?? longestRecording(call, Math.max(body?.head.byteLength ?? 0, declaredLength(call) ?? 0));
  const usage = units ? { ...tokens, ...units } : tokens;
  const cost = prices.costOf(target.provider.name, model, usage, target.prices) ?? (isFree(call) ? 0 : null);
  const { inputTokens, outputTokens } = tokens;
  return { inputTokens, outputTokens, cost: cost === null ? null : Math.ceil(cost * NANO_DOLLARS) };
}

/** What no provider takes money for: reading and deleting, counting tokens, moderation, the upload of a file. */
function isFree({ request, endpoint, path }: OpenCall): boolean {
  if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'DELETE') return true;
  if (endpoint === 'countTokens' || endpoint === 'moderate' || endpoint === 'listModels') return true;
  return endpoint === 'proxy' && FREE_PATHS.test(path);
}

const FREE_PATHS = /^\/(?:v1\/)?(?:files|uploads|moderations|messages\/count_tokens)(?:\/|$)|:countTokens$/;

/** What has no type may be JSON all the same, to a provider that does not ask. */
const isText = (type: string | undefined): boolean =>
  type === undefined || /^(text\/|application\/(json|x-www-form-urlencoded|xml|x-ndjson))/i.test(type);

function declaredLength({ headers, grownBy }: OpenCall): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN);
  return Number.isFinite(length) ? length + grownBy : null;
}
