import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { formatDuration, formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { Icon } from '../../design/icon.tsx';
import { PageHeader } from '../../design/layout.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { Waterfall, type WaterfallRow } from '../../design/waterfall.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { isFailed, toneOf } from '../logs/columns.tsx';
import { EntryPanel } from '../logs/entry-panel.tsx';
import { useNames } from '../logs/names.ts';
import { type TreeNode, treeOf } from './session-tree.ts';
import type { LogSession } from './sessions.tsx';

const FILTERS = { open: '', tab: '' };
const PAGE = 500;
/** So many calls are drawn; the sums are of all of them. */
const MOST_PAGES = 4;

/** One session: its sums, and its calls as a tree over time. */
export default function Session() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { id: workspace_id } = useWorkspace();
  const session = useApi('/v1/log-sessions/{id}', { params: { id }, query: { workspace_id } });
  return (
    <div className="fill">
      <PageHeader
        title={id}
        about={
          <Link to="/sessions">
            <Icon name="left" size={12} /> All sessions
          </Link>
        }
      />
      {session.error ? (
        <ErrorNote error={session.error} onRetry={() => void session.refetch()} />
      ) : session.data ? (
        <Opened session={session.data} />
      ) : (
        <Skeleton lines={8} />
      )}
    </div>
  );
}

function useCalls(session: LogSession) {
  const { id: workspace_id } = useWorkspace();
  return useInfiniteQuery({
    queryKey: ['/v1/logs', 'session', session.id, session.calls],
    queryFn: ({ pageParam, signal }) =>
      api.get('/v1/logs', {
        query: { workspace_id, session_id: session.id, limit: PAGE, ...(pageParam && { after: pageParam }) },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }, pages) => (pages.length < MOST_PAGES ? next_cursor : undefined),
  });
}

function Opened({ session }: { readonly session: LogSession }) {
  const { id: workspace_id } = useWorkspace();
  const [filters, setFilters] = useFilters(FILTERS);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const names = useNames();
  const calls = useCalls(session);
  const spans = useApi('/v1/log-sessions/{id}/spans', {
    params: { id: session.id },
    query: { workspace_id, limit: PAGE },
  });
  const entries = useMemo(() => calls.data?.pages.flatMap((page) => page.data) ?? [], [calls.data]);
  const tree = useMemo(() => treeOf(entries, spans.data?.data ?? []), [entries, spans.data]);
  const first = session.first_call_at;
  const begun = Math.min(first, ...(spans.data?.data ?? []).map(({ started_at }) => started_at));

  const shown = visible(tree, closed);
  const order = shown.flatMap((node) => (node.kind === 'call' ? [node.id] : []));
  const at = order.indexOf(filters.open);
  const open = (id: string | undefined) => id !== undefined && setFilters({ open: id });
  useShortcut('j', 'Next call', () => open(order[at + 1]));
  useShortcut('k', 'Previous call', () => open(order[Math.max(0, at - 1)]));
  useShortcut('Escape', 'Close the call', () => setFilters({ open: '' }));

  const rows = shown.map((node): WaterfallRow => {
    if (node.kind === 'trace')
      return {
        key: `trace ${node.id}`,
        label: (
          <span className="session-trace">
            <Icon name={closed.has(node.id) ? 'right' : 'down'} size={12} /> {node.calls.length} calls of one trace
          </span>
        ),
        note: formatMoney(node.calls.reduce((sum, { cost }) => sum + (cost ?? 0), 0)),
        bars: [],
        onOpen: () => setClosed((before) => toggled(before, node.id)),
      };
    return rowOf(node, begun, filters.open, open);
  });
  return (
    <>
      <Sums session={session} />
      <div className={`logs-split ${filters.open ? 'logs-split-open' : ''}`}>
        <section className="card logs-list session-calls">
          {calls.error ? <ErrorNote error={calls.error} onRetry={() => void calls.refetch()} /> : null}
          {calls.isPending ? (
            <Skeleton lines={6} />
          ) : (
            <Waterfall label="Calls of the session over time" rows={rows} totalMs={session.ended_at - begun} />
          )}
          {calls.hasNextPage && (
            <div className="session-more">
              <Button isBusy={calls.isFetchingNextPage} onClick={() => void calls.fetchNextPage()}>
                Show calls from before
              </Button>
            </div>
          )}
          {!calls.hasNextPage && entries.length > 0 && entries.length < session.calls && (
            <Note>
              The newest {formatNumber(entries.length)} of {formatNumber(session.calls)} calls are drawn.
            </Note>
          )}
        </section>
        {filters.open && (
          <EntryPanel
            id={filters.open}
            tab={filters.tab}
            onTab={(tab) => setFilters({ tab })}
            names={names}
            onClose={() => setFilters({ open: '' })}
            onPrevious={at > 0 ? () => open(order[at - 1]) : null}
            onNext={at >= 0 && at < order.length - 1 ? () => open(order[at + 1]) : null}
          />
        )}
      </div>
    </>
  );
}

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** Without what is folded away. */
function visible(tree: readonly TreeNode[], closed: ReadonlySet<string>): readonly TreeNode[] {
  let isFolded = false;
  return tree.filter((node) => {
    if (node.depth > 0) return !isFolded;
    isFolded = node.kind === 'trace' && closed.has(node.id);
    return true;
  });
}

