import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { McpServer } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { AddServer } from './add-server.tsx';
import { AddressToPaste } from './snippets.tsx';
import { ToolSets } from './tool-sets.tsx';
import { AllUsage } from './usage.tsx';

const FILTERS = { find: '', tab: 'servers' };
const MOST = 500;

export const WAYS_IN: Readonly<Record<string, string>> = {
  none: 'no credential',
  headers: 'a header',
  oauth_auto: "each user's own account",
  oauth_client_credentials: 'one token for all',
};

const COLUMNS: readonly Column<McpServer>[] = [
  {
    id: 'name',
    header: 'Name',
    sort: ({ name }) => name,
    cell: ({ name, slug }) => (
      <Link to="/mcp/$slug" params={{ slug } as never} className="guardrails-link truncate">
        {name}
      </Link>
    ),
  },
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
    id: 'auth',
    header: 'Gets in with',
    width: '190px',
    hideBelow: 'medium',
    sort: ({ auth_type }) => auth_type,
    cell: ({ auth_type }) => <span className="soft">{WAYS_IN[auth_type] ?? auth_type}</span>,
  },
  {
    id: 'state',
    header: '',
    width: '110px',
    align: 'end',
    cell: ({ warnings }) => (warnings.length > 0 ? <Badge tone="warn">look at it</Badge> : null),
  },
];

export default function Mcp() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isAdding, setAdding] = useState(false);
  const list = useApi('/v1/mcp-servers', { query: { workspace_id, page_size: MOST } });
  const mayAdd = may('mcp_servers.create');
  const wanted = filters.find.trim().toLowerCase();
  const servers = list.data?.data.filter(({ name, slug, url }) =>
    `${name} ${slug} ${url}`.toLowerCase().includes(wanted),
  );
  const open = (slug: string) => void navigate({ to: '/mcp/$slug', params: { slug } as never });

  const begin = useMemo(() => () => setAdding(true), []);
  useShortcut('c', 'Add an MCP server', () => mayAdd && begin());
  useCommands(
    useMemo(
      () => (mayAdd ? [{ label: 'Add an MCP server', icon: 'plus' as const, words: 'tools', run: begin }] : []),
      [mayAdd, begin],
    ),
  );
  const add = mayAdd && (
    <Button look="primary" icon="plus" onClick={begin}>
      Add a server
    </Button>
  );
  const isEmpty = list.data?.data.length === 0;
  const serverList = (
    <Stack>
      {!isEmpty && (
        <FilterInput label="Filter servers" value={filters.find} onChange={(find) => setFilters({ find })} />
      )}
      <Card isFlush>
        <Table
          label="MCP servers"
          rows={servers}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ slug }) => open(slug)}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            wanted ? (
              <EmptyState icon="search" title={`Nothing matches “${filters.find}”`} />
            ) : (
              <EmptyState icon="tools" title="No MCP servers yet" action={add}>
                Give the address of one: it is tried at once, and its tools appear with a switch for each.
              </EmptyState>
            )
          }
        />
      </Card>
      {!isEmpty && (
        <AddressToPaste
          title="All servers at one address"
          about="Tools are called by the server's slug and their name, such as weather__forecast."
          name="gateway"
          url={`${location.origin}/mcp`}
        />
      )}
    </Stack>
  );
  return (
    <>
      <PageHeader
        title="MCP"
        about="MCP servers behind one address: who calls, which tools, what changed, and what each server is told."
      >
        {!isEmpty && add}
      </PageHeader>
      <Tabs
        label="Of MCP"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          { value: 'servers', label: 'Servers', content: serverList },
          { value: 'sets', label: 'Tool sets', content: <ToolSets /> },
          ...(may('analytics.view') ? [{ value: 'use', label: 'Use', content: <AllUsage /> }] : []),
        ]}
      />
      {isAdding && <AddServer onClose={() => setAdding(false)} onMade={open} />}
    </>
  );
}
