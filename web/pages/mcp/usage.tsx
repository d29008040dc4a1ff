import { useMemo, useState } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Segmented } from '../../design/field.tsx';
import { formatBytes, formatDuration, formatNumber } from '../../design/format.ts';
import { Card, Stack } from '../../design/layout.tsx';
import { EmptyState, Note } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { nameOf, useMay } from '../../shell/session.tsx';

type Used = ResponseOf<'/v1/mcp-usage'>['data'][number];

const DAYS = 7;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The last days, as far as a question about them stays the same for a minute. */
const useLastDays = () =>
  useMemo(() => {
    const until = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
    return {
      time_of_generation_min: new Date(until - DAYS * DAY_MS).toISOString(),
      time_of_generation_max: new Date(until).toISOString(),
    };
  }, []);

/** The names of users, where the viewer may know them. */
function useNames(): (id: string | null | undefined) => string {
  const may = useMay();
  const users = useApi('/v1/admin/users', { query: { page_size: 500 } }, { enabled: may('users.list') });
  const names = useMemo(() => new Map(users.data?.data.map((user) => [user.id, nameOf(user)])), [users.data]);
  return (id) => (id ? (names.get(id) ?? id) : 'programs without a user');
}

const columnsFor = (header: string, nameIn: (used: Used) => string): readonly Column<Used>[] => [
  { id: 'name', header, sort: nameIn, cell: (used) => <strong className="truncate">{nameIn(used)}</strong> },
  {
    id: 'calls',
    header: 'Calls',
    align: 'end',
    width: '90px',
    sort: ({ calls }) => calls,
    cell: ({ calls }) => formatNumber(calls),
  },
  {
    id: 'errors',
    header: 'Errors',
    align: 'end',
    width: '110px',
    sort: ({ error_rate }) => error_rate,
    cell: ({ errors, error_rate }) =>
      errors === 0 ? <span className="soft">none</span> : `${formatNumber(errors)} (${Math.round(error_rate * 100)} %)`,
  },
  {
    id: 'usual',
    header: 'Half within',
    align: 'end',
    width: '110px',
    hideBelow: 'small',
    cell: ({ latency_ms }) => (latency_ms.p50 === null ? '–' : formatDuration(latency_ms.p50)),
  },
  {
    id: 'slow',
    header: '99 % within',
    align: 'end',
    width: '110px',
    hideBelow: 'medium',
    cell: ({ latency_ms }) => (latency_ms.p99 === null ? '–' : formatDuration(latency_ms.p99)),
  },
  {
    id: 'bytes',
    header: 'Answered',
    align: 'end',
    width: '110px',
    hideBelow: 'medium',
    cell: ({ response_bytes }) => formatBytes(response_bytes),
  },
];

const ABOUT = `Calls of the last ${DAYS} days.`;
const NONE = (
  <EmptyState icon="chart" title={`No call in the last ${DAYS} days`}>
    Paste the address of the server into a client, and its calls are counted here.
  </EmptyState>
);

/** How all servers are used. */
export function AllUsage() {
  const [by, setBy] = useState<'server' | 'user'>('server');
  const nameOfUser = useNames();
  const used = useApi('/v1/mcp-usage', { query: { ...useLastDays(), group_by: by } });
  const columns = columnsFor(by === 'server' ? 'Server' : 'User', ({ server, user_id }) =>
    by === 'server' ? (server ?? 'deleted servers') : nameOfUser(user_id),
  );
  return (
    <Stack gap={3}>
      <Segmented
        label="Told apart by"
        value={by}
        onChange={setBy}
        choices={[
          { value: 'server', label: 'By server' },
          { value: 'user', label: 'By user' },
        ]}
      />
      <Card title="Use" about={ABOUT} isFlush>
        <Table
          label="Use of MCP servers"
          rows={used.data?.data}
          columns={columns}
          rowKey={({ server, user_id }) => `${server} ${user_id}`}
          error={used.error}
          onRetry={() => void used.refetch()}
          empty={NONE}
        />
      </Card>
    </Stack>
  );
}

/** How one server is used, and which of its tools no call needs. */
export function ServerUsage({ slug }: { readonly slug: string }) {
  const [by, setBy] = useState<'tool' | 'user'>('tool');
  const nameOfUser = useNames();
  const used = useApi('/v1/mcp-servers/{slug}/usage', {
    params: { slug },
    query: { ...useLastDays(), group_by: by },
  });
  const columns = columnsFor(by === 'tool' ? 'Tool' : 'User', ({ tool, user_id }) =>
    by === 'tool' ? (tool ?? 'all but tools') : nameOfUser(user_id),
  );
  const unused = used.data?.unused_tools ?? [];
  return (
    <Stack gap={3}>
      <Segmented
        label="Told apart by"
        value={by}
        onChange={setBy}
        choices={[
          { value: 'tool', label: 'By tool' },
          { value: 'user', label: 'By user' },
        ]}
      />
      {unused.length > 0 && (
        <Note>
          No call has used {unused.slice(0, 20).join(', ')}
          {unused.length > 20 && ` and ${unused.length - 20} more`}. A model reads each tool before it chooses: switch
          off what is not needed.
        </Note>
      )}
      <Card title="Use" about={ABOUT} isFlush>
        <Table
          label="Use of this server"
          rows={used.data?.data}
          columns={columns}
          rowKey={({ tool, user_id }) => `${tool} ${user_id}`}
          error={used.error}
          onRetry={() => void used.refetch()}
          empty={NONE}
        />
      </Card>
    </Stack>
  );
}
