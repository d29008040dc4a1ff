import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { formatDate } from '../../design/format.ts';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { CreateKey } from './create-key.tsx';
import { DeleteKey } from './delete-key.tsx';
import { EditKey } from './edit-key.tsx';
import { KeyPanel, Usage } from './key-panel.tsx';
import { RotateKey } from './rotate-key.tsx';

const FILTERS = { find: '', open: '', create: false };
const MOST = 500;

export const TONES: Readonly<Record<ApiKey['status'], Tone>> = {
  active: 'good',
  exhausted: 'warn',
  expired: 'bad',
  suspended: 'bad',
};

type Doing = { readonly what: 'edit' | 'rotate' | 'delete'; readonly key: ApiKey } | null;

export default function ApiKeys() {
  const { id: workspace_id, slug } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/api-keys', { query: { workspace_id, page_size: MOST } });
  const mayCreate = may('api_keys.create');

  const wanted = filters.find.trim().toLowerCase();
  const keys = list.data?.data.filter((key) => `${key.name} ${key.masked_key}`.toLowerCase().includes(wanted));
  const opened = list.data?.data.find(({ id }) => id === filters.open) ?? null;

  const begin = useMemo(() => () => setFilters({ create: true }), [setFilters]);
  useShortcut('c', 'Create a key', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create an API key', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );

  const columns = useMemo((): readonly Column<ApiKey>[] => {
    const items = (key: ApiKey) => [
      ...(may('api_keys.update')
        ? [{ label: 'Edit', icon: 'edit' as const, onSelect: () => setDoing({ what: 'edit', key }) }]
        : []),
      ...(may('api_keys.rotate') && !key.is_login
        ? [
            {
              label: 'Give it a new secret',
              icon: 'refresh' as const,
              onSelect: () => setDoing({ what: 'rotate', key }),
            },
          ]
        : []),
      ...(may('api_keys.delete')
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
        id: 'secret',
        header: 'Key',
        hideBelow: 'small',
        cell: (key) => <code className="soft">{key.masked_key}</code>,
      },
      {
        id: 'status',
        header: 'State',
        sort: (key) => key.status,
        width: '110px',
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
        width: '190px',
        cell: (key) => <Usage usage={key.usage} />,
      },
      {
        id: 'expires',
        header: 'Expires',
        hideBelow: 'large',
        sort: (key) => key.expires_at ?? '9',
        cell: (key) => (key.expires_at ? formatDate(key.expires_at) : <span className="soft">never</span>),
      },
      {
        id: 'made',
        header: 'Made',
        hideBelow: 'medium',
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
      Create a key
    </Button>
  );
  return (
    <>
      <PageHeader title="API keys" about={`What applications call the gateway with, in the workspace ${slug}.`}>
        {list.data && list.data.data.length > 0 && create}
      </PageHeader>
      <Stack gap={3}>
        {list.data && list.data.data.length > 0 && (
          <FilterInput label="Filter keys" value={filters.find} onChange={(find) => setFilters({ find })} />
        )}
        <Card isFlush>
          <Table
            label="API keys"
            rows={keys}
            columns={columns}
            rowKey={(key) => key.id}
            onOpen={(key) => setFilters({ open: key.id === filters.open ? '' : key.id })}
            openKey={filters.open || null}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              wanted ? (
                <EmptyState icon="search" title="No key is called that" />
              ) : (
                <EmptyState icon="key" title="No keys yet" action={create}>
                  An application needs a key to call models. Give each application its own: then its spend, its limits
                  and its end are its own, too.
                </EmptyState>
              )
            }
          />
        </Card>
      </Stack>
      {opened && (
        <KeyPanel
          apiKey={opened}
          onClose={() => setFilters({ open: '' })}
          onEdit={may('api_keys.update') ? () => setDoing({ what: 'edit', key: opened }) : null}
          onRotate={may('api_keys.rotate') && !opened.is_login ? () => setDoing({ what: 'rotate', key: opened }) : null}
          onDelete={may('api_keys.delete') ? () => setDoing({ what: 'delete', key: opened }) : null}
        />
      )}
      {filters.create && mayCreate && <CreateKey onClose={() => setFilters({ create: false })} />}
      {doing?.what === 'edit' && <EditKey apiKey={doing.key} onClose={() => setDoing(null)} />}
      {doing?.what === 'rotate' && <RotateKey apiKey={doing.key} onClose={() => setDoing(null)} />}
      {doing?.what === 'delete' && (
        <DeleteKey
          apiKey={doing.key}
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
