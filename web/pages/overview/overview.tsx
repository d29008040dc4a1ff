import { useMemo } from 'react';
import { Button } from '../../design/button.tsx';
import { csvOf, save } from '../../design/download.ts';
import { PageHeader } from '../../design/layout.tsx';
import { EmptyState, ErrorNote } from '../../design/states.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useReach } from '../../shell/range.ts';
import { isFilterFault, ReachBar, UnreadFilter } from '../../shell/reach-bar.tsx';
import { SavedViews } from '../../shell/saved-views.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { Charts } from './charts.tsx';
import { type Figures, timelineOf, useOverview } from './figures.ts';
import { FILTERS } from './questions.ts';
import { Rankings } from './rankings.tsx';
import { Tiles } from './tiles.tsx';

export { ask } from './figures.ts';

export default function Overview() {
  const [{ compare }, setFilters] = useFilters(FILTERS);
  const { filter, label, setRange, reach } = useReach();
  const { figures, error, retry } = useOverview(compare);
  const toggle = () => setFilters({ compare: !compare });
  useShortcut('b', 'Compare with the time before', toggle);
  useCommands(
    useMemo(
      () =>
        figures
          ? [{ label: 'Export this overview as CSV', icon: 'download' as const, run: () => exportOf(figures) }]
          : [],
      [figures],
    ),
  );
  const isEmpty = figures?.now.summary.requests === 0;
  return (
    <>
      <PageHeader title="Overview" about="What was called, how it went, and what it cost.">
        <SavedViews page="overview" />
        <Button icon="download" onClick={() => figures && exportOf(figures)} disabled={!figures || isEmpty}>
          Export
        </Button>
      </PageHeader>
      <ReachBar error={error}>
        <Button aria-pressed={compare} look={compare ? 'plain' : 'quiet'} icon="layers" onClick={toggle}>
          {compare ? 'Compared with before' : 'Compare'}
        </Button>
      </ReachBar>
      {isFilterFault(error) ? (
        <UnreadFilter />
      ) : error ? (
        <ErrorNote error={error} onRetry={retry} />
      ) : isEmpty ? (
        <EmptyState
          icon="chart"
          title="No calls in this time"
          action={
            reach.range !== '30d' && (
              <Button look="primary" onClick={() => setRange('30d')}>
                Look at the last 30 days
              </Button>
            )
          }
        >
          {filter
            ? `No call of the time “${label}” meets the filter. Empty it, or look at a longer time.`
            : 'Send a call through the gateway and its figures are here within a second.'}
        </EmptyState>
      ) : (
        <div className="overview">
          <Tiles figures={figures} />
          <Charts figures={figures} isCompared={compare} />
          <Rankings isNext={figures !== null} />
        </div>
      )}
    </>
  );
}

const exportOf = (figures: Figures) => save('overview.csv', csvOf(timelineOf(figures)));
