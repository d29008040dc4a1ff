import { useMemo } from 'react';
import { useApi } from '../api/hooks.ts';
import { term } from './range.ts';
import { useMay, useWorkspace } from './session.tsx';

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

const MOST = 500;
const NONE: Readonly<Record<string, string>> = {
  api_key_id: '(no key)',
  user_id: '(no user)',
  failed_by: '(no error)',
  error_code: '(no error)',
  verdict: '(not looked at)',
  cache_status: '(no cache)',
};

/** What values are called: keys and people by their names, where the role may know them. */
export function useValueNames(): (dimension: string, value: Value) => string {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const keys = useApi(
    '/v1/api-keys',
    { query: { workspace_id, page_size: MOST } },
    { enabled: may('api_keys.list') },
  ).data;
  const users = useApi('/v1/admin/users', { query: { page_size: MOST } }, { enabled: may('users.list') }).data;
  return useMemo(() => {
    const names = new Map<string, string>();
    for (const key of keys?.data ?? []) names.set(`api_key_id ${key.id}`, key.name);
    for (const user of users?.data ?? [])
      names.set(
        `user_id ${user.id}`,
        [user.first_name, user.last_name].filter(Boolean).join(' ') || user.username || user.email,
      );
    return (dimension, value) => {
      if (value === null) return NONE[dimension] ?? '(none)';
      const name = names.get(`${dimension} ${value}`);
      if (name !== undefined) return name;
      const isId = (dimension === 'api_key_id' || dimension === 'user_id') && String(value).length > 24;
      return isId ? `${String(value).slice(0, 4)}…${String(value).slice(-6)}` : String(value);
    };
  }, [keys, users]);
}
