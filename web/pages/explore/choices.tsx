import { useEffect, useState } from 'react';
import { Field, Input, Segmented, Select, Switch } from '../../design/field.tsx';
import { DIMENSIONS, METADATA } from '../../shell/dimensions.ts';
import { isMetric } from './metric-names.ts';
import { METRIC_CHOICES, METRICS } from './metrics.ts';
import type { Choice } from './questions.ts';

const BY = [...DIMENSIONS.map(({ value, label }) => ({ value, label })), { value: METADATA, label: 'Metadata…' }];
const LIMITS = ['3', '5', '7', '12', '20'].map((value) => ({ value, label: `Top ${value}` }));
const LOOKS = [
  { value: 'bars', label: 'Bars' },
  { value: 'areas', label: 'Areas' },
  { value: 'lines', label: 'Lines' },
];

/** Metric × group × subgroup, and how they are shown. */
export function Choices({
  choice,
  onChange,
}: {
  readonly choice: Choice;
  readonly onChange: (change: Partial<Choice>) => void;
}) {
  const metric = isMetric(choice.metric) ? choice.metric : 'requests';
  const { isSum } = METRICS[metric];
  return (
    <div className="explore-choices">
      <Field label="Figure">
        {(control) => (
          <Select
            {...control}
            value={metric}
            choices={METRIC_CHOICES}
            onChange={(next) => onChange({ metric: next, look: '' })}
          />
        )}
      </Field>
      <By label="Group by" value={choice.group} onChange={(group) => onChange({ group })} />
      <By label="Then by" value={choice.subgroup} hasNone onChange={(subgroup) => onChange({ subgroup })} />
      <Field label="Show">
        {(control) => (
          <Select
            {...control}
            value={String(choice.limit)}
            choices={LIMITS}
            onChange={(limit) => onChange({ limit: Number(limit) })}
          />
        )}
      </Field>
      <Field label="Rank by">
        {(control) => (
          <Select
            {...control}
            value={choice.rank}
            choices={[{ value: '', label: 'The figure itself' }, ...METRIC_CHOICES]}
            onChange={(rank) => onChange({ rank })}
          />
        )}
      </Field>
      <div className="explore-look">
        <Segmented
          label="Drawn as"
          value={choice.look || (isSum ? 'bars' : 'lines')}
          choices={isSum ? LOOKS : LOOKS.slice(2)}
          onChange={(look) => onChange({ look: look === (isSum ? 'bars' : 'lines') ? '' : look })}
        />
        {isSum && (
          <Switch checked={choice.sums} onChange={(sums) => onChange({ sums })}>
            Add up
          </Switch>
        )}
      </div>
    </div>
  );
}

function By({
  label,
  value,
  hasNone = false,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly hasNone?: boolean;
  readonly onChange: (value: string) => void;
}) {
  const isMetadata = value.startsWith(METADATA);
  const [asksKey, setAsksKey] = useState(isMetadata);
  const [key, setKey] = useState(isMetadata ? value.slice(METADATA.length) : '');
  useEffect(() => {
    if (isMetadata) setKey(value.slice(METADATA.length));
    else if (value) setAsksKey(false);
  }, [isMetadata, value]);
  const commit = () => key.trim() && onChange(METADATA + key.trim());
  return (
    <>
      <Field label={label}>
        {(control) => (
          <Select
            {...control}
            value={asksKey || isMetadata ? METADATA : value}
            choices={hasNone ? [{ value: '', label: 'Nothing' }, ...BY] : BY}
            onChange={(next) => {
              setAsksKey(next === METADATA);
              if (next !== METADATA) onChange(next);
            }}
          />
        )}
      </Field>
      {(asksKey || isMetadata) && (
        <Field label="Metadata key">
          {(control) => (
            <Input
              {...control}
              placeholder="team"
              value={key}
              onChange={(event) => setKey(event.target.value)}
              onBlur={commit}
              onKeyDown={(event) => event.key === 'Enter' && commit()}
            />
          )}
        </Field>
      )}
    </>
  );
}
