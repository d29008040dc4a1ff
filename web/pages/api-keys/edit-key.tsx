import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Textarea } from '../../design/field.tsx';
import type { Scope } from '../../shell/session.tsx';
import { ForbiddenEditor, type Rule } from '../organisation/forbidden-editor.tsx';
import { BudgetField, budgetIn, isSameBudget, limitsFrom } from './budget-field.tsx';
import { DefaultsField, defaultsFrom, defaultsIn } from './defaults-field.tsx';
import { RateLimitsField, ratesFrom, ratesIn } from './rate-limits-field.tsx';
import { ScopesField } from './scopes-field.tsx';

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Of a moment, what a field for a day holds. */
const dayOf = (moment: string | null) => moment?.slice(0, 10) ?? '';

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((each) => other.includes(each));

/** What stays the same key: its secret is changed elsewhere. Only what was changed here is sent. */
export function EditKey({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const before = budgetIn(apiKey.usage_limits);
  const [name, setName] = useState(apiKey.name);
  const [about, setAbout] = useState(apiKey.description ?? '');
  const [models, setModels] = useState(apiKey.models?.join('\n') ?? '');
  const [ends, setEnds] = useState(dayOf(apiKey.expires_at));
  const [budget, setBudget] = useState(before);
  const [isReset, setReset] = useState(false);
  const ratesBefore = ratesIn(apiKey.rate_limits);
  const [rates, setRates] = useState(ratesBefore);
  const [scopes, setScopes] = useState<readonly Scope[]>(apiKey.scopes);
  const forbiddenBefore = apiKey.forbidden ?? [];
  const [forbidden, setForbidden] = useState<readonly string[]>(forbiddenBefore);
  const defaultsBefore = defaultsIn(apiKey);
  const [defaults, setDefaults] = useState(defaultsBefore);
  const save = useAction(
    () =>
      api.put('/v1/api-keys/{id}', {
        params: { id: apiKey.id },
        body: {
          name,
          description: about.trim() || null,
          models: models.trim() ? lines(models) : null,
          ...(ends !== dayOf(apiKey.expires_at) && { expires_at: ends ? `${ends}T23:59:59Z` : null }),
          ...(!isSameBudget(budget, before) && { usage_limits: limitsFrom(budget) }),
          ...(isReset && { reset_usage: true }),
          ...(JSON.stringify(rates) !== JSON.stringify(ratesBefore) && { rate_limits: ratesFrom(rates) }),
          ...(JSON.stringify(defaults) !== JSON.stringify(defaultsBefore) && {
            defaults: defaultsFrom(defaults, apiKey),
          }),
          ...(!isSame(scopes, apiKey.scopes) && { scopes: [...scopes] }),
          ...(!isSame(forbidden, forbiddenBefore) && {
            forbidden: forbidden.length > 0 ? ([...forbidden] as Rule[]) : null,
          }),
        },
      }),
    { changes: ['/v1/api-keys'], done: `The key ${name} is changed.`, onDone: onClose, onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  return (
    <FormDialog
      title={`Change ${apiKey.name}`}
      about="It holds for the next call. The secret stays."
      submit="Save"
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" error={fault('name')}>
        {(control) => <Input {...control} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="About" isOptional error={fault('description')}>
        {(control) => <Input {...control} value={about} onChange={(event) => setAbout(event.target.value)} />}
      </Field>
      <BudgetField draft={budget} error={fault('usage_limits')} onChange={setBudget} />
      {apiKey.usage.length > 0 && (
        <Checkbox checked={isReset} onChange={setReset}>
          Count its budgets from 0 again
        </Checkbox>
      )}
      <RateLimitsField rates={rates} error={fault('rate_limits')} onChange={setRates} />
      <Field
        label="Ends on"
        isOptional
        help="Empty: never. The day is over at midnight UTC."
        error={fault('expires_at')}
      >
        {(control) => <Input {...control} type="date" value={ends} onChange={(event) => setEnds(event.target.value)} />}
      </Field>
      <Field
        label="Models it may call"
        isOptional
        help="One in a line: gpt-4o, gpt-4o*, anthropic/*. Empty: every model."
        error={fault('models')}
      >
        {(control) => (
          <Textarea
            {...control}
            spellCheck={false}
            value={models}
            onChange={(event) => setModels(event.target.value)}
          />
        )}
      </Field>
      <details className="key-fold">
        <summary>What its calls use when they say nothing else</summary>
        <DefaultsField draft={defaults} fault={fault} onChange={setDefaults} />
      </details>
      <details className="key-fold">
        <summary>What it may do ({scopes.length})</summary>
        <ScopesField chosen={scopes} held={apiKey.scopes} error={fault('scopes')} onChange={setScopes} />
      </details>
      <details className="key-fold">
        <summary>What its calls may not bring along ({forbidden.length})</summary>
        <ForbiddenEditor value={forbidden} onChange={setForbidden} error={fault('forbidden')} />
      </details>
    </FormDialog>
  );
}
