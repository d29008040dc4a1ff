import { useApi } from '../api/hooks.ts';
import { Card } from '../design/layout.tsx';
import { EmptyState } from '../design/states.tsx';
import { useMay, useWorkspace } from './session.tsx';

/**
 * Threads, batches and fine-tuning jobs are asked for with a virtual key, and any of the workspace does: its first one.
 * Where something is begun, the user chooses which one pays.
 */
export function usePaying() {
  const may = useMay();
  const { id: workspace_id } = useWorkspace();
  const list = useApi(
    '/v1/virtual-keys',
    { query: { workspace_id, page_size: 200 } },
    { enabled: may('virtual_keys.list') },
  );
  const keys = list.data?.data ?? [];
  const slug = keys[0]?.slug ?? '';
  return {
    choices: keys.map(({ slug: value, name: label }) => ({ value, label })),
    slug,
    headers: paidBy(slug),
    /** None is there, so nothing of that kind can be. */
    isMissing: list.data !== undefined && slug === '',
  };
}

export const paidBy = (slug: string): Readonly<Record<string, string>> => ({ 'x-gateway-virtual-key': slug });

export const NeedsProvider = ({ what }: { readonly what: string }) => (
  <Card>
    <EmptyState icon="plug" title="There is no provider yet">
      {what} need a virtual key that pays for them. Make one on the page Providers; then this page opens.
    </EmptyState>
  </Card>
);
