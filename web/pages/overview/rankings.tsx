import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Segmented } from '../../design/field.tsx';
import { formatMoney, formatNumber } from '../../design/format.ts';
import { Card } from '../../design/layout.tsx';
import { BarList } from '../../design/sparkline.tsx';
import { Skeleton } from '../../design/states.tsx';
import { dimensionOf } from '../../shell/dimensions.ts';
import { useOpenLogs } from '../../shell/open-logs.ts';
import { searchOf, useReach } from '../../shell/range.ts';
import { useValueNames } from '../../shell/value-names.ts';
import { type Series, useRankings } from './figures.ts';
import { type Metric, RANKED, type Ranked, USUAL } from './questions.ts';

const METRICS = [
  { value: 'requests', label: 'Requests' },
  { value: 'cost', label: 'Cost' },
  { value: 'total_tokens', label: 'Tokens' },
] as const;

/** Who and what has most of it. */
export function Rankings({ isNext }: { readonly isNext: boolean }) {
  const [metric, setMetric] = useState<Metric>(USUAL);
  const { reach } = useReach();
  const shared = {
    openLogs: useOpenLogs(),
    nameOf: useValueNames(RANKED.map(({ by }) => by)),
    search: searchOf(reach),
  };
  const rankings = useRankings(metric, isNext);
  return (
    <>
      <div className="overview-rank-head">
        <h2>Most of it</h2>
        <Segmented label="Ranked by" value={metric} choices={METRICS} onChange={setMetric} />
      </div>
      <div className="overview-ranks">
        {RANKED.map((ranked, at) => (
          <Ranking key={ranked.by} metric={metric} {...ranked} {...shared} data={rankings?.[at]} />
        ))}
      </div>
    </>
  );
}

interface RankingProps extends Ranked {
  readonly metric: Metric;
  readonly data: Series | undefined;
  readonly openLogs: ReturnType<typeof useOpenLogs>;
  readonly nameOf: ReturnType<typeof useValueNames>;
  /** The time and the filter, as they stand in the address. */
  readonly search: ReturnType<typeof searchOf>;
}

function Ranking({ title, by, metric, color, data, openLogs, nameOf, search }: RankingProps) {
  const dimension = dimensionOf(by);
  const text = metric === 'cost' ? formatMoney : formatNumber;
  const rows = data?.series.filter(
    ({ group, value }) => value !== null && value > 0 && (by !== 'error_code' || group !== null),
  );
  return (
    <Card
      title={title}
      actions={
        <Link to="/explore" search={{ ...search, metric, group: by } as never} className="overview-more small">
          Explore
        </Link>
      }
    >
      {!rows ? (
        <Skeleton lines={5} />
      ) : rows.length === 0 ? (
        <p className="soft overview-none">{by === 'error_code' ? 'Nothing failed.' : 'Nothing in this time.'}</p>
      ) : (
        <BarList
          label={title}
          bars={[
            ...rows.map(({ group, value, figures }) => ({
              id: String(group),
              label: nameOf(by, group),
              value: value ?? 0,
              text: text(value ?? 0),
              more: metric === 'requests' ? formatMoney(figures.cost) : undefined,
              color,
              onOpen: openLogs && dimension.termOf ? () => openLogs([dimension.termOf!(group)]) : undefined,
            })),
            ...(data?.others && (data.others.value ?? 0) > 0
              ? [
                  {
                    id: ' others',
                    label: <span className="soft">{formatNumber(data.others.groups)} others</span>,
                    value: data.others.value ?? 0,
                    text: text(data.others.value ?? 0),
                    color: '--series-8',
                  },
                ]
              : []),
          ]}
        />
      )}
    </Card>
  );
}
