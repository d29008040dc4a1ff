import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { Alert, AlertChannel } from '../../api/types.d.ts';
import { ConfirmByName } from '../../design/dialog.tsx';

interface Common {
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

export function DeleteAlert({ alert, onClose, onDeleted }: Common & { readonly alert: Alert }) {
  const remove = useAction(() => api.delete('/v1/alerts/{id}', { params: { id: alert.id } }), {
    changes: ['/v1/alerts'],
    done: `The alert ${alert.name} is deleted.`,
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this alert"
      name={alert.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      It is not watched any more, and its history goes. What it told to be on is told to be over.
    </ConfirmByName>
  );
}

export function DeleteChannel({ channel, onClose, onDeleted }: Common & { readonly channel: AlertChannel }) {
  const remove = useAction(() => api.delete('/v1/alert-channels/{id}', { params: { id: channel.id } }), {
    changes: ['/v1/alert-channels'],
    done: `The channel ${channel.name} is deleted.`,
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this channel"
      name={channel.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Messages that are still to be delivered to it are lost. Alerts that tell it have to let go of it first.
    </ConfirmByName>
  );
}
