import { useState } from 'react';
import { api, type BodyOf } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Actions, Button } from '../../design/button.tsx';
import { CodeBlock, SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Segmented, Select } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { type Scope, useMay, useWorkspace } from '../../shell/session.tsx';
import { ScopesField } from './scopes-field.tsx';

type Body = BodyOf<'/v1/api-keys'>;

const LIVES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'After 30 days' },
  { value: '90', label: 'After 90 days' },
  { value: '365', label: 'After a year' },
];
const UNITS = [
  { value: 'rpm', label: 'a minute' },
  { value: 'rph', label: 'an hour' },
  { value: 'rpd', label: 'a day' },
] as const;
const RESETS = [
  { value: 'monthly', label: 'each month' },
  { value: 'weekly', label: 'each week' },
  { value: 'never', label: 'in all' },
] as const;
const RIGHTS = [
  { value: 'usual', label: 'Call models and tools' },
  { value: 'chosen', label: 'Choose' },
] as const;
const DAY_MS = 86_400_000;

interface Draft {
  readonly name: string;
  readonly virtualKey: string;
  readonly days: string;
  readonly budget: string;
  readonly reset: (typeof RESETS)[number]['value'];
  readonly requests: string;
  readonly unit: (typeof UNITS)[number]['value'];
  readonly rights: (typeof RIGHTS)[number]['value'];
  readonly scopes: readonly Scope[];
}

const EMPTY: Draft = {
  name: '',
  virtualKey: '',
  days: '',
  budget: '',
  reset: 'monthly',
  requests: '',
  unit: 'rpm',
  rights: 'usual',
  scopes: [],
};

function bodyOf(draft: Draft, workspace_id: string): Body {
  return {
    name: draft.name,
    workspace_id,
    ...(draft.days && { expires_at: new Date(Date.now() + Number(draft.days) * DAY_MS).toISOString() }),
    ...(draft.virtualKey && { defaults: { virtual_key: draft.virtualKey } }),
    ...(draft.budget && {
      usage_limits: {
        type: 'cost',
        credit_limit: Number(draft.budget),
        periodic_reset: draft.reset === 'never' ? null : draft.reset,
      },
    }),
    ...(draft.requests && {
      rate_limits: [{ type: 'requests', unit: draft.unit, value: Number(draft.requests) }],
    }),
    ...(draft.rights === 'chosen' && { scopes: [...draft.scopes] }),
  };
}

export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const workspace = useWorkspace();
  const may = useMay();
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const providers = useApi(
    '/v1/virtual-keys',
    { query: { workspace_id: workspace.id, page_size: 200 } },
    { enabled: may('virtual_keys.list') },
  );
  const create = useAction(() => api.post('/v1/api-keys', { body: bodyOf(draft, workspace.id) }), {
    changes: ['/v1/api-keys'],
    onFault: () => {},
  });
  const fault = create.error instanceof ApiFault ? create.error : null;
  const about = (param: string) => (fault?.param?.startsWith(param) ? fault.message : null);
  if (create.data) return <Created secret={create.data.key} virtualKey={draft.virtualKey} onClose={onClose} />;
  return (
    <FormDialog
      title="Create an API key"
      about="One for each application: its spend, limits and end are then its own."
      submit="Create the key"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="Name" error={about('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="checkout-service"
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label="Provider" help="What its calls use when they name none." error={about('defaults')}>
        {(control) => (
          <Select
            {...control}
            value={draft.virtualKey}
            onChange={(virtualKey) => set({ virtualKey })}
            choices={[
              { value: '', label: 'Calls name it themselves' },
              ...(providers.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name })),
            ]}
          />
        )}
      </Field>
      <div className="columns key-limits">
        <Field label="Budget in dollars" isOptional error={about('usage_limits')}>
          {(control) => (
            <span className="key-limit">
              <Input
                {...control}
                type="number"
                min="0.01"
                step="any"
                placeholder="no limit"
                value={draft.budget}
                onChange={(event) => set({ budget: event.target.value })}
              />
              <Select
                aria-label="When the budget begins anew"
                value={draft.reset}
                choices={RESETS}
                onChange={(reset) => set({ reset })}
              />
            </span>
          )}
        </Field>
        <Field label="Requests" isOptional error={about('rate_limits')}>
          {(control) => (
            <span className="key-limit">
              <Input
                {...control}
                type="number"
                min="1"
                step="1"
                placeholder="no limit"
                value={draft.requests}
                onChange={(event) => set({ requests: event.target.value })}
              />
              <Select
                aria-label="In which time"
                value={draft.unit}
                choices={UNITS}
                onChange={(unit) => set({ unit })}
              />
            </span>
          )}
        </Field>
      </div>
      <Field label="Ends" error={about('expires_at')}>
        {(control) => <Select {...control} value={draft.days} choices={LIVES} onChange={(days) => set({ days })} />}
      </Field>
      <Stack gap={2}>
        <span className="field-label">What it may do</span>
        <Segmented
          label="What it may do"
          value={draft.rights}
          choices={RIGHTS}
          onChange={(rights) => set({ rights })}
        />
        {draft.rights === 'chosen' && <ScopesField chosen={draft.scopes} onChange={(scopes) => set({ scopes })} />}
      </Stack>
    </FormDialog>
  );
}

function Created({
  secret,
  virtualKey,
  onClose,
}: {
  readonly secret: string;
  readonly virtualKey: string;
  readonly onClose: () => void;
}) {
  const call = `curl ${location.origin}/v1/chat/completions \\
  -H "authorization: Bearer ${secret}" \\
${virtualKey ? '' : '  -H "x-gateway-virtual-key: demo" \\\n'}  -H "content-type: application/json" \\
  -d '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'`;
  return (
    <Dialog
      title="The key is made"
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
        <SecretOnce secret={secret} name="the key" />
        <CodeBlock title="Try it" code={call} />
      </Stack>
    </Dialog>
  );
}
