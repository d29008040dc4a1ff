import * as z from 'zod';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { GatewayError } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import type { Checked } from '../core/schema.ts';
import type { Configs } from '../routing/configs.ts';
import { type ExplainedStep, explainPlan } from '../routing/explain.ts';
import { applyParams } from '../routing/params.ts';
import type { Choice, TargetStep } from '../routing/plan.ts';

export interface DryRunDeps {
  readonly configs: Configs;
  readonly virtualKeys: Pick<VirtualKeys, 'resolve'>;
  readonly now: () => number;
}

export const dryRunInput = () =>
  z.strictObject({
    config: z
      .union([z.string().min(1).max(255), z.record(z.string(), z.unknown())], { error: 'give a slug or a config' })
      .describe('The slug of a config of the workspace, or a config as it would be stored.'),
    body: z.record(z.string(), z.unknown()).optional().describe('What the call would send: model and parameters.'),
    metadata: z.record(z.string(), z.string()).optional().describe('As x-gateway-metadata would carry it.'),
    path: z.string().startsWith('/').max(2_048).default('/v1/chat/completions'),
  });

const explained = () =>
  z.object({
    path: z.string().describe('config, config.targets[1], …'),
    mode: z.enum(['target', 'fallback', 'loadbalance', 'conditional']),
    name: z.string().nullable(),
    when: z
      .enum(['first', 'later', 'never'])
      .describe('first: it may be asked at once; later: after others failed; never: not for such a call.'),
    share: z.number().describe('Of calls like this one, from 0 to 1.'),
    why: z.string(),
    virtual_key: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string().nullable().describe('What the target would be asked for.'),
    attempts: z.int().describe('How often it is asked at most; 0 where it is no target.'),
    problem: z.string().nullable().describe('Why a call of this target would be refused.'),
  });
export const dryRunResult = () =>
  z.object({
    object: z.literal('config-dry-run'),
    steps: z.array(explained()).describe('In the order of the config.'),
  });

type Explained = z.output<ReturnType<typeof explained>>;

/** Walks a config as a call would; no provider is called. */
export async function dryRun(
  who: Principal,
  { config, body = {}, metadata = {}, path }: Checked<typeof dryRunInput>,
  { configs, virtualKeys, now }: DryRunDeps,
) {
  const plan = typeof config === 'string' ? await configs.resolve(who, config) : configs.planOf(config);
  const steps = explainPlan(plan, { metadata, params: () => body, pathname: path }, now);
  const shown = await Promise.all(steps.map((each) => explainedStep(who, each, body, virtualKeys)));
  return { object: 'config-dry-run' as const, steps: shown };
}

async function explainedStep(
  who: Principal,
  { step, when, share, why }: ExplainedStep,
  body: Readonly<Record<string, unknown>>,
  virtualKeys: DryRunDeps['virtualKeys'],
): Promise<Explained> {
  const { path, name, kind } = step;
  const common = { path, mode: kind, name, when, share, why };
  if (step.kind !== 'target')
    return { ...common, virtual_key: null, provider: null, model: null, attempts: 0, problem: null };
  const model = modelFor(step, body);
  const to = await whom(who, step.choice, model, virtualKeys);
  return { ...common, ...to, attempts: 1 + step.settings.retry.attempts };
}

/** The model's name after the config has set what it sets. */
function modelFor({ settings, choice }: TargetStep, body: Readonly<Record<string, unknown>>): string | null {
  const { params } = settings;
  const isNamed = choice.by === 'virtual-key' && params?.slugged?.slug === choice.slug;
  const edits = isNamed ? params!.slugged!.plain : params;
  const sent = edits ? applied(body, edits) : body;
  return typeof sent.model === 'string' ? sent.model : null;
}

const applied = (body: object, edits: NonNullable<TargetStep['settings']['params']>): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(applyParams(new TextEncoder().encode(JSON.stringify(body)), edits)));

async function whom(
  who: Principal,
  choice: Choice,
  model: string | null,
  virtualKeys: DryRunDeps['virtualKeys'],
): Promise<Pick<Explained, 'virtual_key' | 'provider' | 'model' | 'problem'>> {
  if (choice.by === 'provider') return { virtual_key: null, provider: choice.name, model, problem: null };
  const [, named, rest] = /^@([^/]+)\/(.+)$/s.exec(model ?? '') ?? [];
  const slug = choice.by === 'virtual-key' ? choice.slug : named;
  if (slug === undefined) return { virtual_key: null, provider: null, model, problem: null };
  const asked = choice.by === 'request' ? (rest ?? model) : model;
  try {
    const { provider } = await virtualKeys.resolve(who, slug);
    return { virtual_key: slug, provider, model: asked, problem: null };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { virtual_key: slug, provider: null, model: asked, problem: error.message };
  }
}
