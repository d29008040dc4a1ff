import { useMemo } from 'react';
import { type Group, PAGES, type Page } from '../pages.ts';
import { useSession } from './session.tsx';

const ORDER: readonly Group[] = ['Start', 'Observe', 'Build', 'Connect', 'Control'];

export interface NavigationGroup {
  readonly group: Group;
  readonly pages: readonly Page[];
}

/** The pages that are open to the signed-in user here, by group. */
export function useNavigation(): readonly NavigationGroup[] {
  const { scopes } = useSession();
  return useMemo(() => {
    const open = PAGES.filter((page) => !page.isHidden && page.scopes.every((scope) => scopes.includes(scope)));
    return ORDER.map((group) => ({ group, pages: open.filter((page) => page.group === group) })).filter(
      ({ pages }) => pages.length > 0,
    );
  }, [scopes]);
}
