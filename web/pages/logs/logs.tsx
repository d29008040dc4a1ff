import type { QueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { send } from '../../api/client.ts';
import { ApiFault, faultOf } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { Segmented, Switch } from '../../design/field.tsx';
import { PageHeader } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState, ErrorNote } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import type { Opening } from '../../pages.ts';
import { FilterBar } from '../../shell/filter-bar.tsx';
import { withTerm } from '../../shell/filter-text.ts';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { openedView, renew, useReach } from '../../shell/range.ts';
import { RangePicker } from '../../shell/range-picker.tsx';
import { lookedAt } from '../../shell/reach.ts';
import { UnreadFilter } from '../../shell/reach-bar.tsx';
import { SavedViews } from '../../shell/saved-views.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { columnsOf } from './columns.tsx';
import { entriesQuery, useEntries } from './entries.ts';
import { EntryPanel } from './entry-panel.tsx';
import { useNames } from './names.ts';
import { wishOf } from './questions.ts';

const FILTERS = { live: false, open: '', tab: '' };
const SHOWN = [
  { value: 'calls', label: 'Calls' },
  { value: 'all', label: 'All requests' },
] as const;

export const ask = (queries: QueryClient, opening: Opening) =>
  queries.prefetchInfiniteQuery(entriesQuery(wishOf(opening.session.workspace.id, lookedAt(openedView(opening)))));

export default function Logs() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const { reach, span, filter, setFilter, isAll, setAll } = useReach();
  const [isAtTop, setAtTop] = useState(true);
  const names = useNames();
  const isCalls = !isAll;
  const endsNow = reach.range !== '';
  const isLive = filters.live && endsNow;
  const wish = wishOf(workspace_id, { reach, span, filter, isAll });
  const { filter: whole, from, until } = wish;
  const entries = useEntries(wish, isLive);
  const { look } = entries;
  // Pages look again from time to time, and when they are told to: `span` is then another one.
  const looked = useRef(span);
  useEffect(() => {
    if (looked.current !== span && endsNow) void look();
    looked.current = span;
  }, [span, endsNow, look]);
  const filterFault = entries.error instanceof ApiFault && entries.error.param === 'filter' ? entries.error : null;

  const [held, setHeld] = useState<number | null>(null);
  const rows = useHeld(entries.rows, isAtTop, held, setHeld);

  const open = useCallback((id: string) => setFilters({ open: id }), [setFilters]);
  const add = useCallback(
    (field: string, value: string | number | null, isNot: boolean) => setFilter(withTerm(filter, field, value, isNot)),
    [filter, setFilter],
  );
  const isOpen = filters.open !== '';
  const columns = useMemo(() => columnsOf({ names, add, isNarrow: isOpen, isCalls }), [names, add, isOpen, isCalls]);
  const at = rows?.findIndex(({ id }) => id === filters.open) ?? -1;
  const step = (by: number) => {
    const next = rows?.[at + by];
    if (next) open(next.id);
    if (rows && at + by >= rows.length - 2) entries.more();
  };

  useShortcut('l', 'Live tail on or off', () => setFilters({ live: !filters.live }));
  const refresh = () => {
    renew();
    entries.refresh();
  };
  useShortcut('r', 'Load anew', refresh);
  useShortcut('Escape', 'Close the entry', () => isOpen && setFilters({ open: '' }));
  useCommands(
    useMemo(
      () => [
        { label: 'Only failed calls', icon: 'filter' as const, run: () => setFilter('status:>=400') },
        { label: 'Live tail', icon: 'pulse' as const, keys: 'l', run: () => setFilters({ live: true }) },
      ],
      [setFilters, setFilter],
    ),
  );

  const exported = useAction((format: 'csv' | 'ndjson') =>
    download(`logs.${format}`, {
      ...{ workspace_id, format, start_time: String(from) },
      ...(until !== null && { end_time: String(until) }),
      ...(whole && { filter: whole }),
    }),
  );
  return (
    <div className="fill logs">
      <PageHeader title="Logs">
        <SavedViews page="logs" />
        <Menu
          label="Take along"
          trigger={<IconButton icon="download" label="Take along" disabled={exported.isPending} />}
          items={[
            { label: 'As a table (CSV)', icon: 'download', onSelect: () => exported.mutate('csv') },
            { label: 'As lines of JSON', icon: 'download', onSelect: () => exported.mutate('ndjson') },
          ]}
        />
        <RangePicker />
        {endsNow && (
          <span className="logs-live" data-live={isLive}>
            <Switch checked={filters.live} onChange={(live) => setFilters({ live })}>
              Live
            </Switch>
          </span>
        )}
      </PageHeader>
      <div className="logs-bar">
        <FilterBar value={filter} onChange={setFilter} error={filterFault} />
        <Segmented
          label="What is shown"
          value={isCalls ? 'calls' : 'all'}
          choices={SHOWN}
          onChange={(show) => setAll(show === 'all')}
        />
      </div>
      {entries.liveError ? <ErrorNote error={entries.liveError} /> : null}
      <div className={`logs-split ${isOpen ? 'logs-split-open' : ''}`}>
        <section className="card logs-list" aria-busy={entries.isStale}>
          {rows && entries.rows && entries.rows.length > rows.length && (
            <button type="button" className="logs-new" onClick={toTop}>
              {entries.rows.length - rows.length} new
            </button>
          )}
          <Table
            label="Log entries, newest first"
            height="100%"
            rows={filterFault ? [] : rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={may('logs.read') ? ({ id }) => open(id) : undefined}
            openKey={filters.open || null}
            onEnd={entries.more}
            onTop={setAtTop}
            isLoadingMore={entries.isLoadingMore}
            error={filterFault ? null : entries.error}
            onRetry={refresh}
            empty={
              filterFault ? (
                <UnreadFilter />
              ) : (
                <Nothing
                  isFiltered={filter !== '' || !endsNow}
                  isCalls={isCalls}
                  onAll={() => setAll(true)}
                  onClear={() => setFilter('')}
                  onPlay={may('completions.write') ? () => void navigate({ to: '/playground' }) : null}
                />
              )
            }
          />
        </section>
        {isOpen && (
          <EntryPanel
            key="panel"
            id={filters.open}
            tab={filters.tab}
            onTab={(tab) => setFilters({ tab })}
            names={names}
            onFilter={add}
            onClose={() => setFilters({ open: '' })}
            onPrevious={at > 0 ? () => step(-1) : null}
            onNext={rows && at >= 0 && at < rows.length - 1 ? () => step(1) : null}
          />
        )}
      </div>
    </div>
  );
}

