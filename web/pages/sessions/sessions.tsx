import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { Badge } from '../../design/badge.tsx';
import { CodeBlock } from '../../design/copy.tsx';
import { formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { PageHeader } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useReach } from '../../shell/range.ts';
import { RangePicker } from '../../shell/range-picker.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';

export type LogSession = ResponseOf<'/v1/log-sessions'>['data'][number];

const PAGE = 100;

const COLUMNS: readonly Column<LogSession>[] = [
  {
    id: 'session',
    header: 'Session',
    cell: ({ id }) => <strong className="sessions-id">{id}</strong>,
  },
  {
    id: 'last',
    header: 'Last call',
    width: '120px',
    cell: ({ last_call_at }) => (
      <span className="soft">
        <Ago at={last_call_at} />
      </span>
    ),
  },
  {
    id: 'models',
    header: 'Models',
    hideBelow: 'medium',
    cell: ({ models, model_count }) => (
      <span className="soft">
        {models
          .slice(0, 2)
          .map(({ model }) => model)
          .join(', ')}
        {model_count > 2 && ` and ${model_count - 2} more`}
      </span>
    ),
  },
  {
    id: 'calls',
    header: 'Calls',
    width: '120px',
    align: 'end',
    cell: ({ calls, errors }) => (
      <>
        {errors > 0 && <Badge tone="bad">{formatNumber(errors)} failed</Badge>} {formatNumber(calls)}
      </>
    ),
  },
  {
    id: 'tokens',
    header: 'Tokens',
    width: '130px',
    align: 'end',
    hideBelow: 'medium',
    cell: ({ input_tokens, output_tokens }) => (
      <>
        {formatNumber(input_tokens)} <span className="soft">→</span> {formatNumber(output_tokens)}
      </>
    ),
  },
  {
    id: 'cost',
    header: 'Cost',
    width: '110px',
    align: 'end',
    hideBelow: 'small',
    cell: ({ cost, unpriced_calls }) => (
      <span title={unpriced_calls > 0 ? `the price of ${unpriced_calls} calls is not known` : undefined}>
        {formatMoney(cost)}
        {unpriced_calls > 0 && <span className="soft"> +?</span>}
      </span>
    ),
  },
  {
    id: 'length',
    header: 'Length',
    width: '110px',
    align: 'end',
    hideBelow: 'small',
    cell: ({ duration_ms }) => formatDuration(duration_ms),
  },
];

/** Calls that belong together, with their sums. */
export default function Sessions() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const { reach, span } = useReach();
  const until = reach.range === '' ? span.until : null;
  const list = useInfiniteQuery({
    queryKey: ['/v1/log-sessions', workspace_id, span.from, until],
    queryFn: ({ pageParam, signal }) =>
      api.get('/v1/log-sessions', {
        query: {
          ...{ workspace_id, limit: PAGE, start_time: String(span.from) },
          ...(until !== null && { end_time: String(until) }),
          ...(pageParam && { after: pageParam }),
        },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
  });
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.data), [list.data]);
  return (
    <div className="fill">
      <PageHeader title="Sessions" about="Conversations and the work of agents: calls that belong together.">
        <RangePicker />
      </PageHeader>
      <section className="card logs-list">
        <Table
          label="Sessions, the one with the newest call first"
          height="100%"
          rows={rows}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={
            may('logs.read')
              ? ({ id }) => void navigate({ to: '/sessions/$id' as string, params: { id } as never })
              : undefined
          }
          onEnd={() => list.hasNextPage && !list.isFetchingNextPage && void list.fetchNextPage()}
          isLoadingMore={list.isFetchingNextPage}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={<NoSessions />}
        />
      </section>
    </div>
  );
}

const NoSessions = () => (
  <EmptyState
    icon="tree"
    title="No sessions in this time"
    action={
      <div className="sessions-how">
        <CodeBlock title="Name the session of a call" code="x-gateway-session-id: my-conversation" />
      </div>
    }
  >
    Calls of Claude Code and Codex, runs of assistants and calls with a trace of their own are grouped by themselves.
    Others name their session in a header.
  </EmptyState>
);
