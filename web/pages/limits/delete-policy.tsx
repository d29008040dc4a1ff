import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import { ConfirmByName } from '../../design/dialog.tsx';
import { nameOfPolicy, type Policy } from './policy.ts';

export function DeletePolicy({
  policy,
  isUsage,
  onClose,
  onDeleted,
}: {
  readonly policy: Policy;
  readonly isUsage: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const params = { id: policy.id };
  const remove = useAction<void, unknown>(
    () =>
      isUsage
        ? api.delete('/v1/policies/usage-limits/{id}', { params })
        : api.delete('/v1/policies/rate-limits/{id}', { params }),
    { changes: ['/v1/policies'], done: 'The policy is deleted.', onDone: onDeleted, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title="Delete this policy"
      name={nameOfPolicy(policy)}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Calls that it held back are let through at once, on every node. What was counted against it is forgotten.
    </ConfirmByName>
  );
}
