import type { ApiKey } from '../../api/types.d.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { Input, Select } from '../../design/field.tsx';
import { UNITS } from '../limits/policy.ts';

type RateLimit = NonNullable<ApiKey['rate_limits']>[number];

export interface RateDraft extends Omit<RateLimit, 'value'> {
  readonly value: string;
}

const TYPES = [
  { value: 'requests', label: 'requests' },
  { value: 'tokens', label: 'tokens' },
] as const;
const UNIT_CHOICES = Object.entries(UNITS).map(([value, label]) => ({ value: value as RateLimit['unit'], label }));

export const ratesIn = (limits: ApiKey['rate_limits']): readonly RateDraft[] =>
  (limits ?? []).map((limit) => ({ ...limit, value: String(limit.value) }));

/** As the API takes it; null: none. */
export const ratesFrom = (rates: readonly RateDraft[]): RateLimit[] | null =>
  rates.length > 0 ? rates.map((rate) => ({ ...rate, value: Number(rate.value) })) : null;

/** How many requests and tokens in which time: as many limits as are wanted, all of which hold. */
export function RateLimitsField({
  rates,
  error,
  onChange,
}: {
  readonly rates: readonly RateDraft[];
  readonly error: string | null;
  readonly onChange: (rates: readonly RateDraft[]) => void;
}) {
  const put = (index: number, change: Partial<RateDraft>) =>
    onChange(rates.map((each, at) => (at === index ? { ...each, ...change } : each)));
  return (
    <fieldset className="key-rates">
      <legend className="field-label">Rate limits</legend>
      {rates.map((rate, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a limit has no name but its place
        <div key={index} className="key-rate">
          <Input
            aria-label={`Most of limit ${index + 1}`}
            type="number"
            required
            min="1"
            step="1"
            value={rate.value}
            onChange={(event) => put(index, { value: event.target.value })}
          />
          <Select
            aria-label={`Of what, limit ${index + 1}`}
            value={rate.type}
            choices={TYPES}
            onChange={(type) => put(index, { type })}
          />
          <Select
            aria-label={`In which time, limit ${index + 1}`}
            value={rate.unit}
            choices={UNIT_CHOICES}
            onChange={(unit) => put(index, { unit })}
          />
          <IconButton
            icon="close"
            label={`Leave limit ${index + 1} out`}
            onClick={() => onChange(rates.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <div>
        <Button
          size="small"
          icon="plus"
          onClick={() => onChange([...rates, { type: 'requests', unit: 'rpm', value: '' }])}
        >
          Add a rate limit
        </Button>
      </div>
      {error && (
        <div className="field-error" role="alert">
          {error}
        </div>
      )}
    </fieldset>
  );
}
