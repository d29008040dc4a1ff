import type { UseQueryResult } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { Invite } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { Card } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';
import { RoleBadge } from './face.tsx';

const TONES: Readonly<Record<Invite['status'], Tone>> = {
  pending: 'info',
  accepted: 'good',
  cancelled: 'plain',
  expired: 'warn',
};

export function InviteTable({
  list,
  onInvite,
  onAgain,
}: {
  readonly list: UseQueryResult<ResponseOf<'/v1/admin/users/invites'>>;
  /** Null: not allowed. */
  readonly onInvite: (() => void) | null;
  readonly onAgain: ((invite: Invite) => void) | null;
}) {
  const may = useMay();
  const [ending, setEnding] = useState<Invite | null>(null);
  const columns = useMemo((): readonly Column<Invite>[] => {
    const items = (invite: Invite) => [
      ...(onAgain && (invite.status === 'pending' || invite.status === 'expired')
        ? [{ label: 'Make a new link', icon: 'refresh' as const, onSelect: () => onAgain(invite) }]
        : []),
      ...(may('users.delete') && invite.status === 'pending'
        ? [{ label: 'Cancel', icon: 'close' as const, isDanger: true, onSelect: () => setEnding(invite) }]
        : []),
    ];
    return [
      { id: 'email', header: 'Email', sort: ({ email }) => email, cell: ({ email }) => <strong>{email}</strong> },
      { id: 'role', header: 'Role', width: '110px', cell: ({ role }) => <RoleBadge role={role} /> },
      {
        id: 'status',
        header: 'State',
        width: '120px',
        sort: ({ status }) => status,
        cell: ({ status }) => (
          <Badge tone={TONES[status]} dot>
            {status}
          </Badge>
        ),
      },
      {
        id: 'ends',
        header: 'Link ends',
        hideBelow: 'small',
        sort: ({ expires_at }) => expires_at,
        cell: ({ expires_at, status }) => (
          <span className="soft">{status === 'pending' ? <Ago at={expires_at} /> : '–'}</span>
        ),
      },
      {
        id: 'sent',
        header: 'Invited',
        hideBelow: 'medium',
        sort: ({ created_at }) => created_at,
        cell: ({ created_at }) => (
          <span className="soft">
            <Ago at={created_at} />
          </span>
        ),
      },
      {
        id: 'more',
        header: <span className="hidden-visually">Actions</span>,
        width: '48px',
        align: 'end',
        cell: (invite) =>
          items(invite).length > 0 && (
            <Menu
              items={items(invite)}
              trigger={<IconButton size="small" icon="more" label={`Actions for ${invite.email}`} />}
            />
          ),
      },
    ];
  }, [may, onAgain]);
  return (
    <Card isFlush>
      <Table
        label="Invites"
        rows={list.data?.data}
        columns={columns}
        rowKey={({ id }) => id}
        error={list.error}
        onRetry={() => void list.refetch()}
        empty={
          <EmptyState
            icon="send"
            title="Nobody is invited"
            action={
              onInvite && (
                <Button look="primary" icon="plus" onClick={onInvite}>
                  Invite someone
                </Button>
              )
            }
          >
            An invite is a link that works once, within seven days. You send it; the person chooses their password.
          </EmptyState>
        }
      />
      {ending && <CancelInvite invite={ending} onClose={() => setEnding(null)} />}
    </Card>
  );
}

function CancelInvite({ invite, onClose }: { readonly invite: Invite; readonly onClose: () => void }) {
  const cancel = useAction(() => api.delete('/v1/admin/users/invites/{id}', { params: { id: invite.id } }), {
    changes: ['/v1/admin/users/invites'],
    done: `The invite of ${invite.email} is cancelled.`,
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Cancel this invite"
      name={invite.email}
      action="Cancel the invite"
      isOpen
      onClose={onClose}
      isBusy={cancel.isPending}
      fault={cancel.error}
      onConfirm={() => cancel.mutate()}
    >
      The link that was sent stops working at once. You may invite the person again.
    </ConfirmByName>
  );
}
