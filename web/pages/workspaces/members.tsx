import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Workspace, WorkspaceUser } from '../../api/types.d.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { Select } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { useMay, useSession } from '../../shell/session.tsx';
import { Face } from '../users/face.tsx';
import { WORKSPACE_ROLE_CHOICES } from '../users/roles.ts';

const PATH = '/v1/admin/workspaces/{workspace}/users';
const nameIn = ({ first_name, last_name, email }: WorkspaceUser) =>
  [first_name, last_name].filter(Boolean).join(' ') || email;

/** Who belongs to a workspace, and as what. */
export function Members({ workspace }: { readonly workspace: Workspace }) {
  const may = useMay();
  const { user: me } = useSession();
  const [leaving, setLeaving] = useState<WorkspaceUser | null>(null);
  const list = useApi(PATH, { params: { workspace: workspace.id }, query: { page_size: 500 } });
  const changes = { changes: [PATH, '/v1/admin/users'] };
  const setRole = useAction(
    ({ user, role }: { user: string; role: WorkspaceUser['role'] }) =>
      api.put('/v1/admin/workspaces/{workspace}/users/{user}', {
        params: { workspace: workspace.id, user },
        body: { role },
      }),
    { ...changes, done: 'The role is changed.' },
  );
  return (
    <Stack gap={3}>
      <h3>People</h3>
      {list.error && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton />}
      {list.data?.data.length === 0 && (
        <p className="soft">Nobody yet. Owners and admins of the organisation are in every workspace anyway.</p>
      )}
      <ul className="workspaces-members">
        {list.data?.data.map((user) => (
          <li key={user.id}>
            <Face name={nameIn(user)} />
            <span className="truncate">
              {nameIn(user)} <span className="soft small">{user.email}</span>
            </span>
            {may('workspace_users.update') && user.id !== me.id ? (
              <Select
                aria-label={`Role of ${nameIn(user)}`}
                value={user.role}
                choices={WORKSPACE_ROLE_CHOICES.map(({ value }) => ({ value, label: value }))}
                onChange={(role) => setRole.mutate({ user: user.id, role })}
              />
            ) : (
              <span className="soft">{user.role}</span>
            )}
            {may('workspace_users.delete') && user.id !== me.id ? (
              <IconButton
                size="small"
                icon="close"
                label={`Take ${nameIn(user)} out`}
                onClick={() => setLeaving(user)}
              />
            ) : (
              <span />
            )}
          </li>
        ))}
      </ul>
      {may('workspace_users.create', 'users.list') && (
        <Add workspace={workspace} there={list.data?.data ?? []} changes={changes.changes} />
      )}
      {leaving && (
        <TakeOut user={leaving} workspace={workspace} changes={changes.changes} onClose={() => setLeaving(null)} />
      )}
    </Stack>
  );
}

interface Common {
  readonly workspace: Workspace;
  readonly changes: readonly string[];
}

function Add({ workspace, there, changes }: Common & { readonly there: readonly WorkspaceUser[] }) {
  const [user, setUser] = useState('');
  const [role, setRole] = useState<WorkspaceUser['role']>('member');
  const all = useApi('/v1/admin/users', { query: { page_size: 500, role: 'member' } });
  const others = all.data?.data.filter(({ id }) => !there.some((each) => each.id === id)) ?? [];
  const add = useAction(() => api.post(PATH, { params: { workspace: workspace.id }, body: { user_id: user, role } }), {
    changes,
    done: 'The person belongs to it now.',
    onDone: () => setUser(''),
  });
  if (others.length === 0) return null;
  return (
    <form
      className="workspaces-add"
      onSubmit={(event) => {
        event.preventDefault();
        if (user) add.mutate();
      }}
    >
      <Select
        aria-label="Who is added"
        value={user}
        onChange={setUser}
        choices={[
          { value: '', label: 'Add someone …' },
          ...others.map(({ id, email }) => ({ value: id, label: email })),
        ]}
      />
      <Select
        aria-label="As what"
        value={role}
        onChange={setRole}
        choices={WORKSPACE_ROLE_CHOICES.map(({ value }) => ({ value, label: value }))}
      />
      <Button type="submit" icon="plus" disabled={!user} isBusy={add.isPending}>
        Add
      </Button>
    </form>
  );
}

function TakeOut({
  user,
  workspace,
  changes,
  onClose,
}: Common & { readonly user: WorkspaceUser; readonly onClose: () => void }) {
  const remove = useAction(
    () =>
      api.delete('/v1/admin/workspaces/{workspace}/users/{user}', {
        params: { workspace: workspace.id, user: user.id },
      }),
    { changes, done: `${nameIn(user)} left ${workspace.name}.`, onDone: onClose, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title={`Take ${nameIn(user)} out of ${workspace.name}`}
      name={user.email}
      action="Take out"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Their keys in this workspace are refused, and batches and runs in their name stop. They stay a user.
    </ConfirmByName>
  );
}
