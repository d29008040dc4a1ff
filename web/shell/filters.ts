import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { useAddress } from './address.ts';
import { type Filters, openedFilters, type Widened } from './opened-filters.ts';

/**
 * The filters of a page, which live in the address: they survive a reload, and a link carries them. Give the defaults as a
 * constant outside of the component.
 *
 *     const [filters, setFilters] = useFilters(DEFAULTS);
 *     setFilters({ status: 'failed' });
 */
export function useFilters<F extends Filters>(
  defaults: F,
): readonly [Widened<F>, (change: Partial<Widened<F>>) => void] {
  const search = useAddress();
  const navigate = useNavigate();
  const filters = useMemo(() => openedFilters({ search }, defaults), [search, defaults]);
  const set = useCallback(
    (change: Partial<Widened<F>>) =>
      void navigate({
        to: '.',
        replace: true,
        search: ((before: Record<string, unknown>) => {
          const next: Record<string, unknown> = { ...before };
          for (const [name, value] of Object.entries(change))
            if (value === defaults[name] || value === undefined) delete next[name];
            else next[name] = value;
          return next;
        }) as never,
      }),
    [navigate, defaults],
  );
  return [filters, set];
}
