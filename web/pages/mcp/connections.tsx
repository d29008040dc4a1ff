import { useMemo, useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpServer } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CodeBlock } from '../../design/copy.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { Segmented, Switch } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';

type Connection = ResponseOf<'/v1/mcp-servers/{slug}/connections'>['data'][number];
type Access = ResponseOf<'/v1/mcp-servers/{slug}/user-access'>['data'][number];

/** Who may use the server, and whose accounts are connected at it. */
export function Connections({ server }: { readonly server: McpServer }) {
  return (
    <Stack>
      <UserAccess slug={server.slug} />
      {server.auth_type === 'oauth_auto' && <Accounts slug={server.slug} />}
    </Stack>
  );
}

const DEFAULTS = [
  { value: 'allow', label: 'Everyone in the workspace' },
  { value: 'deny', label: 'Only who is switched on' },
] as const;

function UserAccess({ slug }: { readonly slug: string }) {
  const params = { slug };
  const may = useMay();
  const mayChange = may('mcp_servers.update');
  const list = useApi('/v1/mcp-servers/{slug}/user-access', { params, query: { page_size: 200 } });
  const users = useApi('/v1/admin/users', { query: { page_size: 200 } }, { enabled: may('users.list') }).data;
  const change = useAction(
    (body: { default_user_access?: 'allow' | 'deny'; users?: { user_id: string; enabled: boolean }[] }) =>
      api.put('/v1/mcp-servers/{slug}/user-access', { params, body }),
    { changes: ['/v1/mcp-servers/{slug}/user-access'] },
  );
  const names = useMemo(() => new Map(users?.data.map(({ id, email }) => [id, email])), [users]);
  const columns: readonly Column<Access>[] = [
    {
      id: 'on',
      header: 'May use it',
      width: '110px',
      cell: ({ user_id, enabled }) => (
        <Switch
          checked={enabled}
          disabled={!mayChange || change.isPending}
          onChange={(next) => change.mutate({ users: [{ user_id, enabled: next }] })}
        >
          <span className="hidden-visually">{names.get(user_id) ?? user_id}</span>
        </Switch>
      ),
    },
    { id: 'user', header: 'User', cell: ({ user_id }) => names.get(user_id) ?? <code>{user_id}</code> },
    {
      id: 'own',
      header: '',
      width: '160px',
      align: 'end',
      cell: ({ has_override }) => (has_override ? <Badge>said for this user</Badge> : null),
    },
  ];
  return (
    <Card
      title="Who may use it"
      isFlush
      actions={
        list.data && (
          <Segmented
            label="Who may use it"
            value={list.data.default_user_access}
            choices={mayChange ? DEFAULTS : DEFAULTS.filter(({ value }) => value === list.data.default_user_access)}
            onChange={(default_user_access) => change.mutate({ default_user_access })}
          />
        )
      }
    >
      <Table
        label="Who may use it"
        rows={list.data?.data}
        columns={columns}
        rowKey={({ user_id }) => user_id}
        error={list.error}
        empty={<p className="guardrails-none soft">The workspace has no members yet.</p>}
      />
    </Card>
  );
}

function Accounts({ slug }: { readonly slug: string }) {
  const params = { slug };
  const may = useMay();
  const list = useApi('/v1/mcp-servers/{slug}/connections', { params, query: { page_size: 200 } });
  const [ending, setEnding] = useState<Connection | null>(null);
  const columns: readonly Column<Connection>[] = [
    { id: 'user', header: 'User', cell: ({ email }) => email },
    {
      id: 'issuer',
      header: 'At',
      hideBelow: 'small',
      cell: ({ issuer }) => <span className="truncate">{issuer ?? '–'}</span>,
    },
    {
      id: 'until',
      header: 'Good until',
      width: '150px',
      cell: ({ expires_at, renews_itself }) =>
        renews_itself ? <Badge tone="good">renews itself</Badge> : expires_at ? <Ago at={expires_at} /> : '–',
    },
    {
      id: 'since',
      header: 'Connected',
      width: '120px',
      hideBelow: 'medium',
      cell: ({ created_at }) => <Ago at={created_at} />,
    },
    {
      id: 'end',
      header: '',
      width: '90px',
      align: 'end',
      cell: (connection) =>
        may('mcp_servers.update') && (
          <Button size="small" onClick={() => setEnding(connection)}>
            End
          </Button>
        ),
    },
  ];
  return (
    <Card title="Connected accounts" about="Each user connects an account of their own." isFlush>
      <Table
        label="Connected accounts"
        rows={list.data?.data}
        columns={columns}
        rowKey={({ user_id }) => user_id}
        error={list.error}
        empty={
          <div className="guardrails-none">
            <Stack gap={3}>
              <p>No user has connected an account yet. They do so at this address:</p>
              <CodeBlock title="For users" code={`${location.origin}/connect/${slug}`} />
            </Stack>
          </div>
        }
      />
      {ending && <EndConnection slug={slug} connection={ending} onClose={() => setEnding(null)} />}
    </Card>
  );
}

function EndConnection({
  slug,
  connection: { user_id: user, email },
  onClose,
}: {
  readonly slug: string;
  readonly connection: Connection;
  readonly onClose: () => void;
}) {
  const end = useAction(() => api.delete('/v1/mcp-servers/{slug}/connections/{user}', { params: { slug, user } }), {
    changes: ['/v1/mcp-servers/{slug}/connections'],
    done: 'The account is no longer connected.',
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title={`End the connection of ${email}`}
      name={email}
      action="End it"
      isOpen
      onClose={onClose}
      isBusy={end.isPending}
      fault={end.error}
      onConfirm={() => end.mutate()}
    >
      The tokens of their account at this server are forgotten. Their calls fail until they connect it again, which only
      they can do.
    </ConfirmByName>
  );
}
