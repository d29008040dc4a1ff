import * as z from 'zod';
import { fail } from '../core/errors.ts';
import type { GuardrailReference } from '../core/guardrails.ts';

/** The config object as people write it. Compiled once into a plan (plan.ts), never read per call. */
export interface ConfigObject {
  readonly name?: string;
  readonly strategy?: StrategyObject;
  readonly targets?: readonly ConfigObject[];
  readonly weight?: number;
  readonly provider?: string;
  readonly api_key?: string;
  readonly virtual_key?: string;
  readonly custom_host?: string;
  readonly passthrough?: boolean;
  readonly retry?: RetryObject;
  readonly cache?: CacheObject;
  readonly request_timeout?: number;
  readonly default_params?: Params;
  readonly override_params?: Params;
  /** Paths that are dropped from every body; `true`: whatever the target cannot be told. */
  readonly drop_params?: boolean | readonly string[];
  /** What `drop_params: true` means, beside the paths of a target above or below it. No client writes it. */
  readonly dropsUnsayable?: boolean;
  readonly strip_model_prefix?: string;
  readonly forward_headers?: readonly string[];
  readonly strict_open_ai_compliance?: boolean;
  readonly input_guardrails?: readonly GuardrailReference[];
  readonly output_guardrails?: readonly GuardrailReference[];
  readonly before_request_hooks?: readonly GuardrailReference[];
  readonly after_request_hooks?: readonly GuardrailReference[];
  /** Provider options such as `aws_region`. */
  readonly [option: string]: unknown;
}

export type Params = Readonly<Record<string, unknown>>;

export interface StrategyObject {
  readonly mode: 'single' | 'fallback' | 'loadbalance' | 'conditional';
  readonly on_status_codes?: readonly number[];
  readonly conditions?: readonly { readonly query: Params; readonly then: string }[];
  readonly default?: string;
  readonly sticky?: { readonly enabled?: boolean; readonly hash_fields?: readonly string[]; readonly ttl?: number };
  readonly cb_config?: BreakerObject;
}

export interface RetryObject {
  readonly attempts: number;
  readonly on_status_codes?: readonly number[];
  readonly use_retry_after_headers?: boolean;
}

export interface CacheObject {
  readonly mode: 'simple';
  readonly max_age?: number;
}

export interface BreakerObject {
  readonly failure_threshold?: number;
  readonly failure_threshold_percentage?: number;
  readonly minimum_requests?: number;
  readonly cooldown_interval?: number;
  readonly failure_status_codes?: readonly number[];
}

/** How many targets a stored config may fan out to: at its root, and below each of them. */
export const MOST_TARGETS = { root: 100, rootConditional: 1_000, nested: 50 };

/** Who wrote a config: an operator who stored it, or a caller who sent it along with a call. */
export type ConfigOrigin = 'stored' | 'inline';

interface Bounds {
  readonly depth: number;
  /** Targets of the whole tree; null: `MOST_TARGETS` says it level by level. */
  readonly targets: number | null;
  /** Calls of providers that one call of a client may lead to, when every target fails. */
  readonly calls: number;
}

/** A caller's words may not multiply a call as far as an operator's. */
export const BOUNDS: Readonly<Record<ConfigOrigin, Bounds>> = {
  stored: { depth: 8, targets: null, calls: 600 },
  inline: { depth: 3, targets: 20, calls: 30 },
};

/** Older spellings of provider options. */
export const OPTION_ALIASES: Readonly<Record<string, string>> = {
  resource_name: 'azure_resource_name',
  deployment_id: 'azure_deployment_id',
  api_version: 'azure_api_version',
};

/** The statuses of answers that a guardrail objects to: one that it lets pass all the same, one that it denies. */
const DENIED_AND_PASSED = 246;
const DENIED = 446;
const codes = () => z.array(z.int('give HTTP status codes')).min(1, 'give at least one status').max(200);
const isFailure = (status: number) => status >= 400 && status <= 599;
const failedCodes = () =>
  codes().refine((given) => given.every(isFailure), 'give the statuses of failures, 400 to 599');
