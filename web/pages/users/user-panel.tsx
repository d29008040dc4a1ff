import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { User } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { nameOf, useMay, useSession } from '../../shell/session.tsx';
import { RoleBadge } from './face.tsx';
import { ROLE_CHOICES } from './roles.ts';

interface Props {
  readonly id: string;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onRemove: ((user: User) => void) | null;
  readonly onForget: ((user: User) => void) | null;
}

export function UserPanel({ id, onClose, onRemove, onForget }: Props) {
  const may = useMay();
  const { user: me } = useSession();
  const read = useApi('/v1/admin/users/{id}', { params: { id } });
  const user = read.data;
  return (
    <SidePanel title={user ? nameOf(user) : 'User'} isOpen onClose={onClose}>
      {read.error && <ErrorNote error={read.error} onRetry={() => void read.refetch()} />}
      {read.isPending && <Skeleton />}
      {user && (
        <Stack gap={6}>
          <KeyValue
            rows={[
              ['Email', user.email],
              ['Role', <RoleBadge key="role" role={user.role} />],
              ...(user.status === 'deactivated'
                ? [
                    [
                      'State',
                      <Badge key="state" tone="warn">
                        deactivated
                      </Badge>,
                    ] as const,
                  ]
                : []),
              ['Workspaces', <Memberships key="workspaces" user={user} />],
              ['Since', formatTime(user.created_at)],
              ['Id', <code key="id">{user.id}</code>],
            ]}
          />
          {user.status === 'deactivated' && (
            <Note tone="warn">
              Your directory has deactivated this person: sign-ins and keys of theirs are refused. Activate them there,
              and they may come back.
            </Note>
          )}
          {may('users.update') && <Change user={user} isMe={user.id === me.id} />}
          {user.id === me.id ? (
            <Note>This is you. Somebody else has to change your role or remove you.</Note>
          ) : (
            <Row>
              {onRemove && (
                <Button icon="trash" onClick={() => onRemove(user)}>
                  Remove
                </Button>
              )}
              {onForget && (
                <Button icon="close" onClick={() => onForget(user)}>
                  Forget this person
                </Button>
              )}
            </Row>
          )}
        </Stack>
      )}
    </SidePanel>
  );
}

function Memberships({ user }: { readonly user: User }) {
  const may = useMay();
  const all = useApi('/v1/admin/workspaces', { query: { page_size: 500 } }, { enabled: may('workspaces.list') });
  if (user.role !== 'member') return 'all of them, by their role';
  const names = user.workspace_ids.map((id) => all.data?.data.find((each) => each.id === id)?.name ?? id);
  return names.length > 0 ? names.join(', ') : 'none: they cannot do anything yet';
}

function Change({ user, isMe }: { readonly user: User; readonly isMe: boolean }) {
  const may = useMay();
  const [role, setRole] = useState(user.role);
  const [first, setFirst] = useState(user.first_name ?? '');
  const [last, setLast] = useState(user.last_name ?? '');
  const save = useAction(
    () =>
      api.put('/v1/admin/users/{id}', {
        params: { id: user.id },
        body: {
          first_name: first.trim() || null,
          last_name: last.trim() || null,
          ...(role !== user.role && { role }),
        },
      }),
    { changes: ['/v1/admin/users'], done: 'It is saved.', onFault: () => {} },
  );
  const isSame = role === user.role && first === (user.first_name ?? '') && last === (user.last_name ?? '');
  return (
    <form
      className="stack gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div className="columns users-names">
        <Field label="First name">
          {(control) => <Input {...control} value={first} onChange={(event) => setFirst(event.target.value)} />}
        </Field>
        <Field label="Last name">
          {(control) => <Input {...control} value={last} onChange={(event) => setLast(event.target.value)} />}
        </Field>
      </div>
      {!isMe && (user.role !== 'owner' || may('owners.manage')) && (
        <Field label="Role" help="A new role holds at once, also for keys of this person.">
          {(control) => (
            <Select
              {...control}
              value={role}
              onChange={setRole}
              choices={ROLE_CHOICES.filter(({ value }) => value !== 'owner' || may('owners.manage'))}
            />
          )}
        </Field>
      )}
      {save.error && <ErrorNote error={save.error} />}
      <div>
        <Button type="submit" look="primary" disabled={isSame} isBusy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
