import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { GatewayError } from '../core/errors.ts';
import { GuardrailDenied } from '../guardrails/verdict.ts';
import { withHeaders } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import type { Admission } from '../limits/limiter.ts';
import type { AnswerCache } from '../routing/cache.ts';
import { NO_SETTINGS } from '../routing/plan.ts';
import { type AskDeps, ask } from './ask.ts';
import { keepUpTo } from './body.ts';
import { followPlan, type PlanDeps, settingsInService } from './by-plan.ts';
import { type Cached, keeping, lookUp, replay } from './cached.ts';
import type { Attempt, Attempted, Exchange, ModelCall, OpenCall, Ready, Report } from './call.ts';
import { type ChooseDeps, choose } from './choose.ts';
import { judgeAnswer } from './guarding/answer-guard.ts';
import type { Guarding } from './guarding/exchange-guard.ts';
import type { Passed } from './guarding/guarded.ts';
import { choiceIn } from './hosted/choice.ts';
import type { Compaction } from './hosted/compaction.ts';
import type { Hosted } from './hosted/hosted.ts';
import { admit, NOTHING_TAKEN, nanoDollars, refuseExhausted, takenBy, takenInVain } from './limits.ts';
import { type PrepareDeps, prepare } from './prepare.ts';
import { modelMember, receive } from './receive.ts';
import { respond } from './respond.ts';
import { askForUsage } from './stream-usage.ts';
import { tapped } from './tapped.ts';
import { findTarget } from './target.ts';
import { putInWords, type WordingDeps } from './wording.ts';

export interface RelayDeps extends ChooseDeps, PlanDeps, PrepareDeps, WordingDeps, AskDeps {
  readonly virtualKeys: VirtualKeys;
  readonly cache: AnswerCache;
  /** Tools that the gateway runs itself. */
  readonly hosted: Pick<Hosted, 'answer' | 'answerPlain' | 'standIn' | 'standingBy'>;
  readonly compaction: Compaction;
}

/**
 * The life of one model call. Each stage is one function with one result, and takes what the stage before it gives:
 *
 *     receive → resolve → prepare → word → judge → admit → ask → answer → settle → respond
 *
 * The log entry closes on the last byte.
 */
export async function relay(call: ModelCall, deps: RelayDeps): Promise<Response> {
  const arrived = await receive(call, deps.maxBodyBytes);
  if (call.endpoint !== RESPONSES) {
    if (!PLAIN.has(call.endpoint) || call.isRound) return relayed(arrived, deps);
    // A long body is passed on while it comes, unless the caller says that it has tools for the gateway: they stand behind what was said.
    const plain = arrived.body?.rest && choiceIn(arrived.headers) === 'gateway' ? await withBody(arrived) : arrived;
    return (await deps.hosted.answerPlain(plain)) ?? relayed(plain, deps);
  }
  const whole = await withBody(arrived);
  if (call.path === COMPACT) {
    const compacted = await deps.compaction.compact(whole);
    // Left to the provider, it is one of its paths like others.
    return compacted ?? relayed({ ...whole, endpoint: 'proxy' }, deps);
  }
  const received = deps.compaction.opened(whole);
  if (call.isRound) return relayed(received, deps);
  const hosted = await deps.hosted.answer(received);
  if (hosted) return hosted;
  const standingBy = await deps.hosted.standingBy(received);
  try {
    return await relayed(standingBy.size > 0 ? { ...received, standingBy } : received, deps);
  } catch (error) {
    if (!(error instanceof GatewayError && isLeftToUs(error))) throw error;
    const standIn = await deps.hosted.standIn(received);
    if (!standIn) throw error;
    return standIn;
  }
}

/** The provider has no such tool, or makes no responses in the background. */
const isLeftToUs = ({ code, param }: GatewayError): boolean =>
  code === 'hosted_tool_off' || (code === 'not_expressible' && param === 'background');

async function relayed(received: OpenCall, deps: RelayDeps): Promise<Response> {
  const { call: open, route } = await choose(received, deps);
  if (route.by === 'config') return respond(received, await followPlan(open, route.reference, attempt, deps));
  received.log.aims(NO_PLAN);
  const target = await findTarget(route, received.principal, received, deps.virtualKeys);
  const settings = received.inServiceOf ? await settingsInService(open, received.inServiceOf, deps) : NO_SETTINGS;
  return respond(received, await attempt(open, { target, settings, path: NO_PLAN }, deps));
}

/** Tools and compactions may stand anywhere in it, but for a body that no client should send. */
const withBody = async (call: OpenCall): Promise<OpenCall> =>
  call.isJson && call.body?.rest ? { ...call, body: await keepUpTo(call.body) } : call;

const RESPONSES = 'createModelResponse';
const COMPACT = '/responses/compact';
const PLAIN: ReadonlySet<string> = new Set(['chatComplete', 'messages']);

/** Where a target stands that no config names. */
const NO_PLAN = 'config';

