import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import type { Opening } from '../pages.ts';
import { useAddress } from './address.ts';
import { useWorkspace } from './session.tsx';
import { before, DAY, lastSpan, MOST_POINTS, PRESETS, type Span, stepOf } from './spans.ts';

const USUAL = PRESETS[3];
const LONGEST = 400 * DAY;

/** What Overview, Explore and Logs have in common; it stands in the address. */
export interface Reach {
  /** A preset, or '' for a time that begins and ends somewhere. */
  readonly range: string;
  readonly from: string;
  readonly until: string;
  /** In the language of filters. */
  readonly filter: string;
  /** `all`: what people do here counts, too, and not calls of models alone. */
  readonly calls: string;
}

function spanOf({ range, from, until }: Reach, now: number): Span {
  const [begin, end] = [Number(from), Number(until)];
  if (!range && begin > 0 && end > begin && end - begin <= LONGEST) return { from: begin, until: end };
  const { ms } = PRESETS.find(({ value }) => value === range) ?? USUAL;
  return lastSpan(ms, now);
}

/** The moment that pages call now: the same for all that is on screen, until it is renewed. */
let now = Date.now();
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

const read = (search: Readonly<Record<string, unknown>>): Reach => {
  const text = (name: string) => (search[name] === undefined || search[name] === null ? '' : String(search[name]));
  const range = text('range');
  const hasSpan = text('from') !== '' && text('until') !== '';
  return {
    range: range || (hasSpan ? '' : USUAL.value),
    from: text('from'),
    until: text('until'),
    filter: text('filter'),
    calls: text('calls'),
  };
};

/** What the address says, or what was looked at last where it says nothing. */
const reachOf = (search: Readonly<Record<string, unknown>>): Reach =>
  last === null || isSaidIn(search) ? read(search) : last;
const isSaidIn = (search: Readonly<Record<string, unknown>>) => KEYS.some((name) => search[name] !== undefined);

const ALL = 'all';
/** Calls of models, answered or refused: a provider was chosen. */
const OF_MODELS = '-provider:none';
const KEYS = ['range', 'from', 'until', 'filter', 'calls'] as const;

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

/** A term of the language of filters; null asks for entries without a value. */
export function term(field: string, value: string | number | null): string {
  if (value === null) return `${field}:none`;
  const text = String(value);
  return `${field}:${/^[^\s,*"\\<>=]+$/.test(text) && text !== 'none' ? text : JSON.stringify(text)}`;
}

/** Both must hold. A term that stands in the filter already is not said twice. */
export function both(filter: string, ...terms: readonly string[]): string {
  const all = filter.trim() ? [filter.trim()] : [];
  for (const each of terms) if (each && !` ${filter} `.includes(` ${each} `)) all.push(each);
  return all.join(' ');
}

/** What every question to `/v1/analytics` begins with. */
export interface AnalyticsQuery {
  readonly time_of_generation_min: string;
  readonly time_of_generation_max: string;
  readonly workspace_slug: string;
  readonly bucket_seconds: number;
  readonly filter?: string;
}

/** That of the time that is looked at, and of the time before. */
export interface AnalyticsQueries {
  readonly now: AnalyticsQuery;
  readonly before: AnalyticsQuery;
}

interface AnalyticsWish {
  readonly slug: string;
  readonly span: Span;
  readonly filter: string;
  readonly isAll: boolean;
  readonly points: number;
}

function queriesOf({ slug, span, filter, isAll, points }: AnalyticsWish): AnalyticsQueries {
  const asked = isAll ? filter.trim() : both(filter, OF_MODELS);
  const about = (of: Span): AnalyticsQuery => ({
    time_of_generation_min: String(of.from),
    time_of_generation_max: String(of.until),
    workspace_slug: slug,
    bucket_seconds: stepOf(of.until - of.from, points) / 1_000,
    ...(asked && { filter: asked }),
  });
  return { now: about(span), before: about(before(span)) };
}

/** `points`: more than so many are not asked for. */
export function useAnalyticsQuery(points = MOST_POINTS): AnalyticsQueries {
  const { slug } = useWorkspace();
  const { span, filter, isAll } = useReach();
  return useMemo(() => queriesOf({ slug, span, filter, isAll, points }), [slug, span, filter, isAll, points]);
}

export type OpenedReach = Pick<Looking, 'reach' | 'span' | 'filter' | 'isAll'>;

/** What `useReach` will say in a page that is being opened. */
export function openedReach({ search }: Opening): OpenedReach {
  const reach = reachOf(search);
  return { reach, span: spanOf(reach, now), filter: reach.filter, isAll: reach.calls === ALL };
}

/** What `useAnalyticsQuery` will say there. */
export const openedQuery = (opening: Opening, points = MOST_POINTS): AnalyticsQueries =>
  queriesOf({ ...openedReach(opening), slug: opening.session.workspace.slug, points });
