import { useMemo } from 'react';
import { useApi } from '../../api/hooks.ts';
import { useMay, useWorkspace } from '../../shell/session.tsx';

/** What ids in entries are called, as far as the signed-in user may know it. */
export interface Names {
  readonly apiKey: (id: string) => string;
}

export const shortId = (id: string): string => (id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id);

export function useNames(): Names {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const keys = useApi(
    '/v1/api-keys',
    { query: { workspace_id, page_size: 500 } },
    { enabled: may('api_keys.list') },
  ).data;
  return useMemo(() => {
    const byId = new Map((keys?.data ?? []).map(({ id, name }) => [id, name]));
    return { apiKey: (id) => byId.get(id) ?? shortId(id) };
  }, [keys]);
}
