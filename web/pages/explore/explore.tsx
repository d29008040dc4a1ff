import type { QueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { askAll, useApi } from '../../api/hooks.ts';
import { Button } from '../../design/button.tsx';
import { copyText } from '../../design/copy.tsx';
import { csvOf, save } from '../../design/download.ts';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../design/states.tsx';
import { TimeChart } from '../../design/time-chart.tsx';
import { toast } from '../../design/toast.tsx';
import type { Opening } from '../../pages.ts';
import { termOfOthers, type Value } from '../../shell/dimensions.ts';
import { useFilters } from '../../shell/filters.ts';
import { useOpenLogs } from '../../shell/open-logs.ts';
import { openedView, useAnalyticsQuery, useReach } from '../../shell/range.ts';
import { isFilterFault, ReachBar, UnreadFilter } from '../../shell/reach-bar.tsx';
import { SavedViews } from '../../shell/saved-views.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { useValueNames } from '../../shell/value-names.ts';
import { Choices } from './choices.tsx';
import { linesOf, tableOf } from './drawn.ts';
import { METRICS } from './metrics.ts';
import { chosenIn, FILTERS, MOST_BEFORE, questions, SERIES, seriesOf } from './questions.ts';
import { SeriesTable } from './series-table.tsx';

/** What a row stands for: some calls, all that no row names, or all. */
export type Place = { readonly group: Value; readonly subgroup?: Value } | 'others' | 'all';

export const ask = (queries: QueryClient, opening: Opening) => askAll(queries, questions(openedView(opening)));

export default function Explore() {
  const [choice, setChoice] = useFilters(FILTERS);
  const { now, before } = useAnalyticsQuery();
  const { span, setSpan, filter, setFilter, setRange } = useReach();
  const openLogs = useOpenLogs();
  const { metric, by, then } = chosenIn(choice);
  const nameOf = useValueNames([by.value, then?.value]);
  const asked = useApi(SERIES, seriesOf(now, choice), { keepsLast: true });
  const past = useApi(SERIES, seriesOf(before, choice, MOST_BEFORE), {
    keepsLast: true,
    enabled: choice.compare,
  }).data;
  const { data } = asked;
  const isTwofold = data?.series.some(({ subgroup }) => subgroup !== undefined) ?? false;
  const labelOf = useMemo(
    () =>
      ({ group, subgroup }: Exclude<Place, string>) =>
        isTwofold && then
          ? `${nameOf(by.value, group)} · ${nameOf(then.value, subgroup ?? null)}`
          : nameOf(by.value, group),
    [nameOf, by.value, then, isTwofold],
  );
  const { isSum, format } = METRICS[metric];
  const isRunning = choice.sums && isSum;
  const compared = choice.compare ? (past ?? null) : null;
  const look =
    choice.look === 'lines' || choice.look === 'areas' || choice.look === 'bars'
      ? choice.look
      : isSum
        ? 'bars'
        : 'lines';
  const lines = useMemo(
    () => (data ? linesOf(data, compared, { labelOf, isRunning }) : []),
    [data, compared, labelOf, isRunning],
  );
  const times = useMemo(() => data?.timestamps.map((timestamp) => Date.parse(timestamp)) ?? [], [data]);
  /** Null where the log cannot be asked for it. */
  const termsOf = (place: Place): string[] | null => {
    if (place === 'all') return [];
    if (place === 'others') {
      const term =
        isTwofold || !data
          ? null
          : termOfOthers(
              by,
              data.series.map(({ group }) => group),
            );
      return term === null ? null : [term];
    }
    const { group, subgroup } = place;
    if (!by.termOf || (isTwofold && !then?.termOf)) return null;
    return [by.termOf(group), ...(isTwofold ? [then!.termOf!(subgroup ?? null)] : [])];
  };
  /** Of a line of the chart; those of the time before stand for nothing that is there. */
  const placeAt = (at: number | null): Place =>
    at === null ? 'all' : (data?.series[at] ?? (at === data?.series.length && data.others ? 'others' : 'all'));
  const share = async () => {
    const isCopied = await copyText(location.href);
    toast({ title: isCopied ? 'The link to this view is copied.' : location.href, tone: 'good' });
  };
  const compare = () => setChoice({ compare: !choice.compare });
  useShortcut('b', 'Compare with the time before', compare);
  return (
    <>
      <PageHeader title="Explore" about="Any figure, by anything, over any time.">
        <SavedViews page="explore" />
        <Button icon="copy" onClick={share}>
          Copy link
        </Button>
        <Button
          icon="download"
          disabled={!data || data.series.length === 0}
          onClick={() => data && save(`${metric}-by-${by.value}.csv`, csvOf(tableOf(data, compared, labelOf)))}
        >
          Export
        </Button>
      </PageHeader>
      <ReachBar error={asked.error}>
        <Button aria-pressed={choice.compare} look={choice.compare ? 'plain' : 'quiet'} icon="layers" onClick={compare}>
          {choice.compare ? 'Compared with before' : 'Compare'}
        </Button>
      </ReachBar>
      <Stack gap={4}>
        <Choices choice={choice} onChange={setChoice} />
        {isFilterFault(asked.error) ? (
          <UnreadFilter />
        ) : asked.error ? (
          <ErrorNote error={asked.error} onRetry={() => void asked.refetch()} />
        ) : !data ? (
          <Card>
            <Skeleton lines={8} />
          </Card>
        ) : data.series.length === 0 ? (
          <Card>
            <EmptyState
              icon="explore"
              title="No calls in this time"
              action={
                filter ? (
                  <Button onClick={() => setFilter('')}>Look without a filter</Button>
                ) : (
                  <Button onClick={() => setRange('30d')}>Look at the last 30 days</Button>
                )
              }
            >
              {filter ? 'No call of this time meets the filter.' : 'Choose a longer time, or send a call.'}
            </EmptyState>
          </Card>
        ) : (
          <>
            <Card>
              <div className={asked.isPlaceholderData ? 'explore-stale' : undefined}>
                <TimeChart
                  label={`${METRICS[metric].label} by ${by.label}`}
                  {...{ look, times, span, format }}
                  series={lines}
                  step={data.bucket_seconds * 1_000}
                  height={320}
                  onZoom={(from, until) => setSpan({ from, until })}
                  onOpen={
                    openLogs ? (from, until, at) => openLogs(termsOf(placeAt(at)) ?? [], { from, until }) : undefined
                  }
                />
              </div>
            </Card>
            <SeriesTable
              {...{ data, metric, by, nameOf }}
              before={compared}
              then={isTwofold ? then : null}
              colors={lines.map(({ color }) => color!)}
              onOpen={
                openLogs
                  ? (place) => {
                      const terms = termsOf(place);
                      return terms && (() => openLogs(terms));
                    }
                  : null
              }
              onNarrow={(place) => {
                const terms = termsOf(place);
                return terms && terms.length > 0 ? () => setFilter([filter, ...terms].join(' ').trim()) : null;
              }}
            />
          </>
        )}
      </Stack>
    </>
  );
}
