import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input } from '../../design/field.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { TEMPLATES } from './guardrail.ts';

export function CreateGuardrail({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (slug: string) => void;
}) {
  const workspace = useWorkspace();
  const may = useMay();
  const organisation = useApi('/v1/admin/organisation', {}, { enabled: may('organisation.manage') }).data;
  const [kind, setKind] = useState(TEMPLATES[0]!.value);
  const [typed, setTyped] = useState<string | null>(null);
  const [isForAll, setForAll] = useState(false);
  const template = TEMPLATES.find(({ value }) => value === kind)!;
  const name = typed ?? template.label;
  const create = useAction(
    () =>
      api.post('/v1/guardrails', {
        body: {
          name,
          ...template.draft,
          ...(isForAll && organisation ? { organisation_id: organisation.id } : { workspace_id: workspace.id }),
        },
      }),
    { changes: ['/v1/guardrails'], onDone: ({ slug }) => onMade(slug), onFault: () => {} },
  );
  const fault = create.error instanceof ApiFault && create.error.param === 'name' ? create.error.message : null;
  return (
    <FormDialog
      title="Create a guardrail"
      about="It holds nowhere until a config, a key, the workspace or the organisation names it."
      submit="Create and edit"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={fault ? null : create.error}
      onSubmit={() => create.mutate()}
    >
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
      <Field label="Name" error={fault}>
        {(control) => <Input {...control} required value={name} onChange={(event) => setTyped(event.target.value)} />}
      </Field>
      {organisation && (
        <Checkbox checked={isForAll} onChange={setForAll} help="Every workspace may name it; only you may change it.">
          For the whole organisation
        </Checkbox>
      )}
    </FormDialog>
  );
}
