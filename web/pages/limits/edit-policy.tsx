import { useState } from 'react';
import { api, type BodyOf } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Segmented, Select } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { Conditions, type DraftCondition, toConditions, toDraft } from './conditions.tsx';
import { isUsage, type Policy, UNITS } from './policy.ts';

const KINDS = [
  { value: 'usage', label: 'A budget' },
  { value: 'rate', label: 'A rate' },
] as const;
const RESETS = [
  { value: 'monthly', label: 'each month' },
  { value: 'weekly', label: 'each week' },
  { value: 'never', label: 'in all' },
] as const;
const USAGE_TYPES = [
  { value: 'cost', label: 'dollars' },
  { value: 'tokens', label: 'tokens' },
  { value: 'requests', label: 'requests' },
] as const;
const RATE_TYPES = [
  { value: 'requests', label: 'requests' },
  { value: 'tokens', label: 'tokens' },
] as const;
const UNIT_CHOICES = Object.entries(UNITS).map(([value, label]) => ({ value: value as keyof typeof UNITS, label }));
const GROUPS = [
  { value: 'metadata._user', label: 'each user (metadata _user)' },
  { value: 'api_key', label: 'each API key' },
  { value: 'workspace_id', label: 'each workspace' },
  { value: 'virtual_key', label: 'each virtual key' },
  { value: 'model', label: 'each model' },
  { value: 'provider', label: 'each provider' },
  { value: 'other', label: 'something else' },
];

interface Draft {
  readonly kind: 'usage' | 'rate';
  readonly name: string;
  readonly amount: string;
  readonly alert: string;
  readonly usageType: (typeof USAGE_TYPES)[number]['value'];
  readonly rateType: (typeof RATE_TYPES)[number]['value'];
  readonly unit: keyof typeof UNITS;
  readonly reset: (typeof RESETS)[number]['value'];
  readonly group: string;
  readonly groupKeys: string;
  readonly conditions: readonly DraftCondition[];
  readonly isEverywhere: boolean;
}

const EMPTY: Draft = {
  kind: 'usage',
  name: '',
  amount: '',
  alert: '',
  usageType: 'cost',
  rateType: 'requests',
  unit: 'rpm',
  reset: 'monthly',
  group: 'metadata._user',
  groupKeys: '',
  conditions: [{ key: 'metadata._user', value: '*', excludes: false }],
  isEverywhere: false,
};

function draftOf(policy: Policy): Draft {
  const keys = policy.group_by.map(({ key }) => key);
  const isKnown = keys.length === 1 && GROUPS.some(({ value }) => value === keys[0]);
  return {
    ...EMPTY,
    name: policy.name ?? '',
    ...(isUsage(policy)
      ? {
          kind: 'usage',
          usageType: policy.type,
          amount: String(policy.credit_limit),
          alert: policy.alert_threshold === null ? '' : String(policy.alert_threshold),
          reset: policy.periodic_reset ?? 'never',
        }
      : { kind: 'rate', rateType: policy.type, amount: String(policy.value), unit: policy.unit }),
    group: isKnown ? keys[0]! : 'other',
    groupKeys: isKnown ? '' : keys.join(', '),
    conditions: toDraft(policy.conditions),
    isEverywhere: policy.workspace_id === null,
  };
}

const keysOf = ({ group, groupKeys }: Draft) =>
  (group === 'other' ? groupKeys.split(',') : [group])
    .map((key) => key.trim())
    .filter(Boolean)
    .map((key) => ({ key }));

const sharedOf = (draft: Draft) => ({
  name: draft.name.trim() || null,
  conditions: toConditions(draft.conditions),
  group_by: keysOf(draft),
});

const usageOf = (draft: Draft) => ({
  ...sharedOf(draft),
  type: draft.usageType,
  credit_limit: Number(draft.amount),
  alert_threshold: draft.alert ? Number(draft.alert) : null,
  periodic_reset: draft.reset === 'never' ? null : draft.reset,
});

const rateOf = (draft: Draft) => ({
  ...sharedOf(draft),
  type: draft.rateType,
  unit: draft.unit,
  value: Number(draft.amount),
});

