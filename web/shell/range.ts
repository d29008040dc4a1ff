import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { openedAt } from '../api/early.ts';
import type { Opening } from '../pages.ts';
import { useAddress } from './address.ts';
import { ALL, type AnalyticsQueries, isSaidIn, type OpenedView, queriesOf, type Reach, read, spanOf } from './reach.ts';
import { useWorkspace } from './session.tsx';
import { MOST_POINTS, PRESETS, type Span } from './spans.ts';

/** The moment that pages call now: the same for all that is on screen, until it is renewed. */
let now = openedAt();
const listeners = new Set<() => void>();
export function renew() {
  now = Date.now();
  for (const listener of listeners) listener();
}
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** What was looked at last in this tab: pages that share it take it over where their address says nothing. */
let last: Reach | null = null;

/** What the address says, or what was looked at last where it says nothing. */
const reachOf = (search: Readonly<Record<string, unknown>>): Reach =>
  last === null || isSaidIn(search) ? read(search) : last;
/** A reach as it stands in the address. */
export const searchOf = ({
  range,
  from,
  until,
  filter,
  calls,
}: Reach): Record<string, string | number | undefined> => ({
  range: range || undefined,
  from: range ? undefined : Number(from),
  until: range ? undefined : Number(until),
  filter: filter || undefined,
  calls: calls || undefined,
});

export interface Looking {
  readonly reach: Reach;
  readonly span: Span;
  readonly filter: string;
  /** `Last 24 hours`, or where it begins and ends. */
  readonly label: string;
  readonly setRange: (range: string) => void;
  readonly setSpan: (span: Span) => void;
  readonly setFilter: (filter: string) => void;
  /** Whether all that reached the gateway counts, and not calls of models alone. */
  readonly isAll: boolean;
  readonly setAll: (isAll: boolean) => void;
}

/**
 * The time and the filter that Overview, Explore and Logs share. They stand in the address as `range`, or `from` and `until`,
 * and `filter`; what was chosen on one of these pages holds on the next.
 */
export function useReach(): Looking {
  const search = useAddress();
  const navigate = useNavigate();
  const moment = useSyncExternalStore(subscribe, () => now);
  const isSaid = isSaidIn(search);
  // The same in other words, such as `%3A` for `:`, is the same time and filter: nothing is drawn or asked anew.
  const words = JSON.stringify(read(search));
  const said = useMemo((): Reach => JSON.parse(words), [words]);
  const reach = isSaid || last === null ? said : last;
  const set = useCallback(
    (change: Partial<Reach>, replace = false) => {
      last = { ...(last ?? read({})), ...change };
      const params = searchOf(last);
      void navigate({
        to: '.',
        replace,
        search: ((others: Record<string, unknown>) => ({ ...others, ...params })) as never,
      });
    },
    [navigate],
  );
  useEffect(() => {
    last = reach;
    if (!isSaid) set({}, true);
  }, [reach, isSaid, set]);
  const span = useMemo(() => spanOf(reach, moment), [reach, moment]);
  return {
    reach,
    span,
    filter: reach.filter,
    label: labelOf(reach, span),
    setRange: useCallback(
      (range: string) => {
        renew();
        set({ range, from: '', until: '' });
      },
      [set],
    ),
    setSpan: useCallback(
      ({ from, until }: Span) => set({ range: '', from: String(Math.round(from)), until: String(Math.round(until)) }),
      [set],
    ),
    setFilter: useCallback((filter: string) => set({ filter }, true), [set]),
    isAll: reach.calls === ALL,
    setAll: useCallback((isAll: boolean) => set({ calls: isAll ? ALL : '' }, true), [set]),
  };
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

export function formatSpan({ from, until }: Span): string {
  const [begins, ends] = [day.format(from), day.format(until)];
  if (begins === ends) return `${begins}, ${clock.format(from)} – ${clock.format(until)}`;
  return `${begins}, ${clock.format(from)} – ${ends}, ${clock.format(until)}`;
}

const labelOf = ({ range }: Reach, span: Span) =>
  PRESETS.find(({ value }) => value === range)?.label ?? formatSpan(span);

/** `points`: more than so many are not asked for. */
export function useAnalyticsQuery(points = MOST_POINTS): AnalyticsQueries {
  const { slug } = useWorkspace();
  const { span, filter, isAll } = useReach();
  return useMemo(() => queriesOf({ slug, span, filter, isAll, points }), [slug, span, filter, isAll, points]);
}

/** What `useReach` and `useWorkspace` will say in a page that is being opened. */
export const openedView = ({ session, search }: Opening): OpenedView => ({
  workspace: session.workspace,
  search,
  reach: reachOf(search),
  now,
});
