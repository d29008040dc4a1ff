import * as z from 'zod';
import type { ConfigWish } from '../desired/desired.ts';
import { checked, type Findings } from '../reading/findings.ts';
import type { Path, Source } from '../reading/source.ts';
import type { Model } from './models.ts';

/** The config that finds a model by the name clients call it. */
export const ROUTING_SLUG = 'litellm';
const OTHERS = 'any other model';

const fallbackList = z.array(z.record(z.string(), z.array(z.string())), {
  error: 'give a list such as [{"a": ["b"]}]',
});
const attempts = z.int('give a whole number').min(0).max(5, 'give at most 5');
const seconds = z.number('give seconds').positive('give seconds above 0').max(86_400);

/** Where LiteLLM keeps what becomes part of the config: in either section. */
const SECTIONS = ['litellm_settings', 'router_settings'] as const;
const MEMBERS = ['fallbacks', 'num_retries', 'request_timeout', 'timeout'] as const;

export const isRouting = (section: string, member: string): boolean =>
  (SECTIONS as readonly string[]).includes(section) && (MEMBERS as readonly string[]).includes(member);

type Target = Record<string, unknown>;

/**
 * The model list as one config: clients go on calling models by their names, models with several deployments are
 * balanced, and fallbacks stay. A name that is not in the list is left to the request.
 */
export function routingOf(
  models: readonly Model[],
  { source, findings, workspace }: { source: Source; findings: Findings; workspace: string },
): ConfigWish | null {
  const settings = settingsIn(source, findings);
  for (const { name, place } of models.filter(({ name }) => name.includes('*')))
    findings.leaveOut(place, `model ${name}: a name with * is not routed by; write @slug/model`);
  const plain = models.filter(({ name }) => !name.includes('*'));
  const named = Map.groupBy(plain, ({ name }) => name);
  if (named.size === 0) return null;
  const targets = [...named.keys()].map((name) => ({ name, ...targetOf(name, named, settings.fallbacks) }));
  for (const [name, { others, place }] of settings.fallbacks)
    for (const each of [name, ...others])
      if (!named.has(each)) findings.leaveOut(place, `the fallback of ${name}: there is no model ${each}`);
  const conditions = targets.map(({ name }) => ({ query: { 'params.model': { $eq: name } }, then: name }));
  const config = {
    strategy: { mode: 'conditional', conditions, default: OTHERS },
    ...(settings.retries !== null && { retry: { attempts: settings.retries } }),
    ...(settings.timeoutMs !== null && { request_timeout: settings.timeoutMs }),
    targets: [...targets, { name: OTHERS, passthrough: true }],
  };
  const ref = `${workspace}/${ROUTING_SLUG}`;
  return { place: source.placeOf(['model_list']), ref, workspace, slug: ROUTING_SLUG, name: 'LiteLLM models', config };
}

type Fallbacks = Map<string, { readonly others: readonly string[]; readonly place: ReturnType<Source['placeOf']> }>;

function targetOf(name: string, named: Map<string, Model[]>, fallbacks: Fallbacks): Target {
  const others = (fallbacks.get(name)?.others ?? []).filter((other) => other !== name && named.has(other));
  const own = deploymentsOf(named.get(name)!);
  if (others.length === 0) return own;
  return {
    strategy: { mode: 'fallback' },
    targets: [own, ...others.map((other) => deploymentsOf(named.get(other)!))],
  };
}

/** Several deployments of one name share its calls. */
function deploymentsOf(models: readonly Model[]): Target {
  const each = models.map(({ name, slug, model, weight }) => ({
    virtual_key: slug,
    ...(model !== name && { override_params: { model } }),
    ...(weight !== null && models.length > 1 && { weight }),
  }));
  return each.length === 1 ? each[0]! : { strategy: { mode: 'loadbalance' }, targets: each };
}

function settingsIn(source: Source, findings: Findings) {
  const value = (source.value ?? {}) as Record<string, unknown>;
  const find = <Schema extends z.ZodType>(schema: Schema, ...members: string[]) => {
    const paths = SECTIONS.flatMap((section) => members.map((member): Path => [section, member]));
    const path = paths.find(([section, member]) => memberOf(value[section!], member!) !== undefined);
    if (!path) return null;
    const found = checked(schema, memberOf(value[path[0]!], path[1]!), { source, path, findings });
    return found === null ? null : { found, place: source.placeOf(path) };
  };
  const lists = find(fallbackList, 'fallbacks');
  const timeout = find(seconds, 'request_timeout', 'timeout');
  const fallbacks: Fallbacks = new Map(
    (lists?.found ?? [])
      .flatMap((each) => Object.entries(each))
      .map(([name, others]) => [name, { others, place: lists!.place }]),
  );
  const retries = find(attempts, 'num_retries')?.found ?? null;
  return { fallbacks, retries, timeoutMs: timeout === null ? null : Math.round(timeout.found * 1_000) };
}

const memberOf = (section: unknown, member: string | number): unknown =>
  section !== null && typeof section === 'object'
    ? ((section as Record<string, unknown>)[member] ?? undefined)
    : undefined;