/** A verdict of the gateway's own guardrails moves a call to another target where the config says so. */
const fallbackCodes = () =>
  codes().refine(
    (given) => given.every((status) => isFailure(status) || status === DENIED_AND_PASSED),
    'give the statuses of failures, 400 to 599, or 246',
  );
/** An answer that the gateway judged is paid for: asking the same target for another one would pay for it again. */
const retriedCodes = () =>
  codes().refine(
    (given) => given.every((status) => isFailure(status) && status !== DENIED),
    'give the statuses of failures of the provider, 400 to 599 without 446; after 246 and 446 a fallback asks another target',
  );
const params = () => z.record(z.string().min(1), z.unknown());
const headerName = () =>
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'give the name of a header')
    .refine((name) => !/^x-gateway-/i.test(name), 'headers of the gateway are not forwarded');
/** `a.b`, `tools[0].x`, `tools[*].x`. */
const path = () =>
  z.string().regex(/^[^.[\]]+(\[(\d+|\*)\])*(\.[^.[\]]+(\[(\d+|\*)\])*)*$/, 'give a path such as tools[*].strict');

const notYet = (what: string) => z.undefined({ error: `this version does not know ${what}` }).optional();

const breaker = () =>
  z
    .strictObject({
      failure_threshold: z.int().min(1).optional(),
      failure_threshold_percentage: z.number().min(1).max(100).optional(),
      minimum_requests: z.int().min(1).optional(),
      cooldown_interval: z.int().min(30_000, 'give at least 30000 milliseconds').max(86_400_000).optional(),
      failure_status_codes: failedCodes().optional(),
    })
    .refine((given) => given.failure_threshold ?? given.failure_threshold_percentage, {
      path: ['failure_threshold'],
      error: 'give failure_threshold or failure_threshold_percentage',
    });

const condition = () => z.strictObject({ query: params(), then: z.string().min(1) });

const strategy = () =>
  z.strictObject({
    mode: z.enum(['single', 'fallback', 'loadbalance', 'conditional'], {
      error: 'give "single", "fallback", "loadbalance" or "conditional"',
    }),
    on_status_codes: fallbackCodes()
      .optional()
      .describe('fallback: the statuses after which the next target is asked.'),
    conditions: z
      .array(condition())
      .min(1)
      .optional()
      .describe('conditional: the first query that holds names the target.'),
    default: z.string().min(1).optional().describe('conditional: the target when no condition holds.'),
    sticky: z
      .strictObject({
        enabled: z.boolean().optional(),
        hash_fields: z.array(z.string().min(1)).min(1).max(20).optional(),
        ttl: z.int().min(1).max(31_536_000).optional(),
      })
      .optional(),
    cb_config: breaker().optional().describe('Leaves a target alone for a while that fails too often.'),
  });

/** What stands in them is for guardrails to check. */
const writtenOut = () => z.record(z.string(), z.unknown());
const guardrails = () =>
  z.array(z.union([z.string().min(1), writtenOut()], { error: 'give a slug or a guardrail' })).max(50);
const hooks = () => z.array(writtenOut(), { error: 'give a list of guardrails' }).max(50);