export function EditPolicy({
  policy,
  onClose,
  onSaved,
}: {
  /** Null: a new one. */
  readonly policy: Policy | null;
  readonly onClose: () => void;
  readonly onSaved: (policy: Policy) => void;
}) {
  const workspace = useWorkspace();
  const may = useMay();
  const [draft, setDraft] = useState<Draft>(() => (policy ? draftOf(policy) : EMPTY));
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const save = useAction<void, Policy>(
    async () => {
      if (policy) {
        const params = { id: policy.id };
        if (!isUsage(policy)) return api.put('/v1/policies/rate-limits/{id}', { params, body: rateOf(draft) });
        // A period in days is not on this form, and stays as it is.
        const { periodic_reset, ...rest } = usageOf(draft);
        const body = policy.periodic_reset_days ? rest : { ...rest, periodic_reset };
        return api.put('/v1/policies/usage-limits/{id}', { params, body });
      }
      const where = draft.isEverywhere
        ? { organisation_id: (await api.get('/v1/admin/organisation')).id }
        : { workspace_id: workspace.id };
      return draft.kind === 'usage'
        ? api.post('/v1/policies/usage-limits', {
            body: { ...usageOf(draft), ...where } as BodyOf<'/v1/policies/usage-limits'>,
          })
        : api.post('/v1/policies/rate-limits', { body: { ...rateOf(draft), ...where } });
    },
    { changes: ['/v1/policies'], done: 'The policy holds.', onDone: onSaved, onFault: () => {} },
  );
  const about = (param: string) => faultAbout(save.error, param);
  const isBudget = draft.kind === 'usage';
  return (
    <FormDialog
      title={policy ? 'Edit the policy' : 'Create a policy'}
      about="It limits many callers at once, each by itself, and holds within seconds on every node."
      submit={policy ? 'Save' : 'Create the policy'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      {!policy && <Segmented label="Kind" value={draft.kind} choices={KINDS} onChange={(kind) => set({ kind })} />}
      <Field label="Name" error={about('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder={isBudget ? 'team budget' : 'per user'}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label="Each may" error={about(isBudget ? 'credit_limit' : 'value')}>
        {(control) => (
          <span className="limits-amount">
            <Input
              {...control}
              type="number"
              required
              min={isBudget ? '0.01' : '1'}
              step={isBudget ? 'any' : '1'}
              placeholder={isBudget ? '50' : '20'}
              value={draft.amount}
              onChange={(event) => set({ amount: event.target.value })}
            />
            {isBudget ? (
              <>
                <Select
                  aria-label="Of what"
                  value={draft.usageType}
                  choices={USAGE_TYPES}
                  onChange={(usageType) => set({ usageType })}
                />
                <Select
                  aria-label="In which time"
                  value={draft.reset}
                  choices={RESETS}
                  onChange={(reset) => set({ reset })}
                />
              </>
            ) : (
              <>
                <Select
                  aria-label="Of what"
                  value={draft.rateType}
                  choices={RATE_TYPES}
                  onChange={(rateType) => set({ rateType })}
                />
                <Select
                  aria-label="In which time"
                  value={draft.unit}
                  choices={UNIT_CHOICES}
                  onChange={(unit) => set({ unit })}
                />
              </>
            )}
          </span>
        )}
      </Field>
      <Field label="Counted by" help="Each value has a counter of its own." error={about('group_by')}>
        {(control) => (
          <Select
            {...control}
            value={draft.group}
            choices={GROUPS}
            onChange={(group) =>
              set({
                group,
                ...(group.startsWith('metadata.') && { conditions: [{ key: group, value: '*', excludes: false }] }),
              })
            }
          />
        )}
      </Field>
      {draft.group === 'other' && (
        <Field label="Keys" help="Such as metadata.team, or several with commas between them.">
          {(control) => (
            <Input
              {...control}
              required
              placeholder="metadata.team"
              value={draft.groupKeys}
              onChange={(event) => set({ groupKeys: event.target.value })}
            />
          )}
        </Field>
      )}
      <Stack gap={2}>
        <span className="field-label">Concerns calls where all of these hold</span>
        <Conditions
          conditions={draft.conditions}
          onChange={(conditions) => set({ conditions })}
          fault={about('conditions')}
        />
      </Stack>
      {isBudget && (
        <Field
          label="Record when it has reached"
          isOptional
          help="In the audit log. Alerts can tell you as well."
          error={about('alert_threshold')}
        >
          {(control) => (
            <Input
              {...control}
              type="number"
              min="0"
              step="any"
              placeholder="–"
              value={draft.alert}
              onChange={(event) => set({ alert: event.target.value })}
            />
          )}
        </Field>
      )}
      {!policy && may('organisation.manage') && (
        <Checkbox checked={draft.isEverywhere} onChange={(isEverywhere) => set({ isEverywhere })}>
          In every workspace, not only in {workspace.slug}
        </Checkbox>
      )}
    </FormDialog>
  );
}