const toTop = () => document.querySelector('.logs-list .table-place')?.scrollTo({ top: 0 });

/** With the session, as any request; then as a file of the browser's. */
async function download(name: string, query: Readonly<Record<string, string>>) {
  const response = await send(`/v1/logs/export?${new URLSearchParams(query)}`);
  if (!response.ok) throw await faultOf(response);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** What came while the list is scrolled down waits: rows must not move under the pointer. */
function useHeld<Row extends { readonly created_at: number; readonly id: string }>(
  rows: readonly Row[] | undefined,
  isFree: boolean,
  held: number | null,
  setHeld: (held: number | null) => void,
): readonly Row[] | undefined {
  if (isFree && held !== null) setHeld(null);
  if (!isFree && held === null && rows?.[0]) setHeld(rows[0].created_at);
  return useMemo(
    () => (isFree || held === null ? rows : rows?.filter(({ created_at }) => created_at <= held)),
    [rows, isFree, held],
  );
}

function Nothing({
  isFiltered,
  isCalls,
  onAll,
  onClear,
  onPlay,
}: {
  readonly isFiltered: boolean;
  readonly isCalls: boolean;
  readonly onAll: () => void;
  readonly onClear: () => void;
  readonly onPlay: (() => void) | null;
}) {
  if (isFiltered)
    return (
      <EmptyState
        icon="search"
        title="Nothing fits"
        action={
          <div className="line gap-2">
            <Button onClick={onClear}>Empty the filter</Button>
            {isCalls && <Button onClick={onAll}>Look in all requests</Button>}
          </div>
        }
      >
        No {isCalls ? 'call' : 'request'} in this time meets the filter.
      </EmptyState>
    );
  return (
    <EmptyState
      icon="list"
      title="No calls yet"
      action={
        onPlay && (
          <Button look="primary" icon="play" onClick={onPlay}>
            Make the first one in the playground
          </Button>
        )
      }
    >
      Every call of a model appears here within a second: what was asked, what was answered, how long it took and what
      it cost.
    </EmptyState>
  );
}
