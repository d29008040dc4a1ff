import {
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useShortcut } from '../shell/shortcuts.tsx';
import { Icon } from './icon.tsx';
import { ErrorNote, Skeleton } from './states.tsx';

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** What the column is sorted by; left out, it cannot be sorted. */
  readonly sort?: (row: Row) => string | number;
  readonly align?: 'start' | 'end';
  /** Any CSS width; columns without one share what is left. */
  readonly width?: string;
  /** Left out where the window is narrower. */
  readonly hideBelow?: 'small' | 'medium' | 'large';
}

export interface TableProps<Row> {
  /** Names the table for people who do not see it. */
  readonly label: string;
  readonly rows: readonly Row[] | undefined;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** Opens a row: by click, by Enter on the row that `j` and `k` chose. */
  readonly onOpen?: (row: Row) => void;
  /** The row that is open now. */
  readonly openKey?: string | null;
  /** Shown in place of rows when there are none. */
  readonly empty?: ReactNode;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Room for the rows; only those in sight are in the page. Left out, short tables are as long as they are. */
  readonly height?: string;
  /** Called when the end comes into sight. */
  readonly onEnd?: () => void;
  /** Called when the list is scrolled to its top, and when it leaves it. */
  readonly onTop?: (isAtTop: boolean) => void;
  readonly isLoadingMore?: boolean;
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
const NOTHING: readonly never[] = [];
const ROW_HEIGHT = 38;
/** From so many rows on, only those in sight are in the page. */
const VIRTUAL_FROM = 100;

export function Table<Row extends object>(props: TableProps<Row>) {
  const {
    label,
    rows,
    columns,
    rowKey,
    onOpen,
    openKey = null,
    empty,
    error,
    onRetry,
    onEnd,
    onTop,
    isLoadingMore,
  } = props;
  const [sorting, setSorting] = useState<SortingState>([]);
  const [current, setCurrent] = useState<number | null>(null);
  const scroller = useRef<HTMLElement>(null);
  const table = useTable({
    features,
    data: (rows ?? NOTHING) as Row[],
    columns: useMemo(() => columnsOf(columns), [columns]),
    getRowId: rowKey,
    state: { sorting },
    onSortingChange: setSorting,
    sortDescFirst: false,
  });
  const shown = table.getRowModel().rows;
  const isVirtual = props.height !== undefined || shown.length > VIRTUAL_FROM;
  const virtualizer = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    enabled: isVirtual,
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && isVirtual && shown.length > 0 && last >= shown.length - 12) onEnd();
  }, [last, isVirtual, onEnd, shown.length]);

  const move = (step: number) => {
    if (shown.length === 0) return;
    const open = openKey === null ? -1 : shown.findIndex(({ id }) => id === openKey);
    // Rows may have come before it since it was opened.
    const from = open >= 0 ? open : (current ?? -1);
    const next = Math.min(shown.length - 1, Math.max(0, from + step));
    setCurrent(next);
    if (isVirtual) virtualizer.scrollToIndex(next);
    if (openKey !== null) onOpen?.(shown[next]!.original);
    queueMicrotask(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  useShortcut('j', 'Next row', () => move(1));
  useShortcut('k', 'Previous row', () => move(-1));

  if (error) return <ErrorNote error={error} onRetry={onRetry} />;
  if (!rows) return <Skeleton lines={6} />;
  if (rows.length === 0 && empty) return empty;

  const onRowKey = (event: KeyboardEvent, row: Row) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      onOpen?.(row);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      move(event.key === 'ArrowDown' ? 1 : -1);
    }
  };
  const visible = isVirtual ? items.map(({ index }) => index) : shown.map((_, index) => index);
  const before = isVirtual ? (items[0]?.start ?? 0) : 0;
  const after = isVirtual ? virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  return (
    <section
      className="table-place"
      ref={scroller}
      style={isVirtual ? { maxHeight: props.height ?? '70dvh' } : undefined}
      aria-label={label}
      onScroll={onTop && ((event) => onTop(event.currentTarget.scrollTop < ROW_HEIGHT))}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
      tabIndex={0}
    >
      <table className="table" aria-rowcount={isVirtual ? shown.length : undefined}>
        <caption className="hidden-visually">{label}</caption>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header, index) => {
                const column = columns[index]!;
                const order = header.column.getIsSorted();
                return (
                  <th
                    key={header.id}
                    scope="col"
                    className={classOf(column)}
                    style={column.width ? { width: column.width } : undefined}
                    aria-sort={order ? (order === 'asc' ? 'ascending' : 'descending') : undefined}
                  >
                    {column.sort ? (
                      <button type="button" className="table-sort" onClick={header.column.getToggleSortingHandler()}>
                        {column.header}
                        {order && <Icon name={order === 'asc' ? 'up' : 'down'} size={12} />}
                      </button>
                    ) : (
                      column.header
                    )}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {before > 0 && <Spacer height={before} />}
          {visible.map((index) => {
            const row = shown[index]!;
            return (
              <tr
                key={row.id}
                data-row={index}
                aria-rowindex={isVirtual ? index + 1 : undefined}
                tabIndex={onOpen ? (index === (current ?? 0) ? 0 : -1) : undefined}
                className={`${onOpen ? 'table-openable' : ''} ${row.id === openKey ? 'table-open' : ''}`}
                onFocus={() => setCurrent(index)}
                onClick={(event) => {
                  if (!(event.target as Element).closest('button, a, input, label, [role="menuitem"]'))
                    onOpen?.(row.original);
                }}
                onKeyDown={(event) => onRowKey(event, row.original)}
              >
                {columns.map((column) => (
                  <td key={column.id} className={classOf(column)}>
                    {column.cell(row.original)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Spacer height={after} />}
        </tbody>
      </table>
      {isLoadingMore && <Skeleton lines={2} />}
    </section>
  );
}

/** Of one cell: to span columns that are hidden where there is little room would have them take room. */
const Spacer = ({ height }: { readonly height: number }) => (
  <tr className="table-spacer">
    <td style={{ height }} />
  </tr>
);

const classOf = <Row,>({ align, hideBelow }: Column<Row>) =>
  `${align === 'end' ? 'align-end' : ''} ${hideBelow ? `hide-${hideBelow}` : ''}`;

function columnsOf<Row extends object>(columns: readonly Column<Row>[]) {
  const helper = createColumnHelper<typeof features, Row>();
  return columns.map((column) =>
    helper.accessor((row): unknown => column.sort?.(row) ?? '', {
      id: column.id,
      header: column.id,
      enableSorting: column.sort !== undefined,
      sortFn: (one, other, id) => compare(one.getValue(id), other.getValue(id)),
    }),
  );
}

function compare(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true, sensitivity: 'base' });
}
