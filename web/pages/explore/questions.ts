import type { Question } from '../../api/early.ts';
import { dimensionOf } from '../../shell/dimensions.ts';
import { openedFilters } from '../../shell/opened-filters.ts';
import { type AnalyticsQuery, type OpenedView, queriesIn } from '../../shell/reach.ts';
import { isMetric } from './metric-names.ts';

export const FILTERS = {
  metric: 'requests',
  group: 'model',
  subgroup: '',
  rank: '',
  limit: 7,
  look: '',
  sums: false,
  compare: false,
};
export type Choice = { [Name in keyof typeof FILTERS]: (typeof FILTERS)[Name] };

/** The most that can be asked for: what has most now need not have had it before. */
export const MOST_BEFORE = 50;

export const SERIES = '/v1/analytics/series';

export const chosenIn = ({ metric, group, subgroup }: Choice) => ({
  metric: isMetric(metric) ? metric : 'requests',
  by: dimensionOf(group),
  then: subgroup ? dimensionOf(subgroup) : null,
});

export function seriesOf(about: AnalyticsQuery, choice: Choice, limit = choice.limit) {
  const { metric, by, then } = chosenIn(choice);
  const rank_by = isMetric(choice.rank) ? choice.rank : undefined;
  return { query: { ...about, metric, group_by: by.value, subgroup_by: then?.value, rank_by, limit } };
}

const scopes = ['analytics.view'];

/** Everything that the page asks first. */
export function questions(view: OpenedView): Question[] {
  const { now, before } = queriesIn(view);
  const choice = openedFilters(view, FILTERS);
  return [
    { path: SERIES, ...seriesOf(now, choice), scopes },
    ...(choice.compare ? [{ path: SERIES, ...seriesOf(before, choice, MOST_BEFORE), scopes }] : []),
  ];
}
