import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Invite, User } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { nameOf, useMay, useSession } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { Face, RoleBadge } from './face.tsx';
import { ForgetUser } from './forget-user.tsx';
import { InvitePerson } from './invite-person.tsx';
import { InviteTable } from './invites.tsx';
import { RemoveUser } from './remove-user.tsx';
import { UserPanel } from './user-panel.tsx';

const FILTERS = { find: '', open: '', tab: 'users' };
const MOST = 500;

type Doing =
  | { readonly what: 'invite'; readonly again?: Invite }
  | { readonly what: 'remove' | 'forget'; readonly user: User }
  | null;

const COLUMNS: readonly Column<User>[] = [
  {
    id: 'name',
    header: 'Person',
    sort: nameOf,
    cell: (user) => (
      <span className="users-person">
        <Face name={nameOf(user)} />
        <span className="truncate">
          <strong>{nameOf(user)}</strong>
          <span className="soft users-under">{user.email}</span>
        </span>
      </span>
    ),
  },
  { id: 'email', header: 'Email', hideBelow: 'small', sort: ({ email }) => email, cell: ({ email }) => email },
  {
    id: 'role',
    header: 'Role',
    width: '190px',
    sort: ({ role }) => role,
    cell: (user) => (
      <span className="line gap-1">
        <RoleBadge role={user.role} />
        {user.status === 'deactivated' && <Badge tone="warn">deactivated</Badge>}
      </span>
    ),
  },
  {
    id: 'workspaces',
    header: 'Workspaces',
    hideBelow: 'medium',
    align: 'end',
    width: '120px',
    sort: ({ workspace_ids }) => workspace_ids.length,
    cell: ({ role, workspace_ids }) => (role === 'member' ? workspace_ids.length : <span className="soft">all</span>),
  },
  {
    id: 'since',
    header: 'Since',
    hideBelow: 'medium',
    width: '130px',
    sort: ({ created_at }) => created_at,
    cell: ({ created_at }) => (
      <span className="soft">
        <Ago at={created_at} />
      </span>
    ),
  },
];

export default function Users() {
  const may = useMay();
  const { user: me } = useSession();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/admin/users', { query: { page_size: MOST } });
  const invites = useApi('/v1/admin/users/invites', { query: { page_size: MOST } });
  const mayInvite = may('users.create', 'organisation.manage');

  const wanted = filters.find.trim().toLowerCase();
  const users = list.data?.data.filter((user) => `${nameOf(user)} ${user.email}`.toLowerCase().includes(wanted));
  const pending = invites.data?.data.filter(({ status }) => status === 'pending').length ?? 0;

  const begin = useMemo(() => () => setDoing({ what: 'invite' }), []);
  useShortcut('c', 'Invite someone', () => mayInvite && begin());
  useCommands(
    useMemo(
      () => (mayInvite ? [{ label: 'Invite someone', icon: 'plus' as const, run: begin }] : []),
      [mayInvite, begin],
    ),
  );
  const close = () => {
    setDoing(null);
    setFilters({ open: '' });
  };
  return (
    <>
      <PageHeader title="Users" about="The people who sign in here. Applications use API keys of their own.">
        {mayInvite && (
          <Button look="primary" icon="plus" onClick={begin}>
            Invite someone
          </Button>
        )}
      </PageHeader>
      <Tabs
        label="Users and invites"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          {
            value: 'users',
            label: 'Users',
            content: (
              <Stack gap={3}>
                <FilterInput label="Filter users" value={filters.find} onChange={(find) => setFilters({ find })} />
                <Card isFlush>
                  <Table
                    label="Users"
                    rows={users}
                    columns={COLUMNS}
                    rowKey={({ id }) => id}
                    onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
                    openKey={filters.open || null}
                    error={list.error}
                    onRetry={() => void list.refetch()}
                    empty={<EmptyState icon="search" title="Nobody is called that" />}
                  />
                </Card>
              </Stack>
            ),
          },
          {
            value: 'invites',
            label: pending > 0 ? `Invites (${pending})` : 'Invites',
            content: (
              <InviteTable
                list={invites}
                onInvite={mayInvite ? begin : null}
                onAgain={may('users.create') ? (again) => setDoing({ what: 'invite', again }) : null}
              />
            ),
          },
        ]}
      />
      {filters.open && filters.tab === 'users' && (
        <UserPanel
          key={filters.open}
          id={filters.open}
          onClose={() => setFilters({ open: '' })}
          onRemove={may('users.delete') ? (user) => user.id !== me.id && setDoing({ what: 'remove', user }) : null}
          onForget={
            may('users.delete', 'organisation.manage', 'owners.manage')
              ? (user) => user.id !== me.id && setDoing({ what: 'forget', user })
              : null
          }
        />
      )}
      {doing?.what === 'invite' && <InvitePerson again={doing.again ?? null} onClose={() => setDoing(null)} />}
      {doing?.what === 'remove' && <RemoveUser user={doing.user} onClose={() => setDoing(null)} onRemoved={close} />}
      {doing?.what === 'forget' && <ForgetUser user={doing.user} onClose={close} />}
    </>
  );
}
