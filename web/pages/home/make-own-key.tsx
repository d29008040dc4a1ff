import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Actions, Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';

type Allowed = NonNullable<ResponseOf<'/v1/own-keys'>['allowed']>;

/** A key of one's own: a name and what it calls; the rest the workspace has decided. */
export function MakeOwnKey({
  allowed,
  onMade,
  onClose,
}: {
  readonly allowed: Allowed;
  /** Gets the secret, for the snippets on the page. */
  readonly onMade: (secret: string) => void;
  readonly onClose: () => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const [name, setName] = useState('');
  const [virtualKey, setVirtualKey] = useState('');
  const providers = useApi(
    '/v1/virtual-keys',
    { query: { workspace_id, page_size: 200 } },
    { enabled: may('virtual_keys.list') },
  );
  const make = useAction(
    () => api.post('/v1/own-keys', { body: { name, ...(virtualKey && { virtual_key: virtualKey }) } }),
    { changes: ['/v1/own-keys', '/v1/api-keys'], onDone: ({ key }) => onMade(key), onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(make.error, param);
  if (make.data)
    return (
      <Dialog
        title="Your key is made"
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
        <Stack>
          <SecretOnce secret={make.data.key} name="your key" />
          <p className="soft">It is filled in below, in the set-up of each client, until you leave this page.</p>
        </Stack>
      </Dialog>
    );
  return (
    <FormDialog
      title="Make a key of your own"
      about={
        allowed.max_days
          ? `It acts for you, and ends after ${allowed.max_days} days or when you leave the workspace.`
          : 'It acts for you, and ends when you leave the workspace.'
      }
      submit="Make the key"
      isOpen
      onClose={onClose}
      isBusy={make.isPending}
      fault={make.error}
      onSubmit={() => make.mutate()}
    >
      <Field label="Name" help="Where you use it, such as your laptop." error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="laptop"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Provider" help="What its calls use when they name none." error={fault('virtual_key')}>
        {(control) => (
          <Select
            {...control}
            value={virtualKey}
            onChange={setVirtualKey}
            choices={[
              { value: '', label: 'Calls name it themselves' },
              ...(providers.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name })),
            ]}
          />
        )}
      </Field>
    </FormDialog>
  );
}
