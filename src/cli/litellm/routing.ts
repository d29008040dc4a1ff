import type { ConfigWish } from '../../desired/desired.ts';
import type { Findings } from '../../desired/reading/findings.ts';
import type { Source } from '../../desired/reading/source.ts';
import { cacheIn } from './cache.ts';
import { guardrailsIn } from './guardrails.ts';
import type { Model } from './models.ts';
import { type Fallback, type RoutingSettings, settingsIn } from './settings.ts';
import { calledThrough, isWildcard, patternOf, renaming } from './wildcards.ts';

/** The config that finds a model by the name clients call it. */
export const ROUTING_SLUG = 'litellm';
const OTHERS = 'any other model';
/** A config has at most 20 patterns. */
const MOST_WILDCARDS = 20;

type Target = Readonly<Record<string, unknown>>;

interface Routes {
  readonly named: ReadonlyMap<string, readonly Model[]>;
  /** The one with the longest name first. */
  readonly wildcards: readonly (readonly [name: string, models: readonly Model[]])[];
  readonly settings: RoutingSettings;
}

/**
 * The model list as one config: clients go on calling models by their names, models with several deployments are
 * balanced, and fallbacks stay. A name that is not in the list is left to the request.
 */
export function routingOf(
  models: readonly Model[],
  { source, findings, workspace }: { source: Source; findings: Findings; workspace: string },
): ConfigWish | null {
  const settings = settingsIn(source, findings);
  const cache = cacheIn(source, findings);
  const guardrails = guardrailsIn(source, findings);
  const named = Map.groupBy(
    models.filter(({ name }) => !isWildcard(name)),
    ({ name }) => name,
  );
  const routes: Routes = { named, wildcards: wildcardsIn(models, findings), settings };
  for (const [name, { model, place }] of settings.aliases) {
    const found = deploymentsOf(model, routes);
    if (found === null) findings.leaveOut(place, `the name ${name}: there is no model ${model}`);
  }
  const names = [...new Set([...named.keys(), ...settings.aliases.keys()])].filter(
    (name) => deploymentsOf(meant(name, routes), routes) !== null,
  );
  const targets = [
    ...names.map((name) => ({ name, ...targetOf(name, routes) })),
    ...routes.wildcards.map(([name]) => ({ name, ...targetOf(name, routes) })),
  ];
  if (targets.length === 0) return null;
  sayLostFallbacks(routes, findings);
  const conditions = targets.map(({ name }) => ({
    query: { 'params.model': isWildcard(name) ? { $regex: patternOf(name) } : { $eq: name } },
    then: name,
  }));
  const config = {
    strategy: { mode: 'conditional', conditions, default: OTHERS },
    ...(settings.retries !== null && { retry: { attempts: settings.retries } }),
    ...(settings.timeoutMs !== null && { request_timeout: settings.timeoutMs }),
    ...(settings.defaults && { default_params: settings.defaults }),
    ...(settings.drops && { drop_params: true }),
    ...(cache && { cache }),
    ...guardrails,
    targets: [...targets, { name: OTHERS, passthrough: true }],
  };
  const ref = `${workspace}/${ROUTING_SLUG}`;
  return { place: source.placeOf(['model_list']), ref, workspace, slug: ROUTING_SLUG, name: 'LiteLLM models', config };
}

function wildcardsIn(models: readonly Model[], findings: Findings): Routes['wildcards'] {
  const usable = models.filter((model) => {
    if (!isWildcard(model.name)) return false;
    const isUsable = renaming(model) !== null;
    if (!isUsable)
      findings.leaveOut(model.place, `model ${model.name}: its names cannot be turned into ${model.model}`);
    return isUsable;
  });
  const groups = [...Map.groupBy(usable, ({ name }) => name)].sort(([a], [b]) => b.length - a.length);
  for (const [name, [first]] of groups.slice(MOST_WILDCARDS))
    findings.leaveOut(first!.place, `model ${name}: a config has at most ${MOST_WILDCARDS} names with *`);
  return groups.slice(0, MOST_WILDCARDS);
}

/** What an alias stands for; any other name is meant itself. */
const meant = (name: string, { named, settings }: Routes): string =>
  named.has(name) ? name : (settings.aliases.get(name)?.model ?? name);

function targetOf(name: string, routes: Routes): Target {
  const { settings } = routes;
  const model = meant(name, routes);
  const { others } = settings.fallbacks.get(name) ?? settings.fallbacks.get(model) ?? settings.otherwise ?? NONE;
  const own = deploymentsOf(model, routes)!;
  const next = others
    .filter((other) => other !== name && other !== model)
    .flatMap((other) => deploymentsOf(meant(other, routes), routes) ?? []);
  return next.length === 0 ? own : { strategy: { mode: 'fallback' }, targets: [own, ...next] };
}

const NONE: Pick<Fallback, 'others'> = { others: [] };

/** Several deployments of one name share its calls. Null: there is none. */
function deploymentsOf(name: string, { named, wildcards, settings }: Routes): Target | null {
  const exact = named.get(name) ?? wildcards.find(([each]) => each === name)?.[1];
  const through = exact ? null : wildcards.find(([, models]) => calledThrough(models[0]!, name) !== null)?.[1];
  const models = exact ?? through;
  if (!models) return null;
  const weights = weightsOf(models);
  const each = models.map((model, index) => ({
    virtual_key: model.slug,
    ...(through ? { override_params: { model: calledThrough(model, name) ?? model.model } } : renamed(model)),
    ...model.parts,
    ...(weights && { weight: weights[index] }),
  }));
  if (each.length === 1) return each[0]!;
  const { breaker } = settings;
  return { strategy: { mode: 'loadbalance', ...(breaker && { cb_config: breaker }) }, targets: each };
}

const renamed = (model: Model) => {
  if (isWildcard(model.name)) return renaming(model)!;
  return model.model === model.name ? {} : { override_params: { model: model.model } };
};

/** What LiteLLM shuffles by, where every deployment of a name says it. */
function weightsOf(models: readonly Model[]): readonly number[] | null {
  if (models.length < 2 || models.every(({ weight }) => weight === null)) return null;
  const weights = models.map(({ weight }) => weight ?? 1);
  return weights.every((weight) => weight === 0) ? null : weights;
}

function sayLostFallbacks(routes: Routes, findings: Findings) {
  const isKnown = (name: string) => deploymentsOf(meant(name, routes), routes) !== null;
  const { fallbacks, otherwise } = routes.settings;
  for (const [name, { others, place }] of fallbacks)
    for (const each of [name, ...others])
      if (!isKnown(each) && each !== '*')
        findings.leaveOut(place, `the fallback of ${name}: there is no model ${each}`);
  for (const each of otherwise?.others ?? [])
    if (!isKnown(each)) findings.leaveOut(otherwise!.place, `default_fallbacks: there is no model ${each}`);
}
