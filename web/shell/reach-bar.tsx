import type { ReactNode } from 'react';
import { ApiFault } from '../api/fault.ts';
import { Segmented } from '../design/field.tsx';
import { EmptyState } from '../design/states.tsx';
import { FilterBar } from './filter-bar.tsx';
import { useReach } from './range.ts';
import { RangePicker } from './range-picker.tsx';

/** Whether the server could not read the filter: the bar shows where. */
export const isFilterFault = (error: unknown): boolean => error instanceof ApiFault && error.param === 'filter';

/** The filter and the time that pages share, and what else narrows a page. `error` is what the server said, of the filter or not. */
export function ReachBar({ error, children }: { readonly error?: unknown; readonly children?: ReactNode }) {
  const { isAll, setAll, filter, setFilter } = useReach();
  return (
    <div className="reach-bar">
      <FilterBar
        label="Filter calls"
        placeholder="model:gpt-5 status:429"
        value={filter}
        onChange={setFilter}
        error={isFilterFault(error) ? error : null}
      />
      <Segmented
        label="What counts"
        value={isAll ? 'all' : 'models'}
        choices={COUNTED}
        onChange={(next) => setAll(next === 'all')}
      />
      {children}
      <RangePicker />
    </div>
  );
}

const COUNTED = [
  { value: 'models', label: 'Model calls' },
  { value: 'all', label: 'Everything' },
];

/** Stands where figures would, while the filter cannot be read. */
export const UnreadFilter = () => (
  <EmptyState icon="filter" title="The filter cannot be read">
    Mend the part that is marked above, then press Enter.
  </EmptyState>
);