/** Asks one target. A plan may have several, one after the other. */
export async function attempt(call: OpenCall, to: Attempt, deps: RelayDeps): Promise<Attempted> {
  const ready = await putInWords(await prepare(call, to, deps), to, deps);
  const passed = ready.guarding ? await judge(ready, ready.guarding, to, deps) : ready;
  const exchange = exchangeOf(passed, to, await admit(passed.call, to.target, passed.prepared, deps));
  try {
    // Not before the guardrails and the limits have let it through: files are fetched in the gateway's name.
    if (passed.supply) exchange.prepared = await passed.supply();
    exchange.isTranslated = exchange.prepared.translation !== null;
    if (!exchange.isTranslated) exchange.prepared = await askForUsage(exchange);
    const cached = to.settings.cache ? await lookedUp(exchange, deps) : null;
    exchange.turn = cached?.turn ?? null;
    note(exchange, cached?.status ?? 'DISABLED');
    const { here } = exchange.prepared;
    if (here) return settle(exchange, await finish(exchange, await here(), deps), deps);
    if (!cached?.hit) return settle(exchange, await ask(exchange, answer, deps), deps);
    call.log.isCached = true;
    return settle(exchange, await finish(exchange, replay(cached.hit), deps), deps);
  } catch (error) {
    settleFailed(exchange, error, deps);
    throw error instanceof GuardrailDenied ? error.with(exchange.notes) : error;
  }
}

/**
 * Lets the guardrails look at the request, the operator's last. Not when a limit is used up already: what they ask of models
 * and servers costs, too. Throws 446. What they have changed is put into the words of the target again.
 */
async function judge(ready: Ready, guarding: Guarding, to: Attempt, deps: RelayDeps): Promise<Ready> {
  const { call } = ready;
  await refuseExhausted(call, to.target, deps);
  const { headers, body } = call;
  const judged = await guarding.input({
    bytes: guarding.readsRequest ? (body?.head ?? null) : null,
    type: headers['content-type'] ?? '',
    encoding: headers['content-encoding'] ?? null,
  });
  const passed = asPassed(call, judged);
  return passed === call ? ready : putInWords({ call: passed, guarding }, to, deps);
}

function asPassed(call: OpenCall, passed: Passed): OpenCall {
  const { body } = call;
  const changed =
    Object.keys(passed.headers).length > 0 ? { ...call, headers: withHeaders(call.headers, passed.headers) } : call;
  if (!passed.body || !body) return changed;
  if (call.isJson) call.log.model = call.addressed ?? modelMember(passed.body);
  const grownBy = call.grownBy + passed.body.byteLength - body.head.byteLength;
  return { ...changed, body: { head: passed.body, rest: null }, grownBy };
}

const exchangeOf = ({ call, prepared, guarding, onPassed }: Ready, to: Attempt, admission: Admission): Exchange => ({
  call,
  target: to.target,
  settings: to.settings,
  path: to.path,
  prepared,
  guarding,
  onPassed,
  admission,
  isRepair: false,
  turn: null,
  isTranslated: false,
  notes: {},
});

async function lookedUp(exchange: Exchange, { cache }: RelayDeps): Promise<Cached> {
  const since = performance.now();
  const cached = await lookUp(exchange, cache);
  if (cached.status !== 'DISABLED') exchange.call.log.looksUp(cached.status, since);
  return cached;
}

/** What the answer says of how it came. */
function note({ call, notes, admission, prepared, path }: Exchange, cacheStatus: string): void {
  Object.assign(notes, call.foundBy, admission.headers, prepared.translation?.notes);
  notes['x-gateway-last-used-option-index'] = path;
  notes['x-gateway-cache-status'] = cacheStatus;
  notes['x-gateway-retry-attempt-count'] = '0';
}

/**
 * The provider's answer in the client's words. `ask` calls it for every answer that it gets, because a retry policy may ask
 * again when guardrails have denied one.
 */
async function answer(exchange: Exchange, incoming: Incoming, deps: RelayDeps): Promise<Incoming> {
  const { translation } = exchange.prepared;
  if (!translation) return finish(exchange, incoming, deps);
  const { log } = exchange.call;
  const report: Report = (usage, model = null) => {
    log.usage = usage;
    log.answeredBy = model;
  };
  // What guardrails may blank out of the answer is kept nowhere.
  const seen = exchange.isTranslated && !exchange.guarding?.judgesAnswers ? log.captureReceived() : null;
  return finish(exchange, await translation.answer(seen ? tapped(incoming, seen) : incoming, report), deps);
}

/** Puts an answer into the cache and before its guardrails, in this order: what is kept is judged again each time. */
function finish({ guarding, turn, onPassed }: Exchange, incoming: Incoming, { now }: RelayDeps) {
  if (guarding?.touchesAnswers) return judgeAnswer(guarding, incoming, { turn, now, onPassed });
  return turn ? keeping(incoming, turn, now) : incoming;
}

/** The limits are settled with what the log has counted when the last byte has passed, or when the answer is not used. */
function settle(exchange: Exchange, incoming: Incoming, { prices }: RelayDeps): Attempted {
  const { call, target, admission, notes } = exchange;
  const { log } = call;
  const { status } = incoming;
  log.onCounted = ({ usage, cost, model }) =>
    admission.settle(status >= 400 ? NOTHING_TAKEN : { usage, cost: nanoDollars(cost), model });
  const discard = () => {
    log.onCounted = null;
    log.leaves();
    admission.settle(status >= 400 ? NOTHING_TAKEN : takenBy(call, target, prices));
    incoming.cancel();
  };
  return { status, incoming, notes, discard };
}

/** The same where no answer came of it. */
function settleFailed(exchange: Exchange, error: unknown, { prices }: RelayDeps): void {
  const { call, target, admission, turn } = exchange;
  turn?.giveUp();
  admission.settle(takenInVain(error, call, target, prices));
}
