import { fail } from '../core/errors.ts';
import type { GuardrailUse } from '../core/guardrails.ts';
import { Secret } from '../core/secret.ts';
import { type BreakerSettings, breakerSettings } from './breaker.ts';
import { type Condition, compileCondition, patternBudget } from './conditions.ts';
import { BOUNDS, type ConfigObject, type ConfigOrigin, OPTION_ALIASES, type RetryObject } from './config.ts';
import { compileParams, type ParamEdits } from './params.ts';
import { namesIn } from './plan-names.ts';

/** A config, compiled: a tree whose leaves say whom to call and how. Immutable, shared by all calls that use it. */
export type Step = TargetStep | FallbackStep | LoadbalanceStep | ConditionalStep;

interface StepBase {
  /** `config`, `config.targets[1]`, `config.targets[1].targets[0]`. */
  readonly path: string;
  readonly name: string | null;
  readonly weight: number;
}

export interface TargetStep extends StepBase {
  readonly kind: 'target';
  readonly choice: Choice;
  readonly settings: TargetSettings;
  /** Opens when the target fails too often; null: the config asks for none. */
  readonly breaker: BreakerSettings | null;
}

export interface FallbackStep extends StepBase {
  readonly kind: 'fallback';
  readonly steps: readonly Step[];
  /** The statuses after which the next one is tried; null: every one that is not 2xx. */
  readonly statuses: ReadonlySet<number> | null;
}

export interface LoadbalanceStep extends StepBase {
  readonly kind: 'loadbalance';
  readonly steps: readonly Step[];
  readonly sticky: { readonly fields: readonly string[]; readonly ttlMs: number } | null;
}

export interface ConditionalStep extends StepBase {
  readonly kind: 'conditional';
  readonly branches: readonly { readonly condition: Condition; readonly step: Step }[];
  readonly otherwise: Step;
}

/** Whom a target means. */
export type Choice =
  | { readonly by: 'virtual-key'; readonly slug: string }
  | {
      readonly by: 'provider';
      readonly name: string;
      readonly customHost: string | null;
      /** Null: the credential the caller sent. */
      readonly credential: Secret | null;
      readonly options: Readonly<Record<string, unknown>>;
    }
  /** The config leaves it to the request's headers, its model or the key's default. */
  | { readonly by: 'request' };

/** What holds for one target after inheritance. */
export interface TargetSettings {
  readonly retry: Retry;
  readonly timeoutMs: number | null;
  readonly params: ParamEdits | null;
  readonly forwardHeaders: readonly string[] | null;
  readonly strict: boolean | null;
  /** Whether what the target cannot be told is left out and named, and not refused; null: the call decides. */
  readonly dropsUnsayable: boolean | null;
  readonly cache: { readonly maxAgeMs: number } | null;
  readonly guardrails: GuardrailUse | null;
}

export interface Retry {
  readonly attempts: number;
  readonly statuses: ReadonlySet<number>;
  readonly usesRetryAfter: boolean;
}

export interface Plan {
  readonly root: Step;
  /** What the root says for all, for a call whose model names its virtual key and so passes by the targets. */
  readonly settings: TargetSettings;
  /** Whether a call's body must be kept: it is edited, looked into, or may be sent again. */
  readonly needsWholeBody: boolean;
  /** The names of models that its conditions know. */
  readonly names: readonly string[];
  /** Tells the state of one config (breakers, cache) from another's. */
  readonly id: string;
}

const RETRIED = new Set([429, 500, 502, 503, 504, 529]);
const DEFAULT_MAX_AGE_S = 604_800;
const STICKY_TTL_S = 3_600;

export const NO_RETRY: Retry = { attempts: 0, statuses: RETRIED, usesRetryAfter: false };
export const NO_SETTINGS: TargetSettings = {
  retry: NO_RETRY,
  timeoutMs: null,
  params: null,
  forwardHeaders: null,
  strict: null,
  dropsUnsayable: null,
  cache: null,
  guardrails: null,
};

/** What a target takes from those above it. */
interface Inherited {
  readonly config: ConfigObject;
  readonly breaker: BreakerSettings | null;
}

/** Compiles a checked config. `optionNames` are the provider options a target may carry. */
export function compilePlan(
  config: ConfigObject,
  id: string,
  optionNames: ReadonlySet<string>,
  origin: ConfigOrigin = 'stored',
): Plan {
  const budget = patternBudget();
  const compile = (given: ConfigObject, path: string, above: Inherited): Step => {
    const merged = inherit(above.config, given);
    const breaker = given.strategy?.cb_config ? breakerSettings(given.strategy.cb_config) : above.breaker;
    const base: StepBase = { path, name: given.name ?? null, weight: given.weight ?? 1 };
    const { strategy, targets } = given;
    if (!strategy || !targets) {
      return { ...base, kind: 'target', choice: choiceOf(merged, optionNames), settings: settingsOf(merged), breaker };
    }
    const steps = targets.map((target, index) =>
      compile(target, `${path}.targets[${index}]`, { config: merged, breaker }),
    );
    switch (strategy.mode) {
      case 'single':
        return steps[0]!;
      case 'fallback':
        return {
          ...base,
          kind: 'fallback',
          steps,
          statuses: strategy.on_status_codes ? new Set(strategy.on_status_codes) : null,
        };
      case 'loadbalance': {
        const { enabled = true, hash_fields = [], ttl = STICKY_TTL_S } = strategy.sticky ?? { enabled: false };
        return {
          ...base,
          kind: 'loadbalance',
          steps,
          sticky: enabled ? { fields: hash_fields, ttlMs: ttl * 1_000 } : null,
        };
      }
      case 'conditional': {
        const named = (name: string) => steps.find((step, index) => (targets[index]!.name ?? step.name) === name)!;
        const branches = strategy.conditions!.map(({ query, then }, index) => ({
          condition: compileCondition(query, `${path}.strategy.conditions[${index}].query`, budget),
          step: named(then),
        }));
        return { ...base, kind: 'conditional', branches, otherwise: named(strategy.default!) };
      }
    }
  };
  const root = compile(config, 'config', { config: {}, breaker: null });
  const calls = mostCalls(root);
  if (calls > BOUNDS[origin].calls)
    fail(
      'invalid_config',
      'config',
      `one call could become ${calls} calls of providers, with all targets and retries; at most ${BOUNDS[origin].calls}${origin === 'inline' ? ' unless the config is stored' : ''}`,
    );
  const settings = settingsOf(inherit({}, config));
  return { id, root, settings, needsWholeBody: needsWholeBody(root), names: namesIn(config) };
}

