import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Workspace } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { Usage } from '../api-keys/key-panel.tsx';
import { CreateWorkspace } from './create-workspace.tsx';
import { DeleteWorkspace } from './delete-workspace.tsx';
import { WorkspacePanel } from './workspace-panel.tsx';

const FILTERS = { open: '' };

type Doing = { readonly what: 'create' } | { readonly what: 'delete'; readonly workspace: Workspace } | null;

export default function Workspaces() {
  const may = useMay();
  const here = useWorkspace();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/admin/workspaces', { query: { page_size: 500 } });
  const mayCreate = may('workspaces.create', 'organisation.manage');
  const begin = useMemo(() => () => setDoing({ what: 'create' }), []);
  useShortcut('c', 'Create a workspace', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a workspace', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const columns = useMemo(
    (): readonly Column<Workspace>[] => [
      {
        id: 'name',
        header: 'Name',
        sort: ({ name }) => name,
        cell: (each) => (
          <span className="line gap-2">
            <strong>{each.name}</strong>
            {each.id === here.id && <Badge tone="accent">here</Badge>}
          </span>
        ),
      },
      { id: 'slug', header: 'Slug', hideBelow: 'small', cell: ({ slug }) => <code className="soft">{slug}</code> },
      { id: 'about', header: 'About', hideBelow: 'large', cell: ({ description }) => description ?? '–' },
      { id: 'budget', header: 'Budget', width: '190px', cell: ({ usage }) => <Usage usage={usage} /> },
      {
        id: 'made',
        header: 'Made',
        hideBelow: 'medium',
        width: '120px',
        sort: ({ created_at }) => created_at,
        cell: ({ created_at }) => (
          <span className="soft">
            <Ago at={created_at} />
          </span>
        ),
      },
    ],
    [here.id],
  );
  const opened = list.data?.data.find(({ id }) => id === filters.open) ?? null;
  return (
    <>
      <PageHeader
        title="Workspaces"
        about="Each has keys, logs, limits and people of its own. What is in one is not to be seen from another."
      >
        {mayCreate && (
          <Button look="primary" icon="plus" onClick={begin}>
            Create a workspace
          </Button>
        )}
      </PageHeader>
      <Stack gap={3}>
        <Card isFlush>
          <Table
            label="Workspaces"
            rows={list.data?.data}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
            openKey={filters.open || null}
            error={list.error}
            onRetry={() => void list.refetch()}
          />
        </Card>
      </Stack>
      {opened && (
        <WorkspacePanel
          key={opened.id}
          workspace={opened}
          onClose={() => setFilters({ open: '' })}
          onDelete={
            may('workspaces.delete') && opened.slug !== 'default'
              ? () => setDoing({ what: 'delete', workspace: opened })
              : null
          }
        />
      )}
      {doing?.what === 'create' && <CreateWorkspace onClose={() => setDoing(null)} />}
      {doing?.what === 'delete' && (
        <DeleteWorkspace
          workspace={doing.workspace}
          onClose={() => setDoing(null)}
          onDeleted={() => setFilters({ open: '' })}
        />
      )}
    </>
  );
}
