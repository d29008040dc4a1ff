import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Segmented, Select } from '../../design/field.tsx';
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

/** What is shown masked is no value to send back. */
const isMasked = (value: string) => value.includes('***');

/** Options that are text and are shown; what else is in them, such as prices, stays as it is. */
const textsIn = (configurations: Readonly<Record<string, unknown>>): FormValue =>
  Object.fromEntries(
    Object.entries(configurations).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string' && !isMasked(pair[1]),
    ),
  );

/** Client certificates, in PEM: for servers that want to know who calls. */
const CERTIFICATES = [
  {
    name: 'tls_certificate',
    label: 'Certificate',
    help: 'The one that the gateway shows, then those between it and its authority.',
  },
  { name: 'tls_private_key', label: 'Private key', help: 'Without a password. Sealed, and never shown again.' },
  {
    name: 'tls_authorities',
    label: 'Authorities',
    help: 'Who may vouch for the server, in the place of those that the system trusts.',
  },
] as const;
const isCertificate = (name: string) => CERTIFICATES.some((each) => each.name === name);

const PLACES = [
  { value: 'here', label: 'Keep it here' },
  { value: 'store', label: 'It lies in a secret store' },
] as const;

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
  const [place, setPlace] = useState<(typeof PLACES)[number]['value']>('here');
  const [host, setHost] = useState(virtualKey?.custom_host ?? '');
  const before = textsIn(virtualKey?.configurations ?? {});
  const [options, setOptions] = useState<FormValue>(before);
  const facts = known.data?.data.find((each) => each.name === provider);
  const configurations = () => ({
    // A certificate that was emptied goes; what has no field here stays.
    ...Object.fromEntries(
      Object.entries(virtualKey?.configurations ?? {}).filter(([name]) => !isCertificate(name) || options[name] !== ''),
    ),
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== '')),
  });
  const body = () => ({
    name: name.trim() || provider,
    custom_host: host.trim() || null,
    ...(key && { key: place === 'store' ? { secret: key } : key }),
    // Secrets among them are shown masked: all are sent only when one was changed, and the gateway names those that it needs again.
    ...(JSON.stringify(options) !== JSON.stringify(before) && { configurations: configurations() }),
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
      <Segmented
        label="Where the credential is kept"
        value={place}
        choices={PLACES}
        onChange={(next) => {
          setPlace(next);
          setKey('');
        }}
      />
      {place === 'store' && (
        <Field
          label="Reference"
          help="store:path#field, of a store that the operator has set up and lets this workspace read."
          error={fault?.param?.startsWith('key') ? fault.message : null}
        >
          {(control) => (
            <Input
              {...control}
              required={!virtualKey}
              spellCheck={false}
              placeholder="vault:team-a/openai#api_key"
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
      )}
      {place === 'here' && (
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
      )}
      <Fields fields={fieldsOf(facts?.options ?? [])} value={options} onChange={setOptions} fault={fault} />
      <Field
        label="Other host"
        isOptional
        help="For a server of your own or a proxy, with its version: https://models.example.com/v1."
        error={fault?.param === 'custom_host' ? fault.message : null}
      >
        {(control) => <Input {...control} type="url" value={host} onChange={(event) => setHost(event.target.value)} />}
      </Field>
      <details className="key-fold" open={CERTIFICATES.some(({ name }) => fault?.param?.endsWith(name))}>
        <summary>Client certificate</summary>
        <div className="stack gap-3">
          <Fields
            fields={CERTIFICATES.map((each) => ({ ...each, kind: 'textarea', placeholder: '-----BEGIN …' }))}
            value={options}
            onChange={setOptions}
            fault={fault}
          />
        </div>
      </details>
    </FormDialog>
  );
}
