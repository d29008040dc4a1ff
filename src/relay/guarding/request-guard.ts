import { NANO_DOLLARS } from '../../core/limits.ts';
import type { Prices } from '../../core/prices.ts';
import { GuardrailDenied } from '../../guardrails/verdict.ts';
import { isInline } from '../../http/forbidden-headers.ts';
import { flagOf, headerOf, type SentHeaders, withHeaders } from '../../http/headers.ts';
import type { Incoming } from '../../http/upstream.ts';
import type { Admission } from '../../limits/limiter.ts';
import type { Lead } from '../../routing/cache.ts';
import type { TargetSettings } from '../../routing/plan.ts';
import { modelMember } from '../body.ts';
import { keeping } from '../cached.ts';
import type { OpenCall } from '../call.ts';
import { isStream } from '../prepare.ts';
import type { Target } from '../target.ts';
import { guardAnswer } from './answer-guard.ts';
import type { Guarding } from './exchange-guard.ts';
import type { Guard } from './guard.ts';
import type { AskedBy, Passed } from './guarded.ts';
import { storedAfterVerdict } from './kept-guard.ts';

const STREAMS_BY_PATH = /:streamGenerateContent$|-stream$/;

/** The guardrails of a call to one target; null where none holds. */
export function openGuard(
  call: OpenCall,
  target: Target,
  settings: TargetSettings,
  guard: Guard,
): Guarding | null | Promise<Guarding | null> {
  // A list of names is no text that a model reads or wrote.
  if (call.isUnguarded || call.endpoint === 'listModels') return null;
  const { principal, headers, log, body, path } = call;
  return guard({
    who: principal,
    principal,
    asked: settings.guardrails,
    askedBy: askedBy(headers),
    endpoint: call.endpoint,
    headers,
    search: call.search,
    model: log.model,
    addressed: call.addressed,
    provider: target.provider.name,
    isStream: () => (call.isJson && body !== null && isStream(body.head)) || STREAMS_BY_PATH.test(path),
    isStrict: settings.strict ?? flagOf(headers, 'x-gateway-strict-open-ai-compliance') ?? true,
    proving: call.proven,
    log,
  });
}

/** A config that no header names is the default of the key, and so the operator's. */
export function askedBy(headers: SentHeaders): AskedBy {
  const config = headerOf(headers, 'x-gateway-config');
  if (config === null) return 'operator';
  return isInline(config) ? 'caller-writing' : 'caller-naming';
}

/** The call as its guardrails let it through, at once where all of them find out at once. Throws 446. */
export function letThrough(call: OpenCall, guarding: Guarding): OpenCall | Promise<OpenCall> {
  const { headers, body } = call;
  const judged = guarding.input({
    bytes: guarding.readsRequest ? (body?.head ?? null) : null,
    type: headers['content-type'] ?? '',
    encoding: headers['content-encoding'] ?? null,
  });
  return judged instanceof Promise ? judged.then((passed) => asPassed(call, passed)) : asPassed(call, judged);
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

export interface Finishing {
  readonly guarding: Guarding | null;
  readonly turn: Lead | null;
  readonly now: () => number;
  /** Called with what has passed, before anybody sees it. */
  readonly onPassed?: (bytes: Uint8Array, type: string) => Promise<void>;
}

/** Puts an answer into the cache and before its guardrails, in this order: what is kept is judged again each time. */
export function finish(answer: Incoming, finishing: Finishing): Incoming | Promise<Incoming> {
  const { guarding, turn, now } = finishing;
  return guarding?.touchesAnswers ? finishGuarded(answer, guarding, finishing) : keeping(answer, turn, now);
}

async function finishGuarded(
  answer: Incoming,
  guarding: Guarding,
  { turn, now, onPassed }: Finishing,
): Promise<Incoming> {
  const lead = turn && storedAfterVerdict(turn);
  guarding.forgetAnswer();
  const judged = await guardAnswer(guarding, keeping(answer, lead, now), { onPassed });
  lead?.release();
  return judged;
}

/** The provider is paid for an answer that nobody gets. */
export function settleDenied(
  error: unknown,
  call: OpenCall,
  { target, admission, prices }: { target: Target; admission: Admission; prices: Prices },
) {
  const { usage, model } = call.log;
  const isPaid = error instanceof GuardrailDenied && error.hook === 'output' && usage !== null && !call.log.isCached;
  const cost = isPaid ? prices.costOf(target.provider.name, model, usage, target.prices) : null;
  admission.settle({
    usage: isPaid ? usage : null,
    cost: cost === null ? null : Math.round(cost * NANO_DOLLARS),
    model: null,
  });
}
