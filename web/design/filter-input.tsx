import { IconButton } from './button.tsx';
import { Input } from './field.tsx';

/** Narrows what is on the page. `/` leads here, Escape empties it. */
export const FilterInput = ({
  label,
  value,
  onChange,
  placeholder = 'Filter',
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
}) => (
  <div className="filter-input">
    <Input
      icon="search"
      type="text"
      data-filter=""
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        if (value) onChange('');
        else event.currentTarget.blur();
      }}
    />
    {value ? (
      <IconButton size="small" icon="close" label="Empty the filter" onClick={() => onChange('')} />
    ) : (
      <kbd>/</kbd>
    )}
  </div>
);
