import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import type { Guardrail } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { formatNumber } from '../../design/format.ts';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { CreateGuardrail } from './create-guardrail.tsx';
import { hitRate, LatestHits, useGuardrailFigures, Verdicts } from './hits.tsx';

const FILTERS = { find: '' };
const MOST = 500;

type Figures = ResponseOf<'/v1/analytics/groups/guardrails'>['data'][number];

/** What guardrails came to in the last days. */
const figureColumns = (figures: ReadonlyMap<string, Figures> | null): readonly Column<Guardrail>[] => [
  {
    id: 'judged',
    header: 'Judged',
    width: '90px',
    align: 'end',
    hideBelow: 'medium',
    sort: ({ slug }) => figures?.get(slug)?.requests ?? 0,
    cell: ({ slug }) => (figures ? formatNumber(figures.get(slug)?.requests ?? 0) : '–'),
  },
  {
    id: 'rate',
    header: 'Hit rate',
    width: '100px',
    align: 'end',
    sort: ({ slug }) => {
      const own = figures?.get(slug);
      return own ? (own.failed + own.denied) / own.requests : -1;
    },
    cell: ({ slug }) => {
      const own = figures?.get(slug);
      return own ? hitRate(own) : '–';
    },
  },
];

const COLUMNS: readonly Column<Guardrail>[] = [
  {
    id: 'name',
    header: 'Name',
    sort: ({ name }) => name,
    cell: ({ name, slug }) => (
      <Link to="/guardrails/$slug" params={{ slug } as never} className="guardrails-link truncate">
        {name}
      </Link>
    ),
  },
  {
    id: 'slug',
    header: 'Slug',
    width: '220px',
    hideBelow: 'medium',
    sort: ({ slug }) => slug,
    cell: ({ slug }) => (
      <span className="line gap-1">
        <code className="truncate">{slug}</code>
        <CopyButton text={slug} label={`Copy ${slug}`} />
      </span>
    ),
  },
  {
    id: 'reach',
    header: 'Belongs to',
    width: '130px',
    hideBelow: 'small',
    sort: ({ workspace_id }) => workspace_id ?? '',
    cell: ({ workspace_id }) =>
      workspace_id === null ? <Badge tone="accent">organisation</Badge> : <Badge>workspace</Badge>,
  },
  {
    id: 'updated',
    header: 'Changed',
    width: '110px',
    align: 'end',
    hideBelow: 'small',
    sort: ({ last_updated_at }) => last_updated_at,
    cell: ({ last_updated_at }) => <Ago at={last_updated_at} />,
  },
];

export default function Guardrails() {
  const workspace = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isCreating, setCreating] = useState(false);
  // Without a workspace in the question, those of the organisation come, too.
  const list = useApi('/v1/guardrails', { query: { page_size: MOST } });
  const { isShown, found } = useGuardrailFigures();
  const columns = useMemo(() => {
    const figures = found.data ? new Map(found.data.data.map((each) => [each.guardrail, each])) : null;
    return isShown ? [...COLUMNS, ...figureColumns(figures)] : COLUMNS;
  }, [isShown, found.data]);
  const mayCreate = may('guardrails.create');
  const own = list.data?.data.filter(({ workspace_id }) => workspace_id === null || workspace_id === workspace.id);
  const wanted = filters.find.trim().toLowerCase();
  const shown = own?.filter(({ name, slug }) => `${name} ${slug}`.toLowerCase().includes(wanted));
  const open = (slug: string) => void navigate({ to: '/guardrails/$slug', params: { slug } as never });

  const begin = useMemo(() => () => setCreating(true), []);
  useShortcut('c', 'Create a guardrail', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a guardrail', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a guardrail
    </Button>
  );
  const isEmpty = own?.length === 0;
  return (
    <>
      <PageHeader
        title="Guardrails"
        about="Checks that look at requests before they are sent, and at answers before they are given on."
      >
        {!isEmpty && create}
      </PageHeader>
      <Stack>
        {!isEmpty && may('analytics.view') && <Verdicts />}
        {!isEmpty && (
          <FilterInput label="Filter guardrails" value={filters.find} onChange={(find) => setFilters({ find })} />
        )}
        <Card isFlush>
          <Table
            label="Guardrails"
            rows={shown}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ slug }) => open(slug)}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              wanted ? (
                <EmptyState icon="search" title={`Nothing matches “${filters.find}”`} />
              ) : (
                <EmptyState icon="shield" title="No guardrails yet" action={create}>
                  Begin with one that blacks out personal data, and try it on a text before any call meets it.
                </EmptyState>
              )
            }
          />
        </Card>
        {!isEmpty && may('logs.list') && <LatestHits guardrail={null} />}
      </Stack>
      {isCreating && <CreateGuardrail onClose={() => setCreating(false)} onMade={open} />}
    </>
  );
}
