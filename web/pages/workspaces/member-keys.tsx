import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { Workspace } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { Field, Input, Switch, Textarea } from '../../design/field.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { BudgetField, budgetIn, isSameBudget, limitsFrom } from '../api-keys/budget-field.tsx';

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Whether members make keys of their own in a workspace, and within which bounds. */
export function MemberKeys({ workspace }: { readonly workspace: Workspace }) {
  const rule = workspace.member_keys;
  const before = budgetIn(rule?.usage_limits);
  const [isOn, setOn] = useState(rule !== null);
  const [most, setMost] = useState(String(rule?.most ?? 3));
  const [days, setDays] = useState(rule?.max_days ? String(rule.max_days) : '');
  const [budget, setBudget] = useState(before);
  const [models, setModels] = useState(rule?.models?.join('\n') ?? '');
  const save = useAction(
    () =>
      api.put('/v1/admin/workspaces/{workspace}', {
        params: { workspace: workspace.id },
        body: {
          member_keys: isOn
            ? {
                // What the form does not show stays.
                ...rule,
                most: Number(most),
                max_days: days ? Number(days) : null,
                models: models.trim() ? lines(models) : null,
                ...(!isSameBudget(budget, before) && { usage_limits: limitsFrom(budget) }),
              }
            : null,
        },
      }),
    { changes: ['/v1/admin/workspaces', '/v1/own-keys'], done: 'It is saved.', onFault: () => {} },
  );
  const fault = (name: string) => faultAbout(save.error, `member_keys.${name}`);
  const number = (label: string, value: string, set: (value: string) => void, help: string, name: string) => (
    <Field label={label} help={help} error={fault(name)}>
      {(control) => (
        <Input
          {...control}
          type="number"
          min="1"
          step="1"
          required={name === 'most'}
          value={value}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Field>
  );
  return (
    <form
      className="stack gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <h3>Keys of members</h3>
      <Switch
        checked={isOn}
        onChange={setOn}
        help={
          rule && !isOn
            ? 'Keys that members have made are refused from that moment on, and taken again when it is on again.'
            : 'They find them at Home. Their keys act for them, and end with them.'
        }
      >
        Members may make keys of their own
      </Switch>
      {isOn && (
        <>
          <div className="columns workspaces-pair">
            {number('Keys of each member', most, setMost, 'At most 100.', 'most')}
            {number('Days that a key lives', days, setDays, 'Empty: it lasts.', 'max_days')}
          </div>
          <BudgetField
            label="Budget of each member in dollars"
            draft={budget}
            error={fault('usage_limits')}
            onChange={setBudget}
          />
          <Field
            label="Models they may call"
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
        </>
      )}
      {save.error && <ErrorNote error={save.error} />}
      <div>
        <Button type="submit" isBusy={save.isPending}>
          Save what members may have
        </Button>
      </div>
    </form>
  );
}