function rowOf(
  node: Exclude<TreeNode, { kind: 'trace' }>,
  begun: number,
  openId: string,
  open: (id: string) => void,
): WaterfallRow {
  if (node.kind === 'span') {
    const { span } = node;
    const startMs = span.started_at - begun;
    return {
      key: node.id,
      depth: node.depth,
      label: (
        <>
          <Badge tone={span.is_error ? 'bad' : 'accent'}>{span.signal}</Badge> {span.name}
        </>
      ),
      note: formatDuration(span.duration_ms),
      bars: [
        {
          kind: span.is_error ? 'failed' : 'span',
          name: span.name,
          startMs,
          endMs: startMs + span.duration_ms,
        },
      ],
    };
  }
  const { call } = node;
  const startMs = call.created_at - begun;
  return {
    key: node.id,
    depth: node.depth,
    isOpen: node.id === openId,
    onOpen: () => open(node.id),
    label: (
      <>
        <Badge tone={toneOf(call)}>{call.status}</Badge> {call.model ?? call.path}
      </>
    ),
    note: (
      <>
        {call.total_tokens !== null && (
          <span className="waterfall-minor">{formatNumber(call.total_tokens)} tokens</span>
        )}
        {call.cost !== null && <span>{formatMoney(call.cost)}</span>}
      </>
    ),
    bars: [
      {
        kind: isFailed(call) ? 'failed' : 'answer',
        name: 'waiting',
        startMs,
        endMs: startMs + (call.first_byte_ms ?? call.duration_ms),
      },
      ...(call.first_byte_ms === null
        ? []
        : [
            {
              kind: isFailed(call) ? ('failed' as const) : ('call' as const),
              name: 'answering',
              startMs: startMs + call.first_byte_ms,
              endMs: startMs + call.duration_ms,
            },
          ]),
    ],
  };
}

function Sums({ session }: { readonly session: LogSession }) {
  const { models } = session;
  const facts: readonly (readonly [string, string])[] = [
    ['Calls', formatNumber(session.calls)],
    ['Failed', formatNumber(session.errors)],
    ['Tokens', `${formatNumber(session.input_tokens)} → ${formatNumber(session.output_tokens)}`],
    ['Cached', formatNumber(session.cached_tokens)],
    ['Reasoning', formatNumber(session.reasoning_tokens)],
    ['Cost', formatMoney(session.cost)],
    ['Began', formatTime(session.first_call_at)],
    ['Length', formatDuration(session.duration_ms)],
  ];
  return (
    <section className="card session-sums">
      <dl className="entry-sums">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={name === 'Failed' && session.errors > 0 ? 'logs-error' : undefined}>{value}</dd>
          </div>
        ))}
      </dl>
      <ul className="session-models small soft">
        {models.slice(0, 6).map(({ model, calls, cost }) => (
          <li key={model}>
            <strong>{model}</strong> {formatNumber(calls)} calls, {formatMoney(cost)}
          </li>
        ))}
        {session.unpriced_calls > 0 && <li>The price of {formatNumber(session.unpriced_calls)} calls is not known.</li>}
      </ul>
    </section>
  );
}
