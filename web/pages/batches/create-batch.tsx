import { useState } from 'react';
import { api, type BodyOf } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { uploadFile } from '../../api/files.ts';
import { useAction } from '../../api/hooks.ts';
import type { Batch } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { paidBy, usePaying } from '../../shell/paying.tsx';

type Body = BodyOf<'/v1/batches'>;
const ENDPOINTS = (
  [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/v1/embeddings',
    '/v1/completions',
    '/v1/moderations',
  ] as const satisfies readonly Body['endpoint'][]
).map((value) => ({ value, label: value }));
const WINDOWS = [
  { value: '24h', label: 'Within a day, by the provider where it can: half the price' },
  { value: 'immediate', label: 'Now, by the gateway' },
] as const;

export function CreateBatch({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (batch: Batch) => void;
}) {
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState('');
  const [endpoint, setEndpoint] = useState<Body['endpoint']>('/v1/chat/completions');
  const [window, setWindow] = useState<Body['completion_window']>('24h');
  const [virtualKey, setVirtualKey] = useState('');
  const { choices, slug } = usePaying();
  const chosen = virtualKey || slug;
  const create = useAction(
    async () => {
      const { id: input_file_id } = await uploadFile(file!, 'batch');
      return api.post('/v1/batches', {
        body: { input_file_id, endpoint, completion_window: window, ...(name && { metadata: { name } }) },
        headers: paidBy(chosen),
      });
    },
    { changes: ['/v1/batches', '/v1/files'], done: 'The batch has begun.', onDone: onCreated, onFault: () => {} },
  );
  return (
    <FormDialog
      title="Create a batch"
      about="A file of lines of JSON: custom_id, method, url, and body as a single call would have it."
      submit="Upload and begin"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="File" error={faultAbout(create.error, 'file')}>
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".jsonl,application/jsonl"
            required
            onChange={(event) => setFile(event.target.files?.[0] ?? null)}
          />
        )}
      </Field>
      <Field label="Name" isOptional>
        {(control) => (
          <Input
            {...control}
            placeholder="nightly labels"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Provider" help="Which virtual key pays.">
        {(control) => <Select {...control} value={chosen} choices={choices} onChange={setVirtualKey} />}
      </Field>
      <Field label="Endpoint" error={faultAbout(create.error, 'endpoint')}>
        {(control) => <Select {...control} value={endpoint} choices={ENDPOINTS} onChange={setEndpoint} />}
      </Field>
      <Field label="When" error={faultAbout(create.error, 'completion_window')}>
        {(control) => <Select {...control} value={window} choices={WINDOWS} onChange={setWindow} />}
      </Field>
    </FormDialog>
  );
}
