import { Button, IconButton } from '../../design/button.tsx';
import { Input, Select } from '../../design/field.tsx';
import type { Condition } from './policy.ts';

export interface DraftCondition {
  readonly key: string;
  /** Several with commas between them; `*` is every value. */
  readonly value: string;
  readonly excludes: boolean;
}

export const toDraft = (conditions: readonly Condition[]): DraftCondition[] =>
  conditions.map(({ key, value, excludes }) => ({
    key,
    value: Array.isArray(value) ? value.join(', ') : value,
    excludes: excludes ?? false,
  }));

export function toConditions(drafts: readonly DraftCondition[]): Condition[] {
  return drafts.map(({ key, value, excludes }) => {
    const values = value
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean);
    return { key: key.trim(), value: values.length === 1 ? values[0]! : values, ...(excludes && { excludes }) };
  });
}

const HOLDS = [
  { value: 'is', label: 'is' },
  { value: 'not', label: 'is not' },
] as const;
const KEYS = [
  'metadata.team',
  'metadata._user',
  'api_key',
  'virtual_key',
  'model',
  'provider',
  'config',
  'workspace_id',
];

export function Conditions({
  conditions,
  onChange,
  fault,
}: {
  readonly conditions: readonly DraftCondition[];
  readonly onChange: (conditions: readonly DraftCondition[]) => void;
  readonly fault: string | null;
}) {
  const put = (index: number, change: Partial<DraftCondition>) =>
    onChange(conditions.map((each, place) => (place === index ? { ...each, ...change } : each)));
  return (
    <div className="stack gap-2">
      <datalist id="limits-keys">
        {KEYS.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      {conditions.map((condition, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name but its place
        <div key={index} className="limits-condition">
          <Input
            aria-label={`Key of condition ${index + 1}`}
            list="limits-keys"
            required
            value={condition.key}
            onChange={(event) => put(index, { key: event.target.value })}
          />
          <Select
            aria-label={`Whether condition ${index + 1} is meant or not`}
            value={condition.excludes ? 'not' : 'is'}
            choices={HOLDS}
            onChange={(holds) => put(index, { excludes: holds === 'not' })}
          />
          <Input
            aria-label={`Value of condition ${index + 1}`}
            required
            placeholder="*"
            value={condition.value}
            onChange={(event) => put(index, { value: event.target.value })}
          />
          <IconButton
            icon="close"
            label={`Leave condition ${index + 1} out`}
            onClick={() => onChange(conditions.filter((_, place) => place !== index))}
          />
        </div>
      ))}
      <div className="line gap-3">
        <Button
          size="small"
          icon="plus"
          onClick={() => onChange([...conditions, { key: '', value: '*', excludes: false }])}
        >
          Add a condition
        </Button>
        <span className="soft small">
          <code>*</code> is every value; commas separate several.
        </span>
      </div>
      {fault && <div className="field-error">{fault}</div>}
    </div>
  );
}
