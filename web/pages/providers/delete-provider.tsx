import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { ConfirmByName } from '../../design/dialog.tsx';
import { useWorkspace } from '../../shell/session.tsx';

export function DeleteProvider({
  virtualKey,
  onClose,
}: {
  readonly virtualKey: VirtualKey;
  readonly onClose: () => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const remove = useAction(
    () => api.delete('/v1/virtual-keys/{slug}', { params: { slug: virtualKey.slug }, query: { workspace_id } }),
    {
      changes: ['/v1/virtual-keys', '/v1/models'],
      done: `${virtualKey.name} is deleted.`,
      onDone: onClose,
      onFault: () => {},
    },
  );
  return (
    <ConfirmByName
      title="Delete this provider"
      name={virtualKey.slug}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      The credential {virtualKey.masked_key && <code>{virtualKey.masked_key}</code>} is gone for good, and every call
      that names <code>@{virtualKey.slug}</code> is refused from that moment on: by keys whose default it is, by
      configs, by batches and runs that still go on.
    </ConfirmByName>
  );
}
