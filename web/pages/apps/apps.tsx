import { api, type ResponseOf } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';

type App = ResponseOf<'/v1/own-apps'>['data'][number];
type Connection = ResponseOf<'/v1/own-connections'>['data'][number];

/** What acts for the user who is signed in, and where they have accounts. */
export default function Apps() {
  return (
    <>
      <PageHeader
        title="Your apps"
        about="Applications that call MCP servers as you, and the servers at which you have an account."
      />
      <Stack>
        <Card title="Applications" about="Those you have allowed to act for you." isFlush>
          <Applications />
        </Card>
        <Card title="Servers" about="Those you may call, in all your workspaces." isFlush>
          <Servers />
        </Card>
      </Stack>
    </>
  );
}

function Applications() {
  const list = useApi('/v1/own-apps');
  const withdraw = useAction((id: string) => api.delete('/v1/own-apps/{id}', { params: { id } }), {
    changes: ['/v1/own-apps'],
    done: 'It no longer acts for you. To do so again it has to ask you.',
  });
  const columns: readonly Column<App>[] = [
    {
      id: 'app',
      header: 'Application',
      cell: ({ client_name, client_host }) => (
        <>
          {client_name}
          <br />
          <span className="soft">{client_host ?? 'registered here'}</span>
        </>
      ),
    },
    {
      id: 'reach',
      header: 'May call',
      cell: ({ server, workspace }) => (
        <>
          {server ?? 'all servers'}
          <br />
          <span className="soft">{workspace.name}</span>
        </>
      ),
    },
    {
      id: 'last',
      header: 'Last token',
      width: '130px',
      hideBelow: 'small',
      cell: ({ last_token_at }) => (last_token_at === null ? '–' : <Ago at={last_token_at} />),
    },
    {
      id: 'state',
      header: 'Holds',
      width: '140px',
      hideBelow: 'medium',
      cell: ({ authorizations }) =>
        authorizations === 0 ? <Badge>no tokens now</Badge> : <Badge tone="good">{authorizations} × access</Badge>,
    },
    {
      id: 'end',
      header: <span className="hidden-visually">Actions</span>,
      width: '110px',
      align: 'end',
      cell: ({ id }) => (
        <Button
          size="small"
          isBusy={withdraw.isPending && withdraw.variables === id}
          onClick={() => withdraw.mutate(id)}
        >
          Withdraw
        </Button>
      ),
    },
  ];
  return (
    <Table
      label="Applications"
      rows={list.data?.data}
      columns={columns}
      rowKey={({ id }) => id}
      error={list.error}
      onRetry={() => void list.refetch()}
      empty={<p className="guardrails-none soft">No application acts for you.</p>}
    />
  );
}

function Servers() {
  const list = useApi('/v1/own-connections');
  const end = useAction((server: string) => api.delete('/v1/own-connections/{server}', { params: { server } }), {
    changes: ['/v1/own-connections'],
    done: 'Your account there is no longer connected.',
  });
  const columns: readonly Column<Connection>[] = [
    {
      id: 'server',
      header: 'Server',
      cell: ({ name, endpoint }) => (
        <>
          {name}
          <br />
          <span className="soft">{endpoint}</span>
        </>
      ),
    },
    { id: 'workspace', header: 'Workspace', hideBelow: 'medium', cell: ({ workspace }) => workspace.name },
    {
      id: 'account',
      header: 'Your account',
      width: '190px',
      cell: ({ needs_account, connected_at, may_call }) => {
        if (!needs_account) return <span className="soft">not needed</span>;
        if (connected_at === null) return <Badge>not connected</Badge>;
        return may_call ? <Badge tone="good">connected</Badge> : <Badge tone="warn">closed to you</Badge>;
      },
    },
    {
      id: 'since',
      header: 'Since',
      width: '120px',
      hideBelow: 'small',
      cell: ({ connected_at }) => connected_at !== null && <Ago at={connected_at} />,
    },
    {
      id: 'do',
      header: <span className="hidden-visually">Actions</span>,
      width: '120px',
      align: 'end',
      cell: ({ server, connected_at, connect_url }) =>
        connected_at !== null ? (
          <Button size="small" isBusy={end.isPending && end.variables === server} onClick={() => end.mutate(server)}>
            Disconnect
          </Button>
        ) : (
          connect_url !== null && (
            <a
              className="button button-plain button-small"
              href={`/connect/${server}`}
              target="_blank"
              rel="noreferrer"
            >
              Connect
            </a>
          )
        ),
    },
  ];
  return (
    <Table
      label="Servers"
      rows={list.data?.data}
      columns={columns}
      rowKey={({ id }) => id}
      error={list.error}
      onRetry={() => void list.refetch()}
      empty={<p className="guardrails-none soft">There is no MCP server that you may call.</p>}
    />
  );
}
