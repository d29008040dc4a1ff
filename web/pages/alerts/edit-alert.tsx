import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Alert, AlertChannel } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Select } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { type ConditionDraft, conditionOf, draftOf, KIND_NAMES, KINDS, type Kind, startOf } from './condition.ts';

const REPEATS = [
  { value: '0', label: 'Never: only when it begins and ends' },
  { value: '3600', label: 'After an hour' },
  { value: '86400', label: 'After a day' },
  { value: '604800', label: 'After a week' },
];
const PERCENTILES = [
  { value: '50', label: 'p50' },
  { value: '90', label: 'p90' },
  { value: '99', label: 'p99' },
] as const;
const FAILED_BY = [
  { value: '', label: 'anybody' },
  { value: 'provider', label: 'the provider' },
  { value: 'gateway', label: 'the gateway' },
  { value: 'client', label: 'the client' },
] as const;

export function EditAlert({
  alert,
  channels,
  onClose,
  onSaved,
}: {
  /** Null: a new one. */
  readonly alert: Alert | null;
  readonly channels: readonly AlertChannel[];
  readonly onClose: () => void;
  readonly onSaved: (alert: Alert) => void;
}) {
  const may = useMay();
  const workspace = useWorkspace();
  const mayWide = may('organisation.manage');
  const [name, setName] = useState(alert?.name ?? '');
  const [draft, setDraft] = useState<ConditionDraft>(() => (alert ? draftOf(alert.condition) : startOf('budget')));
  const [told, setTold] = useState<readonly string[]>(alert?.channels ?? []);
  const [repeat, setRepeat] = useState(String(alert?.repeat_after ?? 0));
  const [wide, setWide] = useState(alert ? alert.workspace_id === null : false);
  const { isWide: mustBeWide = false, about } = KINDS[draft.kind];
  const isWide = wide || mustBeWide;
  const fitting = channels.filter(({ workspace_id }) => (workspace_id === null) === isWide);
  const set = (change: Partial<ConditionDraft>) => setDraft((before) => ({ ...before, ...change }));
  const save = useAction<void, Alert>(
    async () => {
      const body = {
        name,
        condition: conditionOf(draft, alert?.condition ?? null),
        channels: told.filter((id) => fitting.some((each) => each.id === id)),
        repeat_after: Number(repeat) || null,
      };
      if (alert) return api.put('/v1/alerts/{id}', { params: { id: alert.id }, body });
      const where = isWide
        ? { organisation_id: (await api.get('/v1/admin/organisation')).id }
        : { workspace_id: workspace.id };
      return api.post('/v1/alerts', { body: { ...body, ...where } });
    },
    { changes: ['/v1/alerts'], done: 'The alert is on.', onDone: onSaved, onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  const repeats = REPEATS.some(({ value }) => value === repeat)
    ? REPEATS
    : [...REPEATS, { value: repeat, label: `After ${repeat} seconds` }];
  return (
    <FormDialog
      title={alert ? 'Edit the alert' : 'Create an alert'}
      submit={alert ? 'Save' : 'Create the alert'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Budgets"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Tell when" help={about} error={fault('condition')}>
        {(control) => (
          <Select
            {...control}
            value={draft.kind}
            onChange={(kind: Kind) => setDraft(startOf(kind))}
            choices={KIND_NAMES.filter((kind) => mayWide || !KINDS[kind].isWide).map((value) => ({
              value,
              label: KINDS[value].label,
            }))}
          />
        )}
      </Field>
      <Details draft={draft} set={set} />
      <Stack gap={2}>
        <span className="field-label">Tell these channels</span>
        {fitting.length === 0 && (
          <p className="soft small">
            There is none {isWide ? 'of the organisation' : 'in this workspace'} yet: make one in the tab Channels.
            Until then this page shows the alert.
          </p>
        )}
        {fitting.map(({ id, name: channel }) => (
          <Checkbox
            key={id}
            checked={told.includes(id)}
            onChange={(isOn) => setTold(isOn ? [...told, id] : told.filter((each) => each !== id))}
          >
            {channel}
          </Checkbox>
        ))}
      </Stack>
      <Field label="Tell again while it goes on" error={fault('repeat_after')}>
        {(control) => <Select {...control} value={repeat} choices={repeats} onChange={setRepeat} />}
      </Field>
      {!alert && mayWide && !mustBeWide && (
        <Checkbox checked={wide} onChange={setWide}>
          Watch every workspace, not only {workspace.slug}
        </Checkbox>
      )}
    </FormDialog>
  );
}

function Details({
  draft,
  set,
}: {
  readonly draft: ConditionDraft;
  readonly set: (change: Partial<ConditionDraft>) => void;
}) {
  const { amounts, isFiltered } = KINDS[draft.kind];
  return (
    <>
      <div className="columns alerts-amounts">
        {draft.kind === 'budget' && (
          <Field label="Percentages">
            {(control) => (
              <Input
                {...control}
                required
                pattern="\s*\d+(\s*,\s*\d+)*\s*"
                value={draft.thresholds}
                onChange={(event) => set({ thresholds: event.target.value })}
              />
            )}
          </Field>
        )}
        {draft.kind === 'latency' && (
          <Field label="Percentile">
            {(control) => (
              <Select
                {...control}
                value={draft.percentile}
                choices={PERCENTILES}
                onChange={(percentile) => set({ percentile })}
              />
            )}
          </Field>
        )}
        {amounts.map(({ name, label, least, most }) => (
          <Field key={name} label={label}>
            {(control) => (
              <Input
                {...control}
                type="number"
                required
                step="any"
                min={least}
                max={most}
                value={draft.amounts[name] ?? ''}
                onChange={(event) => set({ amounts: { ...draft.amounts, [name]: event.target.value } })}
              />
            )}
          </Field>
        ))}
        {draft.kind === 'error_rate' && (
          <Field label="Failed by">
            {(control) => (
              <Select
                {...control}
                value={draft.failedBy}
                choices={FAILED_BY}
                onChange={(failedBy) => set({ failedBy })}
              />
            )}
          </Field>
        )}
      </div>
      {isFiltered && <Only draft={draft} set={set} />}
    </>
  );
}

/** Which calls count. */
function Only({
  draft,
  set,
}: {
  readonly draft: ConditionDraft;
  readonly set: (change: Partial<ConditionDraft>) => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const list = { query: { workspace_id, page_size: 200 } };
  const virtual = useApi('/v1/virtual-keys', list, { enabled: may('virtual_keys.list') });
  const keys = useApi('/v1/api-keys', list, { enabled: may('api_keys.list') });
  const every = { value: '', label: 'all' };
  return (
    <div className="columns alerts-amounts">
      <Field label="Only of provider">
        {(control) => (
          <Select
            {...control}
            value={draft.virtualKey}
            onChange={(virtualKey) => set({ virtualKey })}
            choices={[every, ...(virtual.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name }))]}
          />
        )}
      </Field>
      <Field label="Only of key">
        {(control) => (
          <Select
            {...control}
            value={draft.keyId}
            onChange={(keyId) => set({ keyId })}
            choices={[every, ...(keys.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))]}
          />
        )}
      </Field>
      <Field label="Only of model">
        {(control) => (
          <Input
            {...control}
            placeholder="all"
            value={draft.model}
            onChange={(event) => set({ model: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
