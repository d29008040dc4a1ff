import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { Usage } from '../api-keys/key-panel.tsx';
import { DeleteProvider } from './delete-provider.tsx';
import { EditProvider } from './edit-provider.tsx';
import { TestProvider } from './test-provider.tsx';

const FILTERS = { find: '', create: false };
const MOST = 500;
const TONES: Readonly<Record<VirtualKey['status'], Tone>> = { active: 'good', exhausted: 'warn', expired: 'bad' };

type Doing = { readonly what: 'edit' | 'test' | 'delete'; readonly key: VirtualKey } | null;

export default function Providers() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/virtual-keys', { query: { workspace_id, page_size: MOST } });
  const mayCreate = may('virtual_keys.create');
  const begin = useMemo(() => () => setFilters({ create: true }), [setFilters]);
  useShortcut('c', 'Add a provider', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Add a provider', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const wanted = filters.find.trim().toLowerCase();
  const keys = list.data?.data.filter((key) =>
    `${key.name} ${key.slug} ${key.provider}`.toLowerCase().includes(wanted),
  );
  const columns = useMemo((): readonly Column<VirtualKey>[] => {
    const items = (key: VirtualKey) => [
      ...(may('completions.write')
        ? [{ label: 'Test', icon: 'play' as const, onSelect: () => setDoing({ what: 'test', key }) }]
        : []),
      ...(may('virtual_keys.update')
        ? [{ label: 'Change', icon: 'edit' as const, onSelect: () => setDoing({ what: 'edit', key }) }]
        : []),
      ...(may('virtual_keys.delete')
        ? [
            null,
            {
              label: 'Delete',
              icon: 'trash' as const,
              isDanger: true,
              onSelect: () => setDoing({ what: 'delete', key }),
            },
          ]
        : []),
    ];
    return [
      { id: 'name', header: 'Name', sort: (key) => key.name, cell: (key) => <strong>{key.name}</strong> },
      {
        id: 'slug',
        header: 'Called as',
        hideBelow: 'small',
        sort: (key) => key.slug,
        cell: (key) => <code>@{key.slug}</code>,
      },
      { id: 'provider', header: 'Provider', sort: (key) => key.provider, cell: (key) => key.provider },
      {
        id: 'secret',
        header: 'Credential',
        hideBelow: 'large',
        cell: (key) => <code className="soft">{key.masked_key || 'none'}</code>,
      },
      {
        id: 'status',
        header: 'State',
        hideBelow: 'small',
        sort: (key) => key.status,
        cell: (key) => (
          <Badge tone={TONES[key.status]} dot>
            {key.status}
          </Badge>
        ),
      },
      {
        id: 'usage',
        header: 'Budget',
        hideBelow: 'medium',
        width: '180px',
        cell: (key) => <Usage usage={key.usage} />,
      },
      {
        id: 'made',
        header: 'Made',
        hideBelow: 'large',
        sort: (key) => key.created_at,
        cell: (key) => (
          <span className="soft">
            <Ago at={key.created_at} />
          </span>
        ),
      },
      {
        id: 'more',
        header: <span className="hidden-visually">Actions</span>,
        width: '48px',
        align: 'end',
        cell: (key) =>
          items(key).length > 0 && (
            <Menu
              items={items(key)}
              trigger={<IconButton size="small" icon="more" label={`Actions for ${key.name}`} />}
            />
          ),
      },
    ];
  }, [may]);
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Add a provider
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Providers"
        about="Credentials for model providers, sealed. Calls name one as a virtual key; applications never see what is in it."
      >
        {create}
      </PageHeader>
      <Stack gap={3}>
        <FilterInput label="Filter providers" value={filters.find} onChange={(find) => setFilters({ find })} />
        <Card isFlush>
          <Table
            label="Virtual keys"
            rows={keys}
            columns={columns}
            rowKey={(key) => key.id}
            onOpen={may('virtual_keys.update') ? (key) => setDoing({ what: 'edit', key }) : undefined}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              wanted ? (
                <EmptyState icon="search" title="No provider is called that" />
              ) : (
                <EmptyState icon="plug" title="No providers yet" action={create}>
                  Add the credential of a provider once; every application then calls it through the gateway.
                </EmptyState>
              )
            }
          />
        </Card>
      </Stack>
      {filters.create && mayCreate && <EditProvider virtualKey={null} onClose={() => setFilters({ create: false })} />}
      {doing?.what === 'edit' && <EditProvider virtualKey={doing.key} onClose={() => setDoing(null)} />}
      {doing?.what === 'test' && <TestProvider virtualKey={doing.key} onClose={() => setDoing(null)} />}
      {doing?.what === 'delete' && <DeleteProvider virtualKey={doing.key} onClose={() => setDoing(null)} />}
    </>
  );
}
