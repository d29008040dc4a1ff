import { fail, GatewayError } from '../core/errors.ts';
import type { Tokens } from '../core/tokens.ts';
import { applyParams } from '../routing/params.ts';
import type { TargetSettings } from '../routing/plan.ts';
import { refuseOtherModels } from './allowed-model.ts';
import { keepWhole } from './body.ts';
import type { Attempt, OpenCall, Prepared, Ready } from './call.ts';
import type { Guarding } from './guarding/exchange-guard.ts';
import { type Guard, guardingOf } from './guarding/guard.ts';
import { keptAfterVerdict } from './guarding/kept-guard.ts';
import { openKeptResponse, type ResponseKeeper } from './kept-response.ts';
import { withKnownModel } from './known-model.ts';
import type { LimitDeps } from './limits.ts';
import { prepareListing } from './model-list.ts';
import type { ModelNames } from './model-names.ts';
import { stringMember } from './receive.ts';
import { type FetchDeps, fetchMedia, MediaWanted } from './remote-media.ts';
import { passesAsIs, refuseUnsupported } from './supported.ts';
import { countedHere } from './token-count.ts';
import { type WordingDeps, worded } from './wording.ts';

export interface PrepareDeps extends LimitDeps, FetchDeps, WordingDeps {
  readonly names: ModelNames;
  readonly guard: Guard;
  readonly responses?: ResponseKeeper;
  readonly counter: Tokens;
  readonly maxBodyBytes: number;
}

/**
 * A call in the words of its target, and who judges it, in this order: what the config edits; the model, where a limit
 * depends on it and the gateway has not seen it; the guardrails; the words. Throws when the target cannot be told.
 */
export async function prepare(given: OpenCall, to: Attempt, deps: PrepareDeps): Promise<Ready> {
  if (!isInForm(given)) refuseUnsupported(to.target, given.endpoint);
  let call = edited(isRead(given, to) ? await keptWhole(given, deps) : given, to);
  if (mayHideModel(call)) call = await withKnownModel(call, to.target, deps);
  const guarding = await guardingOf(call, to, deps.guard);
  if (guarding?.readsRequest || call.principal.models) call = await keptWhole(call, deps);
  return putInWords(call, guarding, to, deps);
}

function edited(given: OpenCall, { target, settings }: Attempt): OpenCall {
  const call = settings.params ? withParams(given, settings.params) : given;
  const { log } = call;
  log.provider = target.provider.name;
  log.virtualKey = target.virtualKey;
  log.prices = target.prices;
  log.usage = null;
  log.answeredBy = null;
  return call;
}

/** In the words of its target: a call whose guardrails have been found, and once more one that they have changed. */
export async function putInWords(
  call: OpenCall,
  guarding: Guarding | null,
  to: Attempt,
  deps: PrepareDeps,
): Promise<Ready> {
  const { models } = call.principal;
  // A model that a check asks was chosen by the author of the check.
  if (models && !call.isUnguarded) refuseOtherModels(call, to, models);
  if (call.endpoint === 'createModelResponse' && isRead(call, to)) return readyToKeep(call, guarding, to, deps);
  return ready(call, guarding, to, deps);
}

/** Whether a body in Google's format stands for another endpoint. */
const isInForm = ({ form }: Pick<OpenCall, 'form'>): boolean => form !== undefined && form !== 'listModels';

/** Whether the body is read for this target. */
const isRead = ({ endpoint, form }: OpenCall, { target, settings }: Attempt): boolean =>
  settings.params !== null || isInForm({ form }) || !passesAsIs(target, endpoint);

const keptWhole = async (call: OpenCall, { maxBodyBytes }: PrepareDeps): Promise<OpenCall> =>
  call.body?.rest ? { ...call, body: await keepWhole(call.body, maxBodyBytes, call.isJson) } : call;

/** Whether a call may go to another model than the one that was seen: its body was not looked through, or cannot be. */
const mayHideModel = ({ body, addressed, log, headers, isJson }: OpenCall): boolean =>
  body !== null && addressed === null && (log.model === null || !isJson || headers['content-encoding'] !== undefined);

/** Providers without the Responses API keep no conversation; the gateway does it for them. */
async function readyToKeep(call: OpenCall, guarding: Guarding | null, to: Attempt, deps: PrepareDeps): Promise<Ready> {
  const { responses } = deps;
  if (!call.isJson || !call.body || !responses) return ready(call, guarding, to, deps);
  const kept = await openKeptResponse(call.principal, call.body.head, responses);
  const later = guarding?.judgesAnswers ? keptAfterVerdict(kept) : null;
  const made = ready({ ...call, kept: later?.kept ?? kept }, guarding, to, deps);
  return { ...made, call, ...(later && { onPassed: later.passed }) };
}

function ready(call: OpenCall, guarding: Guarding | null, to: Attempt, deps: PrepareDeps): Ready {
  if (!isInForm(call) && passesAsIs(to.target, call.endpoint)) {
    const asIs = asGiven(call);
    const prepared = call.endpoint === 'listModels' ? prepareListing(call, to.target, asIs) : asIs;
    return { call, guarding, prepared, supply: null };
  }
  if (!isInForm(call) && call.endpoint === 'countTokens' && !to.target.provider.endpoints?.countTokens)
    return { call, guarding, prepared: countedHere(call, deps.counter), supply: null };
  try {
    const prepared = worded(call, to, deps);
    const { bareCalls } = prepared;
    const { thoughts: kept } = deps;
    if (!bareCalls || !kept) return { call, guarding, prepared, supply: null };
    const supply = async () => {
      const thoughts = await kept.find(call.principal, bareCalls);
      return thoughts.size > 0 ? worded({ ...call, thoughts }, to, deps) : prepared;
    };
    return { call, guarding, prepared, supply };
  } catch (error) {
    // Some count for some of their models only.
    if (
      !isInForm(call) &&
      call.endpoint === 'countTokens' &&
      error instanceof GatewayError &&
      error.code === 'not_expressible'
    )
      return { call, guarding, prepared: countedHere(call, deps.counter), supply: null };
    if (!(error instanceof MediaWanted)) throw error;
    const { wanted, bareCalls } = error;
    const supply = async () => {
      const files = await fetchMedia(wanted, { upstream: deps.upstream, signal: call.request.signal });
      const thoughts = bareCalls.length > 0 ? await deps.thoughts?.find(call.principal, bareCalls) : undefined;
      return worded({ ...call, files, thoughts: thoughts ?? new Map() }, to, deps);
    };
    return { call, guarding, prepared: asGiven(call), supply };
  }
}

/** The call as it came. */
const asGiven = ({ path, search, body, grownBy }: OpenCall): Prepared => ({
  path,
  search,
  body,
  grownBy,
  translation: null,
});

/**
 * The call with the parameters of its config: before guardrails judge it, since the caller may have written the config.
 */
export function withParams(call: OpenCall, params: NonNullable<TargetSettings['params']>): OpenCall {
  const { body, isJson } = call;
  if (!body) return call;
  if (!isJson) fail('invalid_config', 'config.override_params', 'parameters can be set in JSON bodies only');
  const edited = { head: applyParams(body.head, params), rest: body.rest };
  const named = stringMember(edited.head, 'model');
  call.log.model = call.addressed ?? named;
  return { ...call, named, body: edited, grownBy: call.grownBy + edited.head.byteLength - body.head.byteLength };
}
