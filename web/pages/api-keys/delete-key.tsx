import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { ConfirmByName } from '../../design/dialog.tsx';

export function DeleteKey({
  apiKey,
  isMine = false,
  onClose,
  onDeleted,
}: {
  readonly apiKey: ApiKey;
  /** Whether it is asked for as a key of one's own, which takes no right to manage keys. */
  readonly isMine?: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const params = { id: apiKey.id };
  const remove = useAction(
    () => (isMine ? api.delete('/v1/own-keys/{id}', { params }) : api.delete('/v1/api-keys/{id}', { params })),
    {
      changes: ['/v1/api-keys', '/v1/own-keys'],
      done: `The key ${apiKey.name} is deleted.`,
      onDone: onDeleted,
      onFault: () => {},
    },
  );
  return (
    <ConfirmByName
      title="Delete this key"
      name={apiKey.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Every application that calls with <code>{apiKey.masked_key}</code> is refused from that moment on. Its limits and
      what was counted against them go, too. The log keeps its calls.
    </ConfirmByName>
  );
}
