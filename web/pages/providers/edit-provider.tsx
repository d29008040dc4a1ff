import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { Fields, type FormField, type FormValue } from '../../design/form.tsx';
import { useWorkspace } from '../../shell/session.tsx';
import { TestProvider } from './test-provider.tsx';

/** `aws_access_key_id` → `AWS access key id`. */
function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/^(aws|oci|ai)\b/, (word) => word.toUpperCase());
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

type Option = ResponseOf<'/v1/providers'>['data'][number]['options'][number];

const fieldsOf = (options: readonly Option[]): FormField[] =>
  options.map(({ name, description, is_secret }) => ({
    name,
    label: labelOf(name),
    kind: is_secret ? 'secret' : 'text',
    help: description,
  }));

/** Options that are text; what else is in them, such as prices, stays as it is. */
const textsIn = (configurations: Readonly<Record<string, unknown>>): FormValue =>
  Object.fromEntries(
    Object.entries(configurations).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );

/** Makes or changes a virtual key; the fields are those of the chosen provider. */
export function EditProvider({
  virtualKey,
  onClose,
}: {
  /** Null: a new one. */
  readonly virtualKey: VirtualKey | null;
  readonly onClose: () => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const known = useApi('/v1/providers');
  const [provider, setProvider] = useState(virtualKey?.provider ?? 'openai');
  const [name, setName] = useState(virtualKey?.name ?? '');
  const [key, setKey] = useState('');
  const [host, setHost] = useState(virtualKey?.custom_host ?? '');
  const [options, setOptions] = useState<FormValue>(textsIn(virtualKey?.configurations ?? {}));
  const facts = known.data?.data.find((each) => each.name === provider);
  const configurations = () => ({
    ...virtualKey?.configurations,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== '')),
  });
  const body = () => ({
    name: name.trim() || provider,
    custom_host: host.trim() || null,
    ...(key && { key }),
    ...(Object.keys(configurations()).length > 0 && { configurations: configurations() }),
  });
  const save = useAction(
    (): Promise<VirtualKey> =>
      virtualKey
        ? api.put('/v1/virtual-keys/{slug}', {
            params: { slug: virtualKey.slug },
            query: { workspace_id },
            body: body(),
          })
        : api.post('/v1/virtual-keys', { body: { ...body(), workspace_id, provider } }),
    { changes: ['/v1/virtual-keys', '/v1/models'], onFault: () => {} },
  );
  const fault = save.error instanceof ApiFault ? save.error : null;
  if (save.data) return <TestProvider virtualKey={save.data} isNew={!virtualKey} onClose={onClose} />;
  return (
    <FormDialog
      title={virtualKey ? `Change ${virtualKey.name}` : 'Add a provider'}
      about="The credential is sealed under the master key, and goes only to the host that is stored with it."
      submit={virtualKey ? 'Save' : 'Add it'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      {!virtualKey && (
        <Field label="Provider" help={facts?.base_url ? `Calls go to ${facts.base_url}.` : undefined}>
          {(control) => (
            <Select
              {...control}
              value={provider}
              onChange={(next) => {
                setProvider(next);
                setOptions({});
              }}
              choices={(known.data?.data ?? [{ name: 'openai' }]).map((each) => ({
                value: each.name,
                label: each.name,
              }))}
            />
          )}
        </Field>
      )}
      <Field label="Name" isOptional>
        {(control) => (
          <Input {...control} placeholder={provider} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <Field
        label={virtualKey ? 'New API key' : 'API key'}
        isOptional={virtualKey !== null || facts?.environment_variable === null}
        help={
          virtualKey
            ? `Left empty, ${virtualKey.masked_key || 'none'} stays.`
            : facts?.environment_variable
              ? `What ${facts.environment_variable} would hold.`
              : undefined
        }
        error={fault?.param === 'key' ? fault.message : null}
      >
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="new-password"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      <Fields fields={fieldsOf(facts?.options ?? [])} value={options} onChange={setOptions} fault={fault} />
      <Field
        label="Other host"
        isOptional
        help="For a server of your own or a proxy, with its version: https://models.example.com/v1."
        error={fault?.param === 'custom_host' ? fault.message : null}
      >
        {(control) => <Input {...control} type="url" value={host} onChange={(event) => setHost(event.target.value)} />}
      </Field>
    </FormDialog>
  );
}
