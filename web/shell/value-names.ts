import { useMemo } from 'react';
import { useApi } from '../api/hooks.ts';
import type { Value } from './dimensions.ts';
import { useMay, useWorkspace } from './session.tsx';

const MOST = 500;
const NONE: Readonly<Record<string, string>> = {
  api_key_id: '(no key)',
  user_id: '(no user)',
  failed_by: '(no error)',
  error_code: '(no error)',
  verdict: '(not looked at)',
  cache_status: '(no cache)',
};

/** What values of these dimensions are called: keys and people by their names, where the role may know them. */
export function useValueNames(of: readonly (string | undefined)[]): (dimension: string, value: Value) => string {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const keys = useApi(
    '/v1/api-keys',
    { query: { workspace_id, page_size: MOST } },
    { enabled: of.includes('api_key_id') && may('api_keys.list'), isLater: true },
  ).data;
  const users = useApi(
    '/v1/admin/users',
    { query: { page_size: MOST } },
    { enabled: of.includes('user_id') && may('users.list'), isLater: true },
  ).data;
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
