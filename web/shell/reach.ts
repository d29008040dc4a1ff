import { before, DAY, lastSpan, MOST_POINTS, PRESETS, type Span, stepOf } from './spans.ts';

/** What pages about calls ask for, from what the address says. Nothing here needs React: the first script asks by it, too. */
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

type Search = Readonly<Record<string, unknown>>;

export function spanOf({ range, from, until }: Reach, now: number): Span {
  const [begin, end] = [Number(from), Number(until)];
  if (!range && begin > 0 && end > begin && end - begin <= LONGEST) return { from: begin, until: end };
  const { ms } = PRESETS.find(({ value }) => value === range) ?? USUAL;
  return lastSpan(ms, now);
}

export const read = (search: Search): Reach => {
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

const KEYS = ['range', 'from', 'until', 'filter', 'calls'] as const;
export const isSaidIn = (search: Search) => KEYS.some((name) => search[name] !== undefined);

export const ALL = 'all';
/** Calls of models, answered or refused: a provider was chosen. */
const OF_MODELS = '-provider:none';

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

export function queriesOf({ slug, span, filter, isAll, points }: AnalyticsWish): AnalyticsQueries {
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

/** What a page that is being opened will look at. */
export interface OpenedView {
  readonly workspace: { readonly id: string; readonly slug: string };
  /** What stands behind `?` in its address. */
  readonly search: Search;
  readonly reach: Reach;
  readonly now: number;
}

/** What `useReach` will say there. */
export const lookedAt = ({ reach, now }: OpenedView) => ({
  reach,
  span: spanOf(reach, now),
  filter: reach.filter,
  isAll: reach.calls === ALL,
});

/** What `useAnalyticsQuery` will say there. */
export const queriesIn = (view: OpenedView, points = MOST_POINTS): AnalyticsQueries =>
  queriesOf({ ...lookedAt(view), slug: view.workspace.slug, points });
