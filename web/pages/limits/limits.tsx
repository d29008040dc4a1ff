import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import { Button } from '../../design/button.tsx';
import { Card, PageHeader } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { DeletePolicy } from './delete-policy.tsx';
import { EditPolicy } from './edit-policy.tsx';
import { NearLimit } from './near-limit.tsx';
import { amountOf, isUsage, nameOfPolicy, type Policy, whoOf } from './policy.ts';
import { PolicyPanel } from './policy-panel.tsx';

const FILTERS = { tab: 'near', open: '' };
const MOST = 200;

type Doing =
  | { readonly what: 'edit'; readonly policy: Policy | null }
  | { readonly what: 'delete'; readonly policy: Policy }
  | null;

const COLUMNS: readonly Column<Policy>[] = [
  {
    id: 'name',
    header: 'Policy',
    sort: nameOfPolicy,
    cell: (policy) => <strong>{nameOfPolicy(policy)}</strong>,
  },
  { id: 'amount', header: 'Each may', sort: amountOf, cell: amountOf },
  {
    id: 'who',
    header: 'Counted by',
    hideBelow: 'small',
    cell: (policy) => <span className="soft">{whoOf(policy)}</span>,
  },
  {
    id: 'where',
    header: 'Holds in',
    hideBelow: 'medium',
    width: '150px',
    cell: ({ workspace_id }) => (workspace_id ? 'this workspace' : 'every workspace'),
  },
];

export default function Limits() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const rates = useApi('/v1/policies/rate-limits', { query: { workspace_id, page_size: MOST } });
  const budgets = useApi('/v1/policies/usage-limits', { query: { workspace_id, page_size: MOST } });
  const policies = useMemo(
    (): readonly Policy[] | undefined => rates.data && budgets.data && [...budgets.data.data, ...rates.data.data],
    [rates.data, budgets.data],
  );
  const mayCreate = may('policies.create');
  const begin = useMemo(() => () => setDoing({ what: 'edit', policy: null }), []);
  useShortcut('c', 'Create a policy', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a policy', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a policy
    </Button>
  );
  const opened = policies?.find(({ id }) => id === filters.open) ?? null;
  return (
    <>
      <PageHeader
        title="Limits"
        about="What keys, people and teams may spend, and how fast. A call has to fit every limit that concerns it."
      >
        {create}
      </PageHeader>
      <Tabs
        label="Limits"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab, open: '' })}
        tabs={[
          {
            value: 'near',
            label: 'Near their limit',
            content: (
              <NearLimit policies={budgets.data?.data} onPolicy={(open) => setFilters({ tab: 'policies', open })} />
            ),
          },
          {
            value: 'policies',
            label: policies && policies.length > 0 ? `Policies (${policies.length})` : 'Policies',
            content: (
              <Card isFlush>
                <Table
                  label="Policies"
                  rows={policies}
                  columns={COLUMNS}
                  rowKey={({ id }) => id}
                  onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
                  openKey={filters.open || null}
                  error={rates.error ?? budgets.error}
                  onRetry={() => void Promise.all([rates.refetch(), budgets.refetch()])}
                  empty={
                    <EmptyState icon="gauge" title="No policies yet" action={create}>
                      A policy limits many callers at once, each by itself: 20 requests a minute for every user, 50
                      dollars a month for every team.
                    </EmptyState>
                  }
                />
              </Card>
            ),
          },
        ]}
      />
      {opened && filters.tab === 'policies' && (
        <PolicyPanel
          key={opened.id}
          policy={opened}
          onClose={() => setFilters({ open: '' })}
          onEdit={may('policies.update') ? () => setDoing({ what: 'edit', policy: opened }) : null}
          onDelete={may('policies.delete') ? () => setDoing({ what: 'delete', policy: opened }) : null}
        />
      )}
      {doing?.what === 'edit' && (
        <EditPolicy
          policy={doing.policy}
          onClose={() => setDoing(null)}
          onSaved={({ id }) => {
            setDoing(null);
            setFilters({ tab: 'policies', open: id });
          }}
        />
      )}
      {doing?.what === 'delete' && (
        <DeletePolicy
          policy={doing.policy}
          isUsage={isUsage(doing.policy)}
          onClose={() => setDoing(null)}
          onDeleted={() => {
            setDoing(null);
            setFilters({ open: '' });
          }}
        />
      )}
    </>
  );
}
