import { term } from './reach.ts';

export type Value = string | number | null;

export interface Dimension {
  /** As `/v1/analytics/series` calls it. */
  readonly value: string;
  /** Of one of them: `Model`. */
  readonly label: string;
  /** The term that asks the log for entries of that value; null: the log cannot be asked for it. */
  readonly termOf: ((value: Value) => string) | null;
}

const by = (field: string) => (value: Value) => term(field, value);

/** What calls can be told apart by. */
export const DIMENSIONS: readonly Dimension[] = [
  { value: 'model', label: 'Model', termOf: by('model') },
  { value: 'provider', label: 'Provider', termOf: by('provider') },
  { value: 'api_key_id', label: 'API key', termOf: by('api_key') },
  { value: 'virtual_key', label: 'Virtual key', termOf: by('virtual_key') },
  { value: 'user_id', label: 'User', termOf: by('user') },
  { value: 'status', label: 'Status', termOf: by('status') },
  { value: 'failed_by', label: 'Origin of errors', termOf: by('failed_by') },
  { value: 'error_code', label: 'Error code', termOf: by('error') },
  { value: 'endpoint', label: 'Endpoint', termOf: pathTerm },
  { value: 'verdict', label: 'Guardrail verdict', termOf: by('verdict') },
  { value: 'cache_status', label: 'Cache', termOf: by('cache') },
];

/** An endpoint has `*` where calls name a thing, and no query. */
function pathTerm(value: Value): string {
  if (value === null) return term('path', null);
  const path = String(value);
  return /[\s,"\\]/.test(path) ? term('path', path) : `path:${path},${path}?*`;
}

/** The term that asks for entries of none of these values; null where there is no such term. */
export function termOfOthers({ termOf }: Dimension, values: readonly Value[]): string | null {
  if (!termOf) return null;
  const field = termOf(null).slice(0, -NOTHING.length);
  const said = values.map((value) => termOf(value).slice(field.length));
  return `-${field}${said.join(',')}`;
}
const NOTHING = 'none';

export const METADATA = 'metadata.';

export function dimensionOf(name: string): Dimension {
  const key = name.startsWith(METADATA) ? name.slice(METADATA.length) : null;
  if (key !== null && key !== '') return { value: name, label: key, termOf: (value) => term(`meta.${key}`, value) };
  return DIMENSIONS.find(({ value }) => value === name) ?? DIMENSIONS[0]!;
}
