import type { Model } from './models.ts';

/** How a model whose name has a star is called at its provider. Null: the star leads to a name that cannot be made. */
export type Renaming = { readonly override_params?: { readonly model: string }; readonly strip_model_prefix?: string };

export const isWildcard = (name: string): boolean => name.includes('*');

const around = (text: string): [before: string, after: string] => {
  const star = text.indexOf('*');
  return [text.slice(0, star), text.slice(star + 1)];
};

/** `openai/*` at a provider that knows `*`: the part before the star goes. */
export function renaming({ name, model }: Pick<Model, 'name' | 'model'>): Renaming | null {
  if (!isWildcard(model)) return { override_params: { model } };
  const [before, after] = around(name);
  const [wanted, end] = around(model);
  if (after !== end || after.includes('*') || !before.endsWith(wanted)) return null;
  const prefix = before.slice(0, before.length - wanted.length);
  return prefix === '' ? {} : { strip_model_prefix: prefix };
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The pattern of a name with stars. */
export const patternOf = (name: string): string => `^${name.split('*').map(escaped).join('.*')}$`;

/** What the provider is asked for when a client calls `called` through this wildcard; null: it does not match. */
export function calledThrough({ name, model }: Pick<Model, 'name' | 'model'>, called: string): string | null {
  if (!new RegExp(patternOf(name), 's').test(called)) return null;
  const how = renaming({ name, model });
  if (how === null) return null;
  if (how.override_params) return how.override_params.model;
  return how.strip_model_prefix ? called.slice(how.strip_model_prefix.length) : called;
}
