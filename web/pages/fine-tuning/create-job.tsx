import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { uploadFile } from '../../api/files.ts';
import { useAction } from '../../api/hooks.ts';
import type { FineTuningJob } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { paidBy, usePaying } from '../../shell/paying.tsx';

export function CreateJob({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (job: FineTuningJob) => void;
}) {
  const [file, setFile] = useState<File | null>(null);
  const [check, setCheck] = useState<File | null>(null);
  const [model, setModel] = useState('');
  const [suffix, setSuffix] = useState('');
  const [epochs, setEpochs] = useState('');
  const [virtualKey, setVirtualKey] = useState('');
  const { choices, slug } = usePaying();
  const chosen = virtualKey || slug;
  const create = useAction(
    async () => {
      const training = await uploadFile(file!, 'fine-tune');
      const validation = check ? await uploadFile(check, 'fine-tune') : null;
      return api.post('/v1/fine_tuning/jobs', {
        body: {
          model,
          training_file: training.id,
          ...(validation && { validation_file: validation.id }),
          ...(suffix && { suffix }),
          ...(epochs && {
            method: { type: 'supervised', supervised: { hyperparameters: { n_epochs: Number(epochs) } } },
          }),
        },
        headers: paidBy(chosen),
      });
    },
    {
      changes: ['/v1/fine_tuning/jobs', '/v1/files'],
      done: 'The job is handed over.',
      onDone: onCreated,
      onFault: () => {},
    },
  );
  const fault = (param: string) => faultAbout(create.error, param);
  return (
    <FormDialog
      title="Create a fine-tuning job"
      about="Examples are lines of JSON with messages, as a chat has them; the last message is the answer to learn."
      submit="Upload and begin"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="Examples" error={fault('training_file')}>
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".jsonl"
            required
            onChange={(event) => setFile(event.target.files?.[0] ?? null)}
          />
        )}
      </Field>
      <Field label="Examples to check with" isOptional error={fault('validation_file')}>
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".jsonl"
            onChange={(event) => setCheck(event.target.files?.[0] ?? null)}
          />
        )}
      </Field>
      <Field label="Provider" help="Which virtual key does the work.">
        {(control) => <Select {...control} value={chosen} choices={choices} onChange={setVirtualKey} />}
      </Field>
      <Field label="Model" error={fault('model')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="gpt-4o-mini"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        )}
      </Field>
      <div className="columns tuning-pair">
        <Field label="Suffix" isOptional help="Part of the new model's name." error={fault('suffix')}>
          {(control) => (
            <Input {...control} maxLength={64} value={suffix} onChange={(event) => setSuffix(event.target.value)} />
          )}
        </Field>
        <Field label="Epochs" isOptional help="Empty: the provider chooses." error={fault('method')}>
          {(control) => (
            <Input
              {...control}
              type="number"
              min="1"
              step="1"
              value={epochs}
              onChange={(event) => setEpochs(event.target.value)}
            />
          )}
        </Field>
      </div>
    </FormDialog>
  );
}