const members = () => ({
  name: z.string().min(1).max(255).optional().describe('What conditions and people call this target.'),
  strategy: strategy().optional().describe('How a call is led to one of the targets.'),
  weight: z
    .number()
    .min(0, 'give 0 or more')
    .max(1e6)
    .optional()
    .describe('Share of the traffic under loadbalance; 1 where it is left out, 0 gets none.'),
  provider: z
    .string()
    .min(1)
    .optional()
    .describe('A provider by name, with api_key beside it; or @ and the slug of a virtual key.'),
  api_key: z.string().min(1).optional().describe('The credential for provider. Stored sealed, shown masked.'),
  virtual_key: z.string().min(1).optional().describe('The slug of a stored credential.'),
  custom_host: z.string().min(1).max(2_048).optional().describe('Another address for provider, version included.'),
  passthrough: z.boolean().optional(),
  retry: z
    .strictObject({
      attempts: z.int().min(0).max(5, 'give at most 5'),
      on_status_codes: retriedCodes().optional().describe('The statuses after which the same target is asked again.'),
      use_retry_after_headers: z.boolean().optional().describe('Waits as long as the provider asks for.'),
    })
    .optional(),
  cache: z
    .strictObject({
      mode: z.literal('simple', { error: 'give "simple"; this version has no semantic cache' }),
      max_age: z.int().min(60, 'give at least 60 seconds').max(7_776_000, 'give at most 7776000 seconds').optional(),
    })
    .optional(),
  request_timeout: z
    .int('give milliseconds')
    .min(1, 'give at least 1 millisecond')
    .max(86_400_000)
    .optional()
    .describe('Milliseconds for one request; then 408.'),
  default_params: params().optional().describe('Set in the body where it has no such member.'),
  override_params: params().optional().describe('Set in the body, whatever it says.'),
  drop_params: z
    .union([z.boolean(), z.array(path()).max(100)], { error: 'give true, false or a list of paths' })
    .optional(),
  strip_model_prefix: z
    .string()
    .min(1, 'give the beginning of a name such as "openai/"')
    .max(256)
    .optional()
    .describe("Taken off the model's name before anything else is changed."),
  forward_headers: z.array(headerName()).max(100).optional().describe('Headers of the client that are sent on.'),
  strict_open_ai_compliance: z
    .boolean()
    .optional()
    .describe('Whether answers hold nothing that the format of OpenAI does not know.'),
  prompt_id: notYet('stored prompts'),
  fetch_integrated_models: notYet('fetch_integrated_models'),
  input_guardrails: guardrails()
    .optional()
    .describe('Slugs of guardrails that look at the request, or guardrails written out.'),
  output_guardrails: guardrails()
    .optional()
    .describe('Slugs of guardrails that look at the answer, or guardrails written out.'),
  before_request_hooks: hooks().optional().describe('Guardrails written out that look at the request.'),
  after_request_hooks: hooks().optional().describe('Guardrails written out that look at the answer.'),
});

/** The schema of the config object, for an installation whose providers know these options. */
export function configSchema(optionNames: readonly string[]): z.ZodType<ConfigObject> {
  const options: Record<string, z.ZodType> = {};
  for (const name of [...optionNames, ...Object.keys(OPTION_ALIASES)]) options[name] = z.unknown().optional();
  const config: z.ZodType<ConfigObject> = z
    .strictObject({ ...options, ...members(), targets: z.lazy(() => z.array(config)).optional() })
    .superRefine((given, context) => {
      for (const [where, why] of contradictions(given as ConfigObject))
        context.addIssue({ code: 'custom', path: where, message: why });
    }) as unknown as z.ZodType<ConfigObject>;
  return config;
}

type Fault = [path: (string | number)[], why: string];

/** What is right piece by piece and wrong together. */
function* contradictions(config: ConfigObject): Generator<Fault> {
  const { strategy, targets, virtual_key, provider, custom_host, api_key } = config;
  const stored = virtual_key ? 'virtual_key' : provider?.startsWith('@') ? `provider "@…"` : null;
  if (stored && custom_host)
    yield [['custom_host'], `cannot stand beside ${stored}: a stored credential goes only to its own host`];
  if (virtual_key && provider) yield [['provider'], 'cannot stand beside virtual_key, which names its provider'];
  if (stored && api_key) yield [['api_key'], `cannot stand beside ${stored}, which is the credential`];
  if (api_key && !provider) yield [['api_key'], 'needs provider beside it'];
  if (custom_host && !provider)
    yield [['custom_host'], 'needs provider beside it, which says how that host is spoken to'];
  if (targets && !strategy) yield [['strategy'], 'is missing beside targets; give {"mode": "fallback"} or another'];
  if (targets && targets.length === 0) yield [['targets'], 'give at least one target'];
  if (!strategy) return;
  if (!targets && strategy.mode !== 'single') yield [['targets'], `is missing beside strategy.mode ${strategy.mode}`];
  if (strategy.mode === 'single' && targets && targets.length > 1)
    yield [['targets'], 'give one target with mode "single", or another mode'];
  if (strategy.on_status_codes && strategy.mode !== 'fallback')
    yield [['strategy', 'on_status_codes'], 'belongs to mode "fallback"'];
  if (strategy.sticky && strategy.sticky.enabled !== false && !strategy.sticky.hash_fields)
    yield [['strategy', 'sticky', 'hash_fields'], 'is missing: what the calls of one user have in common'];
  if (strategy.sticky && strategy.mode !== 'loadbalance')
    yield [['strategy', 'sticky'], 'belongs to mode "loadbalance"'];
  if (strategy.mode === 'loadbalance' && targets?.every(({ weight }) => weight === 0))
    yield [['targets'], 'all have weight 0; no target would be called'];
  yield* conditionFaults(strategy, targets ?? []);
}

