import * as z from 'zod';
import { checked, type Findings, type Place, pathText } from '../../desired/reading/findings.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { atMost5 } from './models.ts';
import { asNumber } from './numbers.ts';

/** Where LiteLLM keeps what becomes part of the config: in either section. */
const SECTIONS = ['litellm_settings', 'router_settings'] as const;

const MEMBERS = new Set(
  'fallbacks default_fallbacks num_retries request_timeout timeout allowed_fails cooldown_time cache cache_params drop_params model_group_alias routing_strategy default_litellm_params'.split(
    ' ',
  ),
);

/** Whether a setting is read here or in what builds the config. */
export const isRouting = (section: string, member: string): boolean =>
  (SECTIONS as readonly string[]).includes(section) && MEMBERS.has(member);

const names = z.union([z.string().transform((one) => [one]), z.array(z.string())], { error: 'give a list of models' });
const fallbackList = z.union(
  [z.array(z.record(z.string(), names)), z.record(z.string(), names).transform((one) => [one])],
  { error: 'give a list such as [{"a": ["b"]}]' },
);
const attempts = z.int('give a whole number').min(0);
const seconds = z.number('give seconds').positive('give seconds above 0').max(86_400);
const count = z.number('give a number').min(0);
const alias = z.record(
  z.string(),
  z.union([z.string(), z.looseObject({ model: z.string() }).transform(({ model }) => model)]),
  { error: 'give an object such as {"name": "model"}' },
);
const params = z.record(z.string(), z.unknown(), { error: 'give an object of parameters' });

export interface Fallback {
  readonly others: readonly string[];
  readonly place: Place;
}

/** What stands outside the model list and becomes part of the config. */
export interface RoutingSettings {
  readonly fallbacks: ReadonlyMap<string, Fallback>;
  /** For every model that has none of its own. */
  readonly otherwise: Fallback | null;
  readonly retries: number | null;
  readonly timeoutMs: number | null;
  readonly breaker: { readonly failure_threshold: number; readonly cooldown_interval: number } | null;
  readonly aliases: ReadonlyMap<string, { readonly model: string; readonly place: Place }>;
  readonly defaults: Readonly<Record<string, unknown>> | null;
  /** What a target cannot be told is left out and named, instead of refused. */
  readonly drops: boolean;
}

const LEAST_COOLDOWN_MS = 30_000;
const COOLDOWN_S = 5;

export function settingsIn(source: Source, findings: Findings): RoutingSettings {
  const value = (source.value ?? {}) as Record<string, unknown>;
  const find = <Schema extends z.ZodType>(schema: Schema, ...members: string[]) => {
    const paths = members.flatMap((member) => SECTIONS.map((section): Path => [section, member]));
    const path = paths.find(([section, member]) => memberOf(value[section!], member!) !== undefined);
    if (!path) return null;
    const found = checked(schema, asNumber(memberOf(value[path[0]!], path[1]!)), { source, path, findings });
    const note = (says: string) => findings.note(source.placeOf(path), `${pathText(path)} ${says}`);
    return found === null ? null : { found, place: source.placeOf(path), note };
  };
  const lists = find(fallbackList, 'fallbacks');
  const others = find(names, 'default_fallbacks');
  const timeout = find(seconds, 'timeout', 'request_timeout');
  const retries = find(attempts, 'num_retries');
  const fails = find(count, 'allowed_fails');
  const cooldown = find(count, 'cooldown_time');
  const aliases = find(alias, 'model_group_alias');
  const strategy = find(z.string('give a text'), 'routing_strategy');
  if (strategy && strategy.found !== 'simple-shuffle')
    strategy.note(`is ${strategy.found}; deployments of one name are balanced by their weights`);
  const drops = find(z.boolean('give true or false'), 'drop_params');
  const cooldownMs = (cooldown?.found ?? COOLDOWN_S) * 1_000;
  if (cooldown && cooldownMs < LEAST_COOLDOWN_MS)
    cooldown.note(`is ${cooldown.found}; a deployment rests at least ${LEAST_COOLDOWN_MS / 1_000} seconds`);
  return {
    fallbacks: new Map(
      (lists?.found ?? [])
        .flatMap((each) => Object.entries(each))
        .map(([name, models]) => [name, { others: models, place: lists!.place }]),
    ),
    otherwise: others && { others: others.found, place: others.place },
    retries: atMost5(retries?.found ?? null, (says) => retries?.note(says)),
    timeoutMs: timeout === null ? null : Math.round(timeout.found * 1_000),
    breaker:
      fails || cooldown
        ? {
            failure_threshold: Math.max(1, Math.round(fails?.found ?? 3)),
            cooldown_interval: Math.min(86_400_000, Math.max(LEAST_COOLDOWN_MS, Math.round(cooldownMs))),
          }
        : null,
    aliases: new Map(
      Object.entries(aliases?.found ?? {}).map(([name, model]) => [name, { model, place: aliases!.place }]),
    ),
    defaults: find(params, 'default_litellm_params')?.found ?? null,
    drops: drops?.found ?? false,
  };
}

const memberOf = (section: unknown, member: string | number): unknown =>
  section !== null && typeof section === 'object'
    ? ((section as Record<string, unknown>)[member] ?? undefined)
    : undefined;
