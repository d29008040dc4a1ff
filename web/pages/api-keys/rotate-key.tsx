import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Field, Select } from '../../design/field.tsx';
import { formatTime } from '../../design/format.ts';

const MINUTE = 60_000;
const OVERLAPS = [
  { value: '0', label: 'Not at all: it ends now' },
  { value: String(30 * MINUTE), label: '30 minutes' },
  { value: String(24 * 60 * MINUTE), label: 'A day' },
  { value: String(7 * 24 * 60 * MINUTE), label: 'A week' },
  { value: String(30 * 24 * 60 * MINUTE), label: '30 days' },
];

export function RotateKey({
  apiKey,
  isMine = false,
  onClose,
}: {
  readonly apiKey: ApiKey;
  /** Whether it is asked for as a key of one's own, which takes no right to manage keys. */
  readonly isMine?: boolean;
  readonly onClose: () => void;
}) {
  const [overlap, setOverlap] = useState(String(30 * MINUTE));
  const rotate = useAction(
    () => {
      const wish = { params: { id: apiKey.id }, body: { key_transition_period_ms: Number(overlap) } };
      return isMine ? api.post('/v1/own-keys/{id}/rotate', wish) : api.post('/v1/api-keys/{id}/rotate', wish);
    },
    { changes: ['/v1/api-keys', '/v1/own-keys'], onFault: () => {} },
  );
  if (rotate.data)
    return (
      <Dialog
        title={`New secret of ${apiKey.name}`}
        isOpen
        onClose={onClose}
        actions={
          <Actions>
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </Actions>
        }
      >
        <div className="stack gap-4">
          <SecretOnce secret={rotate.data.key} name="the new secret" />
          <p className="soft">The old one is taken until {formatTime(rotate.data.key_transition_expires_at)}.</p>
        </div>
      </Dialog>
    );
  return (
    <FormDialog
      title={`Give ${apiKey.name} a new secret`}
      about="Name, limits and rights stay. Put the new secret into the application while the old one is still taken."
      submit="Make the secret"
      isOpen
      onClose={onClose}
      isBusy={rotate.isPending}
      fault={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <Field label="How long the old secret is still taken">
        {(control) => <Select {...control} value={overlap} choices={OVERLAPS} onChange={setOverlap} />}
      </Field>
    </FormDialog>
  );
}
