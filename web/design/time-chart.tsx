import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import type uPlot from 'uplot';
import { useTheme } from '../shell/theme.ts';
import { type ChartSeries, colorOf, draw, type Look, stacked } from './plot.ts';
import { watchWidth } from './width.ts';

export type { ChartSeries } from './plot.ts';

export interface TimeChartProps {
  /** Names the chart for people who do not see it. */
  readonly label: string;
  readonly look?: Look;
  /** Where each point begins, in milliseconds. */
  readonly times: readonly number[];
  /** How long a point lasts, in milliseconds. */
  readonly step: number;
  readonly span: { readonly from: number; readonly until: number };
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  readonly height?: number;
  readonly group?: string;
  readonly hasLegend?: boolean;
  /** Brushed over, or chosen with Shift and the arrows. */
  readonly onZoom?: (from: number, until: number) => void;
  /** A click on a point, or Enter: the time of the point, and the series that it is of, if that can be told. */
  readonly onOpen?: (from: number, until: number, series: number | null) => void;
}

const pointTime = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const pointEnd = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAY = 86_400_000;

/** Series over time. Brush to zoom, click a point to open it; with the keyboard: arrows, Enter. */
export function TimeChart(props: TimeChartProps) {
  const { label, look = 'bars', times, step, span, series, format, height = 190, group, hasLegend = true } = props;
  const theme = useTheme();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** Of the place, as it was last seen. */
  const width = useRef(0);
  const latest = useRef(props);
  latest.current = props;
  const isOver = useRef(false);
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<{ readonly index: number; readonly left: number } | null>(null);
  const id = useId();
  const shown = useMemo(
    () => series.map((each, at) => ({ ...each, color: colorOf(each, at) })).filter(({ label }) => !off.has(label)),
    [series, off],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes what the tokens say
  useEffect(() => {
    const into = place.current!;
    const options = {
      ...{ look, times, span, series: shown, format, height, group },
      onCursor: (index: number | null, left: number) => {
        if (isOver.current) setCursor(index === null || left < 0 ? null : { index, left });
      },
      onSelect: (from: number, until: number) => latest.current.onZoom?.(from, until),
    };
    const drawWith = (width: number) => {
      plot.current = draw(into, { ...options, width });
    };
    if (width.current > 0) drawWith(width.current);
    const leave = watchWidth(into, (now) => {
      if (now === 0 || (plot.current && now === width.current)) return;
      width.current = now;
      if (plot.current) plot.current.setSize({ width: now, height });
      else drawWith(now);
    });
    return () => {
      leave();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [look, times, span, shown, format, height, group, theme]);

  const open = (index: number, at: number | null) => {
    const from = times[index];
    if (from === undefined) return;
    const chosen = at === null ? null : series.findIndex(({ label }) => label === shown[at]!.label);
    props.onOpen?.(Math.max(from, span.from), Math.min(from + step, span.until), chosen);
  };
  const pressed = useRef(0);
  const onKey = (event: KeyboardEvent) => {
    const drawn = plot.current;
    if (!drawn || times.length === 0) return;
    if (event.key === 'Enter' && cursor) return open(cursor.index, null);
    if (event.key === 'Escape') return setCursor(null);
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const index = Math.min(times.length - 1, Math.max(0, (cursor?.index ?? (by > 0 ? -1 : times.length)) + by));
    const left = drawn.valToPos(times[index]! / 1_000, 'x');
    setCursor({ index, left });
    drawn.setCursor({ left, top: 10 }, false);
  };
  const hint = [props.onZoom && 'drag to zoom', props.onOpen && 'Enter opens the calls of a point'];
  return (
    <figure className="chart">
      {hasLegend && <Legend series={series} off={off} onToggle={(name) => setOff((before) => toggled(before, name))} />}
      <section
        className={`chart-place ${props.onOpen ? 'chart-opens' : ''}`}
        aria-label={label}
        aria-describedby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrows move along the points
        tabIndex={0}
        onKeyDown={onKey}
        onBlur={() => setCursor(null)}
        onPointerEnter={() => {
          isOver.current = true;
        }}
        onPointerLeave={() => {
          isOver.current = false;
          setCursor(null);
        }}
        onPointerDown={(event) => {
          pressed.current = event.clientX;
        }}
        onClick={(event) => {
          if (Math.abs(event.clientX - pressed.current) > 4 || !cursor || !plot.current) return;
          const top = event.clientY - plot.current.over.getBoundingClientRect().top;
          open(cursor.index, under(shown, look, cursor.index, plot.current.posToVal(top, 'y')));
        }}
      >
        <div ref={place} className="chart-canvas" style={{ height }} />
        {cursor && times[cursor.index] !== undefined && (
          <Tip
            at={times[cursor.index]!}
            step={step}
            left={cursor.left + (plot.current?.over.offsetLeft ?? 0)}
            width={plot.current?.width ?? 0}
            rows={shown.map((each) => ({
              ...each,
              text: each.values[cursor.index] == null ? '–' : format(each.values[cursor.index]!),
              size: each.values[cursor.index] ?? 0,
            }))}
          />
        )}
      </section>
      <p id={id} className="hidden-visually">
        {hint.filter(Boolean).join(', ') || 'Arrows move along the points.'}
      </p>
    </figure>
  );
}

function toggled(before: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** Which series lies under that height. */
function under(series: readonly ChartSeries[], look: Look, index: number, value: number): number | null {
  const solid = series.map((each, at) => ({ each, at })).filter(({ each }) => !each.isFaint);
  const tops = stacked(series, look !== 'lines');
  if (look !== 'lines') return solid.find(({ at }) => (tops[at]![index] ?? 0) >= value && value >= 0)?.at ?? null;
  const away = solid.map(({ at }) => ({ at, far: Math.abs((tops[at]![index] ?? Number.MAX_VALUE) - value) }));
  return away.sort((one, other) => one.far - other.far)[0]?.at ?? null;
}

function Legend({
  series,
  off,
  onToggle,
}: {
  readonly series: readonly ChartSeries[];
  readonly off: ReadonlySet<string>;
  readonly onToggle: (label: string) => void;
}) {
  if (series.length < 2) return null;
  return (
    <ul className="chart-legend">
      {series.map((each, at) => (
        <li key={each.label}>
          <button type="button" aria-pressed={!off.has(each.label)} onClick={() => onToggle(each.label)}>
            <Swatch color={colorOf(each, at)} isFaint={each.isFaint} />
            <span className="truncate">{each.label}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

export const Swatch = ({ color, isFaint = false }: { readonly color: string; readonly isFaint?: boolean }) => (
  <span
    className={`swatch ${isFaint ? 'swatch-faint' : ''}`}
    style={{ '--swatch': `var(${color})` } as React.CSSProperties}
    aria-hidden="true"
  />
);

interface TipRow extends ChartSeries {
  readonly text: string;
  readonly size: number;
}

const TIP_WIDTH = 230;

function Tip(props: {
  readonly at: number;
  readonly step: number;
  readonly left: number;
  readonly width: number;
  readonly rows: readonly TipRow[];
}) {
  const { at, step, left, width, rows } = props;
  const isRight = left + TIP_WIDTH + 24 > width;
  return (
    <div
      className="chart-tip"
      role="status"
      style={{ left: isRight ? undefined : left + 14, right: isRight ? Math.max(0, width - left + 14) : undefined }}
    >
      <div className="chart-tip-time">
        {pointTime.format(at)}
        {step < DAY && ` – ${pointEnd.format(at + step)}`}
      </div>
      {rows.map((row, index) => (
        <div key={row.label} className="chart-tip-row">
          <Swatch color={colorOf(row, index)} isFaint={row.isFaint} />
          <span className="truncate">{row.label}</span>
          <span className="numeric">{row.text}</span>
        </div>
      ))}
    </div>
  );
}
