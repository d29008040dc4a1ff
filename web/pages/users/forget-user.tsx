import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { User, UserErasure } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { ConfirmByName, Dialog } from '../../design/dialog.tsx';
import { formatNumber } from '../../design/format.ts';
import { KeyValue, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Progress } from '../../design/states.tsx';
import { nameOf } from '../../shell/session.tsx';

/** Everything that belongs to a person goes, and a report says what went. */
export function ForgetUser({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const forget = useAction(() => api.post('/v1/admin/erasures', { body: { user: user.id } }), {
    changes: ['/v1/admin/users', '/v1/admin/workspaces', '/v1/api-keys'],
    onFault: () => {},
  });
  if (forget.data) return <Report begun={forget.data} name={nameOf(user)} onClose={onClose} />;
  return (
    <ConfirmByName
      title={`Forget ${nameOf(user)}`}
      name={user.email}
      action="Forget for good"
      isOpen
      onClose={onClose}
      isBusy={forget.isPending}
      fault={forget.error}
      onConfirm={() => forget.mutate()}
    >
      The user, their keys, threads, files, feedback and entries of the request log are deleted, here and at providers.
      This cannot be taken back. The audit log keeps that it was done.
    </ConfirmByName>
  );
}

function Report({
  begun,
  name,
  onClose,
}: {
  readonly begun: UserErasure;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const now = useApi(
    '/v1/admin/erasures/{erasure}',
    { params: { erasure: begun.id } },
    { refetchInterval: begun.status === 'completed' ? false : 1_000 },
  );
  const { status, removed, kept, at_providers } = now.data ?? begun;
  return (
    <Dialog
      title={status === 'completed' ? `${name} is forgotten` : `Forgetting ${name}`}
      isOpen
      onClose={onClose}
      actions={
        <Actions>
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </Actions>
      }
    >
      <Stack>
        {now.error && <ErrorNote error={now.error} />}
        {status === 'completed' ? (
          <Note tone="good">Everything that is listed here is deleted.</Note>
        ) : (
          <Progress label="Deleting" />
        )}
        <KeyValue rows={removed.map(({ area, rows }) => [area, formatNumber(rows)])} />
        {kept.map(({ area, why }) => (
          <Note key={area}>
            {area} stays: {why}
          </Note>
        ))}
        {at_providers
          .filter(({ error }) => error !== null)
          .map(({ area, id, error }) => (
            <Note key={id} tone="warn">
              {area} {id} at the provider: {error}
            </Note>
          ))}
      </Stack>
    </Dialog>
  );
}
