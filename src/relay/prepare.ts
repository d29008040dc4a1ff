import { fail } from '../core/errors.ts';
import { passesAsIs, refuseUnsupported } from '../providers/serving.ts';
import { applyParams } from '../routing/params.ts';
import type { TargetSettings } from '../routing/plan.ts';
import { keepWhole } from './body.ts';
import type { Attempt, Edited, OpenCall } from './call.ts';
import { type Guard, guardingOf } from './guarding/guard.ts';
import { withKnownModel } from './known-model.ts';
import type { LimitDeps } from './limits.ts';
import type { ModelNames } from './model-names.ts';
import { stringMember } from './receive.ts';

export interface PrepareDeps extends LimitDeps {
  readonly names: ModelNames;
  readonly guard: Guard;
  readonly maxBodyBytes: number;
}

/**
 * A call as one target gets it, still in the client's words, and who judges it, in this order: what the config edits; the
 * model, where a limit depends on it and the gateway has not seen it; the guardrails.
 */
export async function prepare(given: OpenCall, to: Attempt, deps: PrepareDeps): Promise<Edited> {
  if (!isInForm(given)) refuseUnsupported(to.target, given.endpoint, given.tongue);
  let call = edited(isRead(given, to) ? await keptWhole(given, deps) : given, to);
  if (mayHideModel(call)) call = await withKnownModel(call, to.target, deps);
  const guarding = await guardingOf(call, to, deps.guard);
  if (guarding?.readsRequest || call.principal.models) call = await keptWhole(call, deps);
  return { call, guarding };
}

/** Whether a body in Google's format stands for another endpoint. */
export const isInForm = ({ form }: Pick<OpenCall, 'form'>): boolean => form !== undefined && form !== 'listModels';

/** Whether the body is read for this target. */
export const isRead = ({ endpoint, form, tongue }: OpenCall, { target, settings }: Attempt): boolean =>
  settings.params !== null || isInForm({ form }) || !passesAsIs(target, endpoint, tongue);

function edited(given: OpenCall, { target, settings }: Attempt): OpenCall {
  const call = settings.params ? withParams(given, settings.params) : given;
  const { log } = call;
  log.provider = target.provider.name;
  log.virtualKey = target.virtualKey;
  log.prices = target.prices;
  log.usage = null;
  log.answeredBy = null;
  log.isCached = false;
  return call;
}

const keptWhole = async (call: OpenCall, { maxBodyBytes }: PrepareDeps): Promise<OpenCall> =>
  call.body?.rest ? { ...call, body: await keepWhole(call.body, maxBodyBytes, call.isJson) } : call;

/** Whether a call may go to another model than the one that was seen: its body was not looked through, or cannot be. */
const mayHideModel = ({ body, addressed, log, headers, isJson }: OpenCall): boolean =>
  body !== null && addressed === null && (log.model === null || !isJson || headers['content-encoding'] !== undefined);

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
