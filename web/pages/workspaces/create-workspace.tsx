import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';

export function CreateWorkspace({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [slug, setSlug] = useState('');
  const [about, setAbout] = useState('');
  const [budget, setBudget] = useState('');
  const create = useAction(
    () =>
      api.post('/v1/admin/workspaces', {
        body: {
          name,
          ...(slug && { slug }),
          ...(about && { description: about }),
          ...(budget && {
            usage_limits: { type: 'cost', credit_limit: Number(budget), periodic_reset: 'monthly' },
          }),
        },
      }),
    { changes: ['/v1/admin/workspaces'], done: `The workspace ${name} is made.`, onDone: onClose, onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(create.error, param);
  return (
    <FormDialog
      title="Create a workspace"
      about="One for each team or product: its spend, logs and people are then its own."
      submit="Create the workspace"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="Name" error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Research"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Slug"
        isOptional
        help="Its name in addresses and headers. Made from the name unless given."
        error={fault('slug')}
      >
        {(control) => <Input {...control} value={slug} onChange={(event) => setSlug(event.target.value)} />}
      </Field>
      <Field label="About" isOptional error={fault('description')}>
        {(control) => <Input {...control} value={about} onChange={(event) => setAbout(event.target.value)} />}
      </Field>
      <Field label="Budget in dollars a month" isOptional error={fault('usage_limits')}>
        {(control) => (
          <Input
            {...control}
            type="number"
            min="0.01"
            step="any"
            placeholder="no limit"
            value={budget}
            onChange={(event) => setBudget(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
