import { NANO_DOLLARS } from '../core/limits.ts';
import type { Usage } from '../core/usage.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import type { Admission } from '../limits/limiter.ts';
import type { AnswerCache, Lead } from '../routing/cache.ts';
import { type AskDeps, askAgain } from './asking.ts';
import { keepWhole } from './body.ts';
import { lookUp, replay } from './cached.ts';
import type { Attempt, Attempted, OpenCall } from './call.ts';
import type { Guarding } from './guarding/exchange-guard.ts';
import type { Guard } from './guarding/guard.ts';
import { finish, letThrough, openGuard, settleDenied } from './guarding/request-guard.ts';
import { mayHideModel, withKnownModel } from './known-model.ts';
import { admit, type LimitDeps, NOTHING_TAKEN, refuseExhausted, UNKNOWN_TAKEN } from './limits.ts';
import { passesAsIs, refuseUnsupported, withParams } from './prepare.ts';
import { type Ready, type ReadyDeps, type Readying, ready } from './ready.ts';
import { askForUsage } from './stream-usage.ts';

export interface AttemptDeps extends LimitDeps, AskDeps, ReadyDeps {
  readonly cache: AnswerCache;
  readonly guard: Guard;
}

/**
 * Asks one target, in this order: what the config edits; a look at the limits and then at the guardrails, where there are
 * any; the limits, which hold what the bytes that go out may take; the cache; the provider, again where the retry policy
 * says so; the guardrails of the answer.
 */
export async function attempt(
  given: OpenCall,
  { target, settings, path }: Attempt,
  deps: AttemptDeps,
): Promise<Attempted> {
  refuseUnsupported(target.provider, given.endpoint);
  const isRead = settings.params !== null || !passesAsIs(target.provider, given.endpoint);
  const whole =
    given.body?.rest && isRead
      ? { ...given, body: await keepWhole(given.body, deps.maxBodyBytes, given.isJson) }
      : given;
  const asGiven = settings.params ? withParams(whole, settings.params) : whole;
  const { log } = asGiven;
  log.provider = target.provider.name;
  log.virtualKey = target.virtualKey;
  log.prices = target.prices;
  log.usage = null;
  const edited = mayHideModel(asGiven) ? await withKnownModel(asGiven, target, deps) : asGiven;
  const opening = openGuard(edited, target, settings, deps.guard);
  const guarding = opening instanceof Promise ? await opening : opening;
  const isHeld = edited.body?.rest && guarding?.readsRequest;
  const call = isHeld ? { ...edited, body: await keepWhole(edited.body!, deps.maxBodyBytes, edited.isJson) } : edited;
  const preparing = ready(call, { target, settings, isRead, guarding }, deps);
  const asIs = preparing instanceof Promise ? await preparing : preparing;
  const judging = guarding
    ? judged(call, { target, settings, isRead, guarding, asIs }, deps)
    : { passed: call, made: asIs };
  const { passed, made } = judging instanceof Promise ? await judging : judging;
  const admitting = admit(passed, target, made.prepared, deps);
  const { countsUsage, ...admitted } = admitting instanceof Promise ? await admitting : admitting;
  let { admission } = admitted;
  let turn: Lead | null = null;
  const notes: Record<string, string> = {};
  try {
    // Not before the guardrails and the limits have let it through: files are fetched in the gateway's name.
    const supplied = made.supply ? await made.supply() : made.prepared;
    const asking = countsUsage ? askForUsage(passed, supplied, deps.maxBodyBytes) : supplied;
    const prepared = asking instanceof Promise ? await asking : asking;
    const cached = settings.cache ? await lookUp(passed, { target, settings, prepared }, deps.cache) : null;
    turn = cached?.turn ?? null;
    Object.assign(notes, admission.headers, prepared.translation?.notes);
    notes['x-gateway-last-used-option-index'] = path;
    notes['x-gateway-cache-status'] = cached?.status ?? 'DISABLED';
    notes['x-gateway-retry-attempt-count'] = '0';
    const finishing = { guarding, turn, now: deps.now, onPassed: made.onPassed };
    if (cached?.hit) {
      log.isCached = true;
      return attempted(passed, await finish(replay(cached.hit), { ...finishing, turn: null }), notes, admission);
    }
    const answered = (incoming: Incoming) => {
      const translating = prepared.translation?.answer(incoming, reportTo(log));
      return translating ? translating.then((answer) => finish(answer, finishing)) : finish(incoming, finishing);
    };
    const isJudged = guarding?.touchesAnswers === true;
    const onAdmitted = (next: Admission) => {
      admission = next;
      Object.assign(notes, next.headers);
    };
    const asked = { target, settings, prepared, admission, isJudged, answered, onAdmitted };
    const { incoming, retries } = await askAgain(passed, asked, deps);
    notes['x-gateway-retry-attempt-count'] = String(retries);
    return attempted(passed, incoming, notes, admission);
  } catch (error) {
    turn?.giveUp();
    settleDenied(error, passed, { target, admission, prices: deps.prices });
    throw error instanceof GuardrailDenied ? error.with(notes) : error;
  }
}

interface Judged {
  /** The call as its guardrails let it through. */
  readonly passed: OpenCall;
  readonly made: Ready;
}

/** Lets the guardrails look, unless a limit is used up already: what they ask of models and servers costs, too. */
async function judged(
  call: OpenCall,
  { asIs, ...readying }: Readying & { readonly guarding: Guarding; readonly asIs: Ready },
  deps: AttemptDeps,
): Promise<Judged> {
  const looking = refuseExhausted(call, readying.target, deps);
  if (looking instanceof Promise) await looking;
  const letting = letThrough(call, readying.guarding);
  const passed = letting instanceof Promise ? await letting : letting;
  return { passed, made: passed === call ? asIs : await ready(passed, readying, deps) };
}

const reportTo = (log: OpenCall['log']) => (usage: Usage) => {
  log.usage = usage;
};

/** The limits are settled with what the log has counted when the last byte has passed, or when the answer is not used. */
function attempted({ log }: OpenCall, incoming: Incoming, notes: SentHeaders, admission: Admission): Attempted {
  const { status } = incoming;
  log.onCounted = ({ usage, cost, model }) =>
    admission.settle(
      status >= 400 ? NOTHING_TAKEN : { usage, cost: cost === null ? null : Math.round(cost * NANO_DOLLARS), model },
    );
  const discard = () => {
    log.onCounted = null;
    admission.settle(status >= 400 ? NOTHING_TAKEN : UNKNOWN_TAKEN);
    incoming.cancel();
  };
  return { status, incoming, notes, discard };
}
