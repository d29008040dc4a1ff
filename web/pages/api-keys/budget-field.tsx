import type { ApiKey } from '../../api/types.d.ts';
import { Field, Input, Select } from '../../design/field.tsx';

const RESETS = [
  { value: 'monthly', label: 'each month' },
  { value: 'weekly', label: 'each week' },
  { value: 'never', label: 'in all' },
] as const;

/** The one budget in dollars that forms edit; where there are several, or others, they are changed by the API. */
export interface BudgetDraft {
  readonly limit: string;
  readonly reset: (typeof RESETS)[number]['value'];
  readonly isEditable: boolean;
}

type Limits = ApiKey['usage_limits'];

export function budgetIn(limits: Limits | undefined): BudgetDraft {
  const all = !limits ? [] : Array.isArray(limits) ? limits : [limits];
  const [one] = all;
  if (!one) return { limit: '', reset: 'monthly', isEditable: true };
  const isPlain = all.length === 1 && one.type === 'cost' && !one.periodic_reset_days;
  return { limit: String(one.credit_limit), reset: one.periodic_reset ?? 'never', isEditable: isPlain };
}

/** As the API takes it; null: no budget. */
export const limitsFrom = ({ limit, reset }: BudgetDraft) =>
  limit
    ? ({ type: 'cost', credit_limit: Number(limit), periodic_reset: reset === 'never' ? null : reset } as const)
    : null;

export const isSameBudget = (one: BudgetDraft, other: BudgetDraft) =>
  one.limit === other.limit && one.reset === other.reset;

export const BudgetField = ({
  label = 'Budget in dollars',
  draft,
  error,
  onChange,
}: {
  readonly label?: string;
  readonly draft: BudgetDraft;
  readonly error: string | null;
  readonly onChange: (draft: BudgetDraft) => void;
}) =>
  draft.isEditable ? (
    <Field label={label} help="Empty: no limit." error={error}>
      {(control) => (
        <span className="key-limit">
          <Input
            {...control}
            type="number"
            min="0.01"
            step="any"
            placeholder="no limit"
            value={draft.limit}
            onChange={(event) => onChange({ ...draft, limit: event.target.value })}
          />
          <Select
            aria-label="When it begins anew"
            value={draft.reset}
            choices={RESETS}
            onChange={(reset) => onChange({ ...draft, reset })}
          />
        </span>
      )}
    </Field>
  ) : (
    <p className="soft small">It has several budgets, which are changed through the API.</p>
  );
