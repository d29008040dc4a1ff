import type { JwtVerifier } from '../../auth/jwt-verify.ts';
import { recheck } from '../../auth/token-facts.ts';
import type { OutgoingTrace } from '../../core/call-log.ts';
import type { Principal } from '../../core/principal.ts';
import { objectIn, objectsIn, parsed } from '../../dialects/json.ts';
import type { AskModel, CheckThreads, Ports } from '../../guardrails/check.ts';
import type { GuardrailDefaultsStore } from '../../guardrails/defaults.ts';
import type { Guardrails } from '../../guardrails/guardrails.ts';
import type { EgressPolicy } from '../../http/egress.ts';
import { fetchSmall, type Upstream } from '../../http/upstream.ts';
import type { CallModel } from '../internal.ts';
import { type Bench, createBench } from './bench.ts';
import { createGuard, type Guard } from './guard.ts';

export interface GuardDeps {
  readonly guardrails: Guardrails;
  readonly guardrailDefaults: GuardrailDefaultsStore;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  readonly verifier: JwtVerifier;
  readonly checkThreads: CheckThreads;
  /** It needs the guard itself, and so comes later. */
  readonly callModel: () => CallModel;
  readonly now: () => number;
}

/** The guard of calls, with what the checks of guardrails ask of the rest of the gateway, and the bench to try them on. */
export function openGuard(deps: GuardDeps): { readonly guard: Guard; readonly bench: Bench } {
  const { guardrails, guardrailDefaults, egress, upstream, verifier, checkThreads, callModel, now } = deps;
  const ports: Omit<Ports, 'askModel'> = {
    fetch: (url, init) => fetchSmall(upstream, url, init),
    resolves: (hostname, timeoutMs) => inTime(resolves(egress, hostname), timeoutMs),
    now,
    verifyJwt: (token, rules) => verifier.verify(token, rules),
    recheckJwt: recheck,
    threads: checkThreads,
  };
  const askModel = (who: Principal, trace: OutgoingTrace | null) => askedBy(who, trace, callModel);
  return {
    guard: createGuard({ guardrails, defaults: guardrailDefaults, ports, askModel }),
    bench: createBench((who) => ({ ...ports, askModel: askModel(who, null) })),
  };
}

async function resolves(egress: EgressPolicy, hostname: string): Promise<boolean> {
  try {
    await egress.admit(`https://${hostname}/`);
    return true;
  } catch {
    return false;
  }
}

/** A name server that does not answer has not found the name. */
async function inTime(answer: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** A model is asked in the caller's name: the virtual key is one of the caller's workspace, and its limits hold. */
const askedBy =
  (who: Principal, trace: OutgoingTrace | null, callModel: () => CallModel): AskModel =>
  async ({ virtualKey, model, system, user, timeoutMs }) => {
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ];
    const response = await callModel()({
      who,
      path: '/chat/completions',
      body: JSON.stringify({ model, messages }),
      headers: { 'x-gateway-virtual-key': virtualKey },
      signal: AbortSignal.timeout(timeoutMs),
      route: '/v1/guardrails',
      trace,
      isUnguarded: true,
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`the model answered ${response.status}`);
    const { content } = objectIn(objectIn(objectsIn(objectIn(parsed(text)).choices)[0]).message);
    if (typeof content !== 'string') throw new Error('the model said nothing');
    return content;
  };
