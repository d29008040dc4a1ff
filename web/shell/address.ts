import { useMatch, useRouter, useSearch } from '@tanstack/react-router';
import { useMemo, useSyncExternalStore } from 'react';

type Search = Readonly<Record<string, unknown>>;

const withoutEnd = (path: string) => path.replace(/\/+$/, '');

/**
 * What stands behind `?` in the address, as of now. The router tells of a change when it finds time for it: until then, a
 * field whose value lives in the address would undo what is typed. While another page is on its way, this is the last of
 * the page that is shown.
 */
export function useAddress(): Search {
  const { history, basepath, options } = useRouter();
  const { parseSearch } = options;
  const told = useSearch({ strict: false }) as Search;
  const path = useMatch({ strict: false, select: ({ pathname }) => withoutEnd(basepath + pathname) });
  const written = useSyncExternalStore(history.subscribe, () =>
    withoutEnd(history.location.pathname) === path ? history.location.search : null,
  );
  // The router tells the same address in new words; what is drawn from it stays the same.
  const read = useMemo(() => (written === null ? null : parseSearch(written)), [written, parseSearch]);
  return read ?? told;
}
