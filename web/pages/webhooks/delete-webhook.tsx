import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { Webhook } from '../../api/types.d.ts';
import { ConfirmByName } from '../../design/dialog.tsx';

export function DeleteWebhook({
  webhook,
  onClose,
  onDeleted,
}: {
  readonly webhook: Webhook;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(() => api.delete('/v1/webhooks/{id}', { params: { id: webhook.id } }), {
    changes: ['/v1/webhooks'],
    done: `The webhook ${webhook.name} is deleted.`,
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this webhook"
      name={webhook.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Messages that are still to be delivered to it are lost, and so is the secret that they are signed with. Batches
      and jobs go on.
    </ConfirmByName>
  );
}
