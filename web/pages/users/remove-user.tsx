import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { User } from '../../api/types.d.ts';
import { ConfirmByName } from '../../design/dialog.tsx';
import { nameOf } from '../../shell/session.tsx';

export function RemoveUser({
  user,
  onClose,
  onRemoved,
}: {
  readonly user: User;
  readonly onClose: () => void;
  readonly onRemoved: () => void;
}) {
  const remove = useAction(() => api.delete('/v1/admin/users/{id}', { params: { id: user.id } }), {
    changes: ['/v1/admin/users', '/v1/admin/workspaces', '/v1/api-keys'],
    done: `${nameOf(user)} is removed.`,
    onDone: onRemoved,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title={`Remove ${nameOf(user)}`}
      name={user.email}
      action="Remove"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Their sessions end, their API keys are refused, and batches and runs in their name stop, at once. What they made
      stays with its workspace.
    </ConfirmByName>
  );
}
