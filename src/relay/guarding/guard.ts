import type { OutgoingTrace } from '../../core/call-log.ts';
import { fail } from '../../core/errors.ts';
import type { GuardrailReference } from '../../core/guardrails.ts';
import type { Principal } from '../../core/principal.ts';
import type { AskModel, Hook, Ports } from '../../guardrails/check.ts';
import type { GuardrailDefaultsStore } from '../../guardrails/defaults.ts';
import { DefinitionFault, type Guardrail } from '../../guardrails/guardrail.ts';
import type { Guardrails, Reach } from '../../guardrails/guardrails.ts';
import { prepareInline } from '../../guardrails/inline.ts';
import { isInline } from '../../http/forbidden-headers.ts';
import { flagOf, headerOf, type SentHeaders } from '../../http/headers.ts';
import type { Attempt, OpenCall } from '../call.ts';
import { isStream } from '../receive.ts';
import { Guarding } from './exchange-guard.ts';
import type { AskedBy, GuardedCall, Stages } from './guarded.ts';

/** Who guards what: one for the whole process. */
export interface GuardDeps {
  readonly guardrails: Pick<Guardrails, 'resolve'>;
  readonly defaults: Pick<GuardrailDefaultsStore, 'of'>;
  readonly ports: Omit<Ports, 'askModel'>;
  /** Asks a model for a check, in the caller's name and past all guardrails. */
  readonly askModel: (who: Principal, trace: OutgoingTrace | null) => AskModel;
}

/**
 * The one entrance of everything that is judged. Null: no guardrail holds here, and nothing has to be read.
 *
 *     const guarding = await guard(call);
 *     const passed = await guarding?.input({ bytes, type: 'application/json' });   // throws 446
 *     const answer = guarding ? await guardAnswer(guarding, incoming) : incoming;   // throws 446
 */
export type Guard = (call: GuardedCall) => Promise<Guarding | null>;

export function createGuard({ guardrails, defaults, ports, askModel }: GuardDeps): Guard {
  const resolveAll = async (reach: Reach, references: readonly GuardrailReference[], side: Hook) => {
    const resolved: Guardrail[] = [];
    for (const reference of references) {
      const found = typeof reference === 'string' ? await guardrails.resolve(reach, reference) : written(reference);
      if (!found.on.has(side)) fail('guardrail_misplaced', found.id, side);
      // A guardrail that several levels name looks once.
      if (!resolved.includes(found)) resolved.push(found);
    }
    return resolved;
  };
  const resolveSome = (reach: Reach, references: readonly GuardrailReference[], side: Hook) =>
    references.length === 0 ? NO_GUARDRAILS : resolveAll(reach, references, side);

  /** The ports of the process, with a model that is asked in the caller's name. */
  const portsOf = ({ principal, log }: GuardedCall): Ports =>
    principal ? { ...ports, askModel: (question) => askModel(principal, log.callTrace?.() ?? null)(question) } : ports;

  const made = (call: GuardedCall, input: Stages, output: Stages): Guarding => {
    const stages = call.proving?.keep ? { input: provingOf(input), output: NOTHING } : { input, output };
    return new Guarding(call, stages, portsOf(call));
  };

  return async (call) => {
    const { who, asked, askedBy = 'operator' } = call;
    const held = await defaults.of(who);
    const imposed = askedBy === 'operator' ? asked : null;
    const brought = askedBy === 'operator' ? null : asked;
    const input = joined(held.input, who.defaults?.input_guardrails, imposed?.input);
    const output = joined(held.output, who.defaults?.output_guardrails, imposed?.output);
    if (input.length + output.length === 0 && !brought) return null;
    const before = await resolveSome(who, input, 'input');
    const after = await resolveSome(who, output, 'output');
    if (!brought) return made(call, stage(before), stage(after));
    const ownBefore = await resolveSome(who, brought.input, 'input');
    const ownAfter = await resolveSome(who, brought.output, 'output');
    const written =
      askedBy === 'caller-writing'
        ? [...writtenIn(brought.input, ownBefore), ...writtenIn(brought.output, ownAfter)]
        : [];
    return made(call, stage(before, ownBefore, written), stage(after, ownAfter, written));
  };
}

const STREAMS_BY_PATH = /:streamGenerateContent$|-stream$/;

/** The guardrails of a call to one target; null where none holds. */
export async function guardingOf(
  call: OpenCall,
  { target, settings }: Attempt,
  guard: Guard,
): Promise<Guarding | null> {
  // A list of names is no text that a model reads or wrote.
  if (call.isUnguarded || call.endpoint === 'listModels') return null;
  const { principal, headers: own, log, body, path } = call;
  const headers = call.inServiceOf ?? own;
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
    isStream: () => (call.isJson && body !== null && isStream(body)) || STREAMS_BY_PATH.test(path),
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

/** Those of the organisation and the workspace, of the key and of the config. Mostly only one of them has any. */
function joined(
  held: readonly GuardrailReference[],
  own: readonly GuardrailReference[] = NONE,
  asked: readonly GuardrailReference[] = NONE,
): readonly GuardrailReference[] {
  const all = held.length === 0 ? own : own.length === 0 ? held : [...held, ...own];
  return all.length === 0 ? asked : asked.length === 0 ? all : [...all, ...asked];
}

const NONE: readonly GuardrailReference[] = [];
const NO_GUARDRAILS: readonly Guardrail[] = [];
const NONE_WRITTEN: ReadonlySet<Guardrail> = new Set();

/** A guardrail that is imposed and named by the caller, too, looks once, where it is imposed. */
const stage = (
  operators: readonly Guardrail[],
  brought: readonly Guardrail[] = NO_GUARDRAILS,
  written: readonly Guardrail[] = NO_GUARDRAILS,
): Stages => ({
  operators,
  callers: brought.length === 0 ? brought : brought.filter((each) => !operators.includes(each)),
  written: written.length === 0 ? NONE_WRITTEN : new Set(written),
});

const NOTHING: Stages = stage(NO_GUARDRAILS);

/** The same guardrails with those of their checks that judge the caller's own request. */
const provingOf = ({ operators, callers, written }: Stages): Stages => {
  const mayExplain = new Set<Guardrail>();
  const narrowed = (all: readonly Guardrail[]) =>
    all.flatMap((guardrail) => {
      const input = guardrail.checks.input.filter(({ check }) => check.proves);
      if (input.length === 0) return [];
      // No node may take over the work before it is known what was proven.
      const one = { ...guardrail, checks: { input, output: [] }, actions: { ...guardrail.actions, async: false } };
      if (written.has(guardrail)) mayExplain.add(one);
      return [one];
    });
  return { operators: narrowed(operators), callers: narrowed(callers), written: mayExplain };
};

/** Those of the resolved that are no guardrail of the store. */
const writtenIn = (references: readonly GuardrailReference[], resolved: readonly Guardrail[]): readonly Guardrail[] => {
  const own = new Set(references.filter((each) => typeof each !== 'string').map(written));
  return resolved.filter((each) => own.has(each));
};

/** A config is checked when it is read, so that this only fails for what was stored by an earlier version. */
function written(reference: Readonly<Record<string, unknown>>): Guardrail {
  try {
    return prepareInline(reference);
  } catch (error) {
    if (error instanceof DefinitionFault) fail('invalid_config', 'config.guardrails', error.message);
    throw error;
  }
}
