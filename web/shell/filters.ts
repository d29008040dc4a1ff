import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type { Opening } from '../pages.ts';
import { useAddress } from './address.ts';

type Value = string | number | boolean;
export type Filters = Readonly<Record<string, Value>>;

/** What the address says, as the kind of value that the default is. */
function read<F extends Filters>(search: Readonly<Record<string, unknown>>, defaults: F): F {
  const found: Record<string, Value> = {};
  for (const [name, otherwise] of Object.entries(defaults)) {
    const given = search[name];
    if (given === undefined || given === null) found[name] = otherwise;
    else if (typeof otherwise === 'number') found[name] = Number.isFinite(Number(given)) ? Number(given) : otherwise;
    else if (typeof otherwise === 'boolean') found[name] = given === true || given === 'true';
    else found[name] = String(given);
  }
  return found as F;
}

/** Wider than the literals of the defaults: `{ status: '' }` holds any text. */
type Widened<F extends Filters> = {
  readonly [K in keyof F]: F[K] extends string ? string : F[K] extends number ? number : boolean;
};

/** What `useFilters` will say in a page that is being opened. */
export const openedFilters = <F extends Filters>({ search }: Opening, defaults: F): Widened<F> =>
  read(search, defaults) as unknown as Widened<F>;

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
  const filters = useMemo(() => read(search, defaults), [search, defaults]);
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
  return [filters as unknown as Widened<F>, set];
}
