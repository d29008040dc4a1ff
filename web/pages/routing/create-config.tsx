import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { drawn } from './config.ts';
import { ConfigTree } from './config-tree.tsx';
import { TEMPLATES } from './templates.ts';

export function CreateConfig({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (slug: string) => void;
}) {
  const workspace = useWorkspace();
  const may = useMay();
  const [name, setName] = useState('');
  const [kind, setKind] = useState(TEMPLATES[0]!.value);
  const keys = useApi(
    '/v1/virtual-keys',
    { query: { workspace_id: workspace.id, page_size: 200 } },
    { enabled: may('virtual_keys.list') },
  );
  const template = TEMPLATES.find(({ value }) => value === kind)!;
  const config = template.make((keys.data?.data ?? []).map(({ slug }) => slug));
  const create = useAction(() => api.post('/v1/configs', { body: { name, config, workspace_id: workspace.id } }), {
    changes: ['/v1/configs'],
    onDone: ({ slug }) => onMade(slug),
    onFault: () => {},
  });
  const fault = create.error instanceof ApiFault && create.error.param === 'name' ? create.error.message : null;
  return (
    <FormDialog
      title="Create a config"
      about="Choose how it begins; everything can be changed in the editor."
      submit="Create and edit"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={fault ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="Name" error={fault}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Main traffic"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Stack gap={2}>
        <fieldset className="routing-kinds">
          <legend className="field-label">Begins as</legend>
          {TEMPLATES.map(({ value, label, about }) => (
            <label key={value} className="routing-kind">
              <input type="radio" name="kind" checked={value === kind} onChange={() => setKind(value)} />
              <strong>{label}</strong>
              <span className="soft small">{about}</span>
            </label>
          ))}
        </fieldset>
        <div className="routing-preview">
          <ConfigTree root={drawn(config)} />
        </div>
      </Stack>
    </FormDialog>
  );
}
