import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpToolSet } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { Card, KeyValue, Row, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { EditToolSet } from './edit-tool-set.tsx';
import { AddressToPaste } from './snippets.tsx';
import { SHOWN_AS } from './tool-set.ts';

const FILTERS = { set: '' };
const MOST = 200;

type Tool = McpToolSet['tools'][number];
const STATES: Readonly<Record<Tool['status'], readonly [Tone, string]>> = {
  available: ['good', 'available'],
  switched_off: ['warn', 'switched off'],
  not_offered: ['warn', 'not offered now'],
  server_deleted: ['bad', 'its server is removed'],
  unknown: ['plain', 'not asked yet'],
};
const isMissing = ({ status }: Tool) => status !== 'available' && status !== 'unknown';

type Doing = { readonly what: 'edit' | 'delete'; readonly set: McpToolSet } | { readonly what: 'create' } | null;

const COLUMNS: readonly Column<McpToolSet>[] = [
  { id: 'name', header: 'Name', sort: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  {
    id: 'endpoint',
    header: 'Address for clients',
    hideBelow: 'small',
    cell: ({ endpoint }) => (
      <span className="line gap-1 mcp-address">
        <code className="truncate">{endpoint}</code>
        <CopyButton text={endpoint} label={`Copy ${endpoint}`} />
      </span>
    ),
  },
  {
    id: 'tools',
    header: 'Tools',
    align: 'end',
    width: '90px',
    sort: ({ tools }) => tools.length,
    cell: ({ tools }) => tools.length,
  },
  {
    id: 'state',
    header: '',
    align: 'end',
    width: '120px',
    cell: ({ tools }) => {
      const missing = tools.filter(isMissing).length;
      return missing > 0 ? <Badge tone="warn">{missing} missing</Badge> : null;
    },
  },
];

/** Tools of several servers at one address. */
export function ToolSets() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/mcp-tool-sets', { query: { workspace_id, page_size: MOST } });
  const opened = list.data?.data.find(({ slug }) => slug === filters.set) ?? null;
  const create = may('mcp_servers.create') && (
    <Button icon="plus" onClick={() => setDoing({ what: 'create' })}>
      Create a tool set
    </Button>
  );
  const isEmpty = list.data?.data.length === 0;
  const close = () => setDoing(null);
  return (
    <Stack gap={3}>
      {!isEmpty && create && <div>{create}</div>}
      <Card isFlush>
        <Table
          label="Tool sets"
          rows={list.data?.data}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ slug }) => setFilters({ set: slug === filters.set ? '' : slug })}
          openKey={opened?.id ?? null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="layers" title="No tool sets yet" action={create}>
              Choose tools of several servers, name them as a model should know them, and give clients one address.
            </EmptyState>
          }
        />
      </Card>
      {opened && (
        <SidePanel title={opened.name} isOpen onClose={() => setFilters({ set: '' })} width="wide">
          <Stack gap={6}>
            <Row>
              {may('mcp_servers.update') && (
                <Button icon="edit" onClick={() => setDoing({ what: 'edit', set: opened })}>
                  Edit
                </Button>
              )}
              {may('mcp_servers.delete') && (
                <Button icon="trash" onClick={() => setDoing({ what: 'delete', set: opened })}>
                  Delete
                </Button>
              )}
            </Row>
            <KeyValue
              rows={[
                ['About', opened.description ?? '–'],
                ['Clients see', SHOWN_AS[opened.mcp_tools ?? '']],
              ]}
            />
            <ul className="stack gap-2" aria-label="Tools of the set">
              {opened.tools.map((tool) => (
                <li key={tool.name} className="mcp-member">
                  <code>{tool.name}</code>
                  <span className="soft small">
                    {tool.tool} of {tool.server}
                  </span>
                  <Badge tone={STATES[tool.status][0]} dot>
                    {STATES[tool.status][1]}
                  </Badge>
                </li>
              ))}
            </ul>
            <AddressToPaste
              about="People sign in with their browser; programs send a key of this workspace."
              name={opened.slug}
              url={opened.endpoint}
            />
          </Stack>
        </SidePanel>
      )}
      {doing?.what === 'create' && (
        <EditToolSet set={null} onClose={close} onMade={({ slug }) => setFilters({ set: slug })} />
      )}
      {doing?.what === 'edit' && <EditToolSet set={doing.set} onClose={close} />}
      {doing?.what === 'delete' && (
        <DeleteToolSet
          set={doing.set}
          onClose={close}
          onDeleted={() => {
            close();
            setFilters({ set: '' });
          }}
        />
      )}
    </Stack>
  );
}

function DeleteToolSet({
  set,
  onClose,
  onDeleted,
}: {
  readonly set: McpToolSet;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(() => api.delete('/v1/mcp-tool-sets/{slug}', { params: { slug: set.slug } }), {
    changes: ['/v1/mcp-tool-sets'],
    done: `The tool set ${set.name} is deleted.`,
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this tool set"
      name={set.slug}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Clients that use <code>{set.endpoint}</code> are refused from that moment on. The servers and their tools stay.
    </ConfirmByName>
  );
}
