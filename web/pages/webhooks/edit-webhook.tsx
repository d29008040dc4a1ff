import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { Webhook } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { useWorkspace } from '../../shell/session.tsx';

type Event = Webhook['events'][number];
const EVENTS: readonly { readonly value: Event; readonly label: string }[] = [
  { value: 'batch.completed', label: 'A batch is completed' },
  { value: 'batch.failed', label: 'A batch has failed' },
  { value: 'batch.expired', label: 'A batch ran out of time' },
  { value: 'batch.cancelled', label: 'A batch was cancelled' },
  { value: 'fine_tuning.job.succeeded', label: 'A fine-tuning job has succeeded' },
  { value: 'fine_tuning.job.failed', label: 'A fine-tuning job has failed' },
  { value: 'fine_tuning.job.cancelled', label: 'A fine-tuning job was cancelled' },
];

/** A new webhook, or a change of one. Its address is sealed, so it is given anew or stays as it is. */
export function EditWebhook({ webhook, onClose }: { readonly webhook: Webhook | null; readonly onClose: () => void }) {
  const { id: workspace_id } = useWorkspace();
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState<readonly Event[]>(webhook?.events ?? EVENTS.map(({ value }) => value));
  const options = { changes: ['/v1/webhooks'], onFault: () => {} };
  const body = { name, events: [...events] };
  const create = useAction(() => api.post('/v1/webhooks', { body: { ...body, url, workspace_id } }), options);
  const change = useAction(
    () => api.put('/v1/webhooks/{id}', { params: { id: webhook?.id ?? '' }, body: { ...body, ...(url && { url }) } }),
    { ...options, done: 'It is saved.', onDone: onClose },
  );
  const sent = webhook ? change : create;
  const fault = (param: string) => faultAbout(sent.error, param);
  if (create.data)
    return (
      <Dialog
        title="The webhook is made"
        about="Check each message with this secret, as the Standard Webhooks libraries do."
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
        <SecretOnce secret={create.data.secret} name="the secret" />
      </Dialog>
    );
  return (
    <FormDialog
      title={webhook ? `Change ${webhook.name}` : 'Create a webhook'}
      about="Messages are signed, name what has ended, and hold nothing of what is in it."
      submit={webhook ? 'Save' : 'Create the webhook'}
      isOpen
      onClose={onClose}
      isBusy={sent.isPending}
      fault={sent.error}
      onSubmit={() => sent.mutate()}
    >
      <Field label="Name" error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="nightly pipeline"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Address"
        isOptional={webhook !== null}
        help={webhook ? `Empty: it stays ${webhook.url}` : undefined}
        error={fault('url')}
      >
        {(control) => (
          <Input
            {...control}
            type="url"
            required={webhook === null}
            placeholder="https://example.com/hooks/gateway"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        )}
      </Field>
      <Stack gap={2}>
        <span className="field-label">Told when</span>
        {EVENTS.map(({ value, label }) => (
          <Checkbox
            key={value}
            checked={events.includes(value)}
            onChange={(isOn) => setEvents(isOn ? [...events, value] : events.filter((each) => each !== value))}
          >
            {label}
          </Checkbox>
        ))}
      </Stack>
    </FormDialog>
  );
}
