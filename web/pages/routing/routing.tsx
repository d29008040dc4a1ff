import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Config } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { CreateConfig } from './create-config.tsx';

const FILTERS = { find: '' };
const MOST = 500;

const COLUMNS: readonly Column<Config>[] = [
  {
    id: 'name',
    header: 'Name',
    sort: ({ name }) => name,
    cell: ({ name, slug }) => (
      <Link to="/routing/$slug" params={{ slug } as never} className="routing-link truncate">
        {name}
      </Link>
    ),
  },
  {
    id: 'slug',
    header: 'Slug',
    sort: ({ slug }) => slug,
    width: '260px',
    hideBelow: 'small',
    cell: ({ slug }) => (
      <span className="line gap-1">
        <code className="truncate">{slug}</code>
        <CopyButton text={slug} label={`Copy ${slug}`} />
      </span>
    ),
  },
  {
    id: 'state',
    header: 'State',
    width: '120px',
    sort: ({ status }) => status,
    cell: ({ status }) => (
      <Badge tone={status === 'active' ? 'good' : 'plain'} dot>
        {status}
      </Badge>
    ),
  },
  {
    id: 'updated',
    header: 'Changed',
    width: '140px',
    align: 'end',
    hideBelow: 'small',
    sort: ({ last_updated_at }) => last_updated_at,
    cell: ({ last_updated_at }) => <Ago at={last_updated_at} />,
  },
];

export default function Routing() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isCreating, setCreating] = useState(false);
  const list = useApi('/v1/configs', { query: { workspace_id, page_size: MOST } });
  const mayCreate = may('configs.create');
  const wanted = filters.find.trim().toLowerCase();
  const configs = list.data?.data.filter(({ name, slug }) => `${name} ${slug}`.toLowerCase().includes(wanted));
  const open = (slug: string) => void navigate({ to: '/routing/$slug', params: { slug } as never });

  const begin = useMemo(() => () => setCreating(true), []);
  useShortcut('c', 'Create a config', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a config', icon: 'plus' as const, words: 'routing', run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a config
    </Button>
  );
  const isEmpty = list.data?.data.length === 0;
  return (
    <>
      <PageHeader
        title="Routing"
        about="A config says who is asked, in which order, and how: fallback, shares, conditions, retries, cache. Calls name it by its slug."
      >
        {!isEmpty && create}
      </PageHeader>
      <Stack>
        {!isEmpty && (
          <FilterInput label="Filter configs" value={filters.find} onChange={(find) => setFilters({ find })} />
        )}
        <Card isFlush>
          <Table
            label="Configs"
            rows={configs}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ slug }) => open(slug)}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              wanted ? (
                <EmptyState icon="search" title={`Nothing matches “${filters.find}”`} />
              ) : (
                <EmptyState icon="route" title="No configs yet" action={create}>
                  Begin with a fallback: when the first provider fails, the second one answers, and nobody notices.
                </EmptyState>
              )
            }
          />
        </Card>
      </Stack>
      {isCreating && <CreateConfig onClose={() => setCreating(false)} onMade={open} />}
    </>
  );
}