/** How often providers are called for one call when every target fails. */
function mostCalls(step: Step): number {
  switch (step.kind) {
    case 'target':
      return 1 + step.settings.retry.attempts;
    case 'fallback':
      return step.steps.reduce((sum, each) => sum + mostCalls(each), 0);
    case 'loadbalance':
      return Math.max(...step.steps.map(mostCalls));
    case 'conditional':
      return Math.max(mostCalls(step.otherwise), ...step.branches.map((branch) => mostCalls(branch.step)));
  }
}

function needsWholeBody(step: Step): boolean {
  if (step.kind === 'target') return step.settings.retry.attempts > 0 || step.settings.params !== null;
  if (step.kind === 'conditional') return true;
  return step.kind === 'fallback' || step.sticky !== null || step.steps.some(needsWholeBody);
}

/** The nearest value wins; parameters are merged; whom to call is taken whole or not at all. */
function inherit(above: ConfigObject, own: ConfigObject): ConfigObject {
  const { strategy: _strategy, targets: _targets, name: _name, weight: _weight, ...given } = own;
  const { ...from } = above;
  if (own.virtual_key !== undefined || own.provider !== undefined) {
    for (const key of Object.keys(from)) if (!(key in INHERITED)) delete (from as Record<string, unknown>)[key];
  }
  const merge = (key: 'default_params' | 'override_params') =>
    from[key] || own[key] ? { [key]: { ...from[key], ...own[key] } } : {};
  const { paths, unsayable } = mergedDrops(from, own);
  return {
    ...from,
    ...given,
    ...merge('default_params'),
    ...merge('override_params'),
    drop_params: paths.length > 0 ? paths : undefined,
    ...(unsayable !== undefined && { dropsUnsayable: unsayable }),
  };
}

/** Paths are merged, and of the yes or no beside them the nearest counts. */
function mergedDrops(from: ConfigObject, own: ConfigObject): { paths: string[]; unsayable: boolean | undefined } {
  const paths = [from, own].flatMap(({ drop_params }) => (Array.isArray(drop_params) ? drop_params : []));
  return { paths: [...new Set(paths)], unsayable: unsayableIn(own) ?? unsayableIn(from) };
}

const unsayableIn = ({ drop_params, dropsUnsayable }: ConfigObject): boolean | undefined =>
  typeof drop_params === 'boolean' ? drop_params : dropsUnsayable;

/** What a target with a provider of its own still takes from above. */
const INHERITED: Readonly<Record<string, true>> = {
  retry: true,
  cache: true,
  request_timeout: true,
  default_params: true,
  override_params: true,
  drop_params: true,
  strip_model_prefix: true,
  forward_headers: true,
  strict_open_ai_compliance: true,
  dropsUnsayable: true,
  input_guardrails: true,
  output_guardrails: true,
  before_request_hooks: true,
  after_request_hooks: true,
};

function choiceOf(config: ConfigObject, optionNames: ReadonlySet<string>): Choice {
  if (config.virtual_key) return { by: 'virtual-key', slug: config.virtual_key };
  const { provider } = config;
  if (config.passthrough || !provider) return { by: 'request' };
  if (provider.startsWith('@')) return { by: 'virtual-key', slug: provider.slice(1) };
  const options: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    const name = OPTION_ALIASES[key] ?? key;
    if (optionNames.has(name)) options[name] = value;
  }
  return {
    by: 'provider',
    name: provider,
    customHost: config.custom_host ?? null,
    credential: config.api_key ? new Secret(config.api_key) : null,
    options,
  };
}

function settingsOf(config: ConfigObject): TargetSettings {
  return {
    retry: retryOf(config.retry),
    timeoutMs: config.request_timeout ?? null,
    params: compileParams(config),
    forwardHeaders: config.forward_headers?.map((name) => name.toLowerCase()) ?? null,
    strict: config.strict_open_ai_compliance ?? null,
    dropsUnsayable: unsayableIn(config) ?? null,
    cache: config.cache ? { maxAgeMs: (config.cache.max_age ?? DEFAULT_MAX_AGE_S) * 1_000 } : null,
    guardrails: guardrailsOf(config),
  };
}

/** Both spellings mean the same and may stand beside each other. */
function guardrailsOf(config: ConfigObject): GuardrailUse | null {
  const input = [...(config.input_guardrails ?? []), ...(config.before_request_hooks ?? [])];
  const output = [...(config.output_guardrails ?? []), ...(config.after_request_hooks ?? [])];
  return input.length + output.length > 0 ? { input, output } : null;
}

function retryOf(retry: RetryObject | undefined): Retry {
  if (!retry) return NO_RETRY;
  return {
    attempts: retry.attempts,
    statuses: retry.on_status_codes ? new Set(retry.on_status_codes) : RETRIED,
    usesRetryAfter: retry.use_retry_after_headers ?? false,
  };
}
