import { appendMember, findMembers, removeMembers, splice } from '../core/json-bytes.ts';
import type { ConfigObject } from './config.ts';

/** What a config changes in a JSON body: the name of the model, defaults, then overrides, then what is dropped. */
export interface ParamEdits {
  /** Taken off the model's name where it begins so; null: the name stays. */
  readonly modelPrefix: string | null;
  /** Set where the body has no such member. */
  readonly defaults: readonly TextMember[];
  readonly overrides: readonly TextMember[];
  readonly drops: readonly DropPath[];
  /** Where they set a model that begins with `@slug/`: the same with the name behind it. Null: they do not. */
  readonly slugged: { readonly slug: string; readonly model: string; readonly plain: ParamEdits } | null;
}

interface TextMember {
  readonly name: string;
  /** JSON, made once. */
  readonly text: string;
}

interface DropPath {
  readonly member: string;
  /** Steps below the top-level member; none: the member itself. */
  readonly steps: readonly (string | number | '*')[];
}

const MODEL_SLUG = /^@([^/]+)\/(.+)$/s;

export function compileParams(config: ConfigObject): ParamEdits | null {
  const { default_params, override_params, drop_params } = config;
  const modelPrefix = config.strip_model_prefix ?? null;
  const drops = Array.isArray(drop_params) ? drop_params.map(dropPath) : [];
  const whole = {
    modelPrefix,
    defaults: members(default_params),
    overrides: members(override_params),
    drops,
    slugged: null,
  };
  if (modelPrefix === null && whole.defaults.length + whole.overrides.length + drops.length === 0) return null;
  const model = override_params?.model ?? default_params?.model;
  const [, slug, name] = typeof model === 'string' ? (MODEL_SLUG.exec(model) ?? []) : [];
  if (slug === undefined || name === undefined) return whole;
  const plain = {
    ...whole,
    defaults: members(default_params && withModel(default_params, name)),
    overrides: members(override_params && withModel(override_params, name)),
  };
  return { ...whole, slugged: { slug, model: model as string, plain } };
}

const withModel = (params: Readonly<Record<string, unknown>>, model: string) =>
  'model' in params ? { ...params, model } : params;

const members = (params: Readonly<Record<string, unknown>> | undefined): TextMember[] =>
  Object.entries(params ?? {}).map(([name, value]) => ({ name, text: JSON.stringify(value) }));

function dropPath(path: string): DropPath {
  const [member = '', ...steps] = path
    .replace(/\[(\d+|\*)\]/g, '.$1')
    .split('.')
    .map((step, index) => (index > 0 && /^\d+$/.test(step) ? Number(step) : step));
  return { member: String(member), steps };
}

/** The body with the edits. Members that are not named keep their bytes. */
export function applyParams(body: Uint8Array, edits: ParamEdits): Uint8Array {
  let bytes = edits.modelPrefix === null ? body : withoutPrefix(body, edits.modelPrefix);
  for (const { name, text } of edits.defaults) {
    if (findMembers(bytes, name, 1).length === 0) bytes = appendMember(bytes, name, text);
  }
  for (const { name, text } of edits.overrides) bytes = setMember(bytes, name, text);
  for (const { member, steps } of edits.drops) {
    bytes = steps.length === 0 ? removeAll(bytes, member) : dropInside(bytes, member, steps);
  }
  return bytes;
}

/** A name that is nothing but the prefix stays: no provider has a model without a name. */
function withoutPrefix(body: Uint8Array, prefix: string): Uint8Array {
  const [member] = findMembers(body, 'model', 1);
  if (!member) return body;
  let name: unknown;
  try {
    name = JSON.parse(new TextDecoder().decode(body.subarray(member.start, member.end)));
  } catch {
    return body;
  }
  if (typeof name !== 'string' || !name.startsWith(prefix) || name === prefix) return body;
  return setMember(body, 'model', JSON.stringify(name.slice(prefix.length)));
}

/** Sets a top-level member; of several of that name only one is left. */
export function setMember(body: Uint8Array, name: string, text: string): Uint8Array {
  const found = findMembers(body, name);
  const bytes = found.length > 1 ? removeMembers(body, found.slice(0, -1)) : body;
  const [only] = found.length > 1 ? findMembers(bytes, name, 1) : found;
  return only ? splice(bytes, only, text) : appendMember(bytes, name, text);
}

const removeAll = (body: Uint8Array, name: string): Uint8Array => removeMembers(body, findMembers(body, name));

/** Only the top-level member that holds the path is parsed and written again. */
function dropInside(bytes: Uint8Array, name: string, steps: DropPath['steps']): Uint8Array {
  const [member] = findMembers(bytes, name, 1);
  if (!member) return bytes;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes.subarray(member.start, member.end)));
  } catch {
    return bytes;
  }
  return removeAt(value, steps) ? splice(bytes, member, JSON.stringify(value)) : bytes;
}

function removeAt(value: unknown, [step, ...rest]: DropPath['steps']): boolean {
  if (value === null || typeof value !== 'object' || step === undefined) return false;
  if (step === '*') {
    if (!Array.isArray(value)) return false;
    if (rest.length === 0) return value.splice(0).length > 0;
    return value.map((item) => removeAt(item, rest)).some(Boolean);
  }
  if (!Object.hasOwn(value, step)) return false;
  const holder = value as Record<string | number, unknown>;
  if (rest.length > 0) return removeAt(holder[step], rest);
  if (Array.isArray(value)) value.splice(Number(step), 1);
  else delete holder[step];
  return true;
}