function* conditionFaults(strategy: StrategyObject, targets: readonly ConfigObject[]): Generator<Fault> {
  if (strategy.mode !== 'conditional') {
    if (strategy.conditions) yield [['strategy', 'conditions'], 'belong to mode "conditional"'];
    if (strategy.default) yield [['strategy', 'default'], 'belongs to mode "conditional"'];
    return;
  }
  const names = new Set<string>();
  for (const [index, { name }] of targets.entries()) {
    if (name !== undefined && names.has(name)) yield [['targets', index, 'name'], `"${name}" is given twice`];
    if (name !== undefined) names.add(name);
  }
  const known = names.size > 0 ? `the targets are named ${[...names].join(', ')}` : 'no target has a name';
  if (!strategy.conditions) yield [['strategy', 'conditions'], 'are missing'];
  if (!strategy.default) yield [['strategy', 'default'], 'is missing: the target to use when no condition holds'];
  else if (!names.has(strategy.default)) yield [['strategy', 'default'], `names no target; ${known}`];
  for (const [index, { then }] of (strategy.conditions ?? []).entries()) {
    if (!names.has(then)) yield [['strategy', 'conditions', index, 'then'], `names no target; ${known}`];
  }
}

/** The config, checked; throws `invalid_config` with the JSON path of the faults. */
export function checkConfig(
  value: unknown,
  schema: z.ZodType<ConfigObject>,
  origin: ConfigOrigin = 'stored',
): ConfigObject {
  const bounds = BOUNDS[origin];
  refuseDepth(value, bounds.depth);
  const result = schema.safeParse(value);
  if (!result.success) {
    const faults = result.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [pathText([...issue.path, key]), 'is not known here'] as const)
        : [[pathText(issue.path), issue.message] as const],
    );
    const [first, ...more] = faults;
    const also = more.slice(0, 9).map(([where, why]) => `${where}: ${why}`);
    fail('invalid_config', first![0], also.length > 0 ? `${first![1]} (also ${also.join('; ')})` : first![1]);
  }
  const { targets = [], strategy } = result.data;
  const all = leavesBelow(result.data);
  if (bounds.targets !== null && all > bounds.targets)
    fail(
      'invalid_config',
      'config.targets',
      `hold ${all} targets; at most ${bounds.targets} unless the config is stored`,
    );
  const most = strategy?.mode === 'conditional' ? MOST_TARGETS.rootConditional : MOST_TARGETS.root;
  if (targets.length > most)
    fail('invalid_config', 'config.targets', `holds ${targets.length} targets; at most ${most}`);
  for (const [index, target] of targets.entries()) {
    const below = leavesBelow(target);
    if (below > MOST_TARGETS.nested)
      fail('invalid_config', `config.targets[${index}]`, `holds ${below} targets; at most ${MOST_TARGETS.nested}`);
  }
  return result.data;
}

const leavesBelow = ({ targets = [] }: ConfigObject): number =>
  targets.reduce((sum, target) => sum + Math.max(1, leavesBelow(target)), 0);

/** Before the schema walks it: targets in targets could otherwise go deeper than the stack. */
function refuseDepth(value: unknown, deepest: number) {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) fail('invalid_config', 'config.targets', `are nested deeper than ${deepest} levels`);
    level = level.flatMap((each) => {
      const targets = each !== null && typeof each === 'object' ? (each as { targets?: unknown }).targets : undefined;
      return Array.isArray(targets) ? targets.slice(0, MOST_TARGETS.rootConditional + 1) : [];
    });
  }
}

const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    'config',
  );
