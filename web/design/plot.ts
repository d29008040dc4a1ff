import uPlot from 'uplot';
import { stepsOf } from './steps.ts';

export interface ChartSeries {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** One of `--series-1` to `--series-8`, or another token; by its place unless given. */
  readonly color?: string;
  /** Drawn thin and broken, behind the others, and not added to them: the time before. */
  readonly isFaint?: boolean;
}

export type Look = 'bars' | 'areas' | 'lines';

export interface PlotOptions {
  readonly look: Look;
  /** Where each point begins, in milliseconds. */
  readonly times: readonly number[];
  readonly span: { readonly from: number; readonly until: number };
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  readonly width: number;
  readonly height: number;
  /** Charts of one group share their cursor. */
  readonly group?: string;
  readonly onCursor: (index: number | null, left: number) => void;
  readonly onSelect: (from: number, until: number) => void;
}

export const colorOf = (series: ChartSeries, index: number): string => series.color ?? `--series-${(index % 7) + 1}`;
const SECOND = 1_000;

/** Each one on top of those before it; faint ones stand for themselves. */
export function stacked(series: readonly ChartSeries[], isStacked: boolean): (number | null)[][] {
  let below: number[] | null = null;
  return series.map(({ values, isFaint }) => {
    if (!isStacked || isFaint) return [...values];
    const top: number[] = values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0));
    below = top;
    return top;
  });
}

const dayLabel = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const clockLabel = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** The day where one begins, else the time of day. */
function timeLabel(seconds: number): string {
  const at = new Date(seconds * SECOND);
  return (at.getHours() === 0 && at.getMinutes() === 0 ? dayLabel : clockLabel).format(at);
}

let known = { theme: '', values: new Map<string, string>() };

/** What tokens say in the theme of now. To ask a page for them has its styles worked out anew, for every chart that was put in. */
function tokens(): (name: string) => string {
  const { theme = '' } = document.documentElement.dataset;
  if (known.theme !== theme) known = { theme, values: new Map() };
  const { values } = known;
  const style = getComputedStyle(document.documentElement);
  return (name) => {
    const found = values.get(name) ?? style.getPropertyValue(name).trim();
    values.set(name, found);
    return found;
  };
}

/** Draws into a place that has the width. */
export function draw(place: HTMLElement, options: PlotOptions): uPlot {
  const { look, times, span, series, format, width, height, group } = options;
  const token = tokens();
  const isStacked = look !== 'lines';
  const tops = stacked(series, isStacked);
  const incrs = stepsOf(tops);
  const font = `11px ${token('--font')}`;
  const axis = { stroke: token('--ink-3'), font, ticks: { show: false } };
  const bars = uPlot.paths.bars!({ align: 1, size: [0.82, 34], radius: 0.08 });
  // The tallest is drawn first and the others over it, so that each shows what is its own; lines of before lie over all.
  const places = series.map((_, at) => at).reverse();
  const order = [...places.filter((at) => !series[at]!.isFaint), ...places.filter((at) => series[at]!.isFaint)];
  const draws = (each: ChartSeries, at: number): uPlot.Series => {
    const color = token(colorOf(each, at));
    const isLine = look === 'lines' || each.isFaint;
    return {
      label: each.label,
      stroke: look === 'bars' && !isLine ? 'transparent' : color,
      width: each.isFaint ? 1.25 : look === 'bars' ? 0 : 1.6,
      ...(each.isFaint && { dash: [4, 4] }),
      ...(!isLine && { fill: look === 'bars' ? color : soft(token('--surface'), color) }),
      ...(look === 'bars' && !isLine && { paths: bars }),
      // A line needs two points; one alone is a dot.
      points:
        isLine && tops[at]!.filter((value) => value !== null).length === 1
          ? { show: true, size: 6, fill: color }
          : { show: false },
      spanGaps: look === 'lines',
    };
  };
  return new uPlot(
    {
      width,
      height,
      padding: [10, 6, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        ...(group && { sync: { key: group, setSeries: false, scales: ['x', null] } }),
      },
      scales: {
        x: { time: true, range: () => [span.from / SECOND, span.until / SECOND] },
        y: { range: (_plot, _least, most) => [0, (most ?? 0) > 0 ? most * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          gap: 6,
          space: 64,
          values: (_plot, splits) => splits.map(timeLabel),
        },
        {
          ...axis,
          grid: { stroke: token('--line'), width: 1 },
          size: (_plot, values) => 14 + 6.4 * Math.max(2, ...(values ?? []).map((value) => value.length)),
          gap: 6,
          space: 34,
          ...(incrs && { incrs }),
          values: (_plot, splits) => unlike(splits.map((split) => (split === 0 ? '0' : format(split)))),
        },
      ],
      series: [{}, ...order.map((at) => draws(series[at]!, at))],
      hooks: {
        setCursor: [(plot) => options.onCursor(plot.cursor.idx ?? null, plot.cursor.left ?? -1)],
        setSelect: [
          (plot) => {
            if (plot.select.width < 6) return;
            const at = (left: number) => plot.posToVal(left, 'x') * SECOND;
            options.onSelect(at(plot.select.left), at(plot.select.left + plot.select.width));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    },
    [times.map((time) => time / SECOND), ...order.map((at) => tops[at]!)] as uPlot.AlignedData,
    place,
  );
}

/** Of ticks between whole numbers, one says it. */
const unlike = (texts: readonly string[]) => texts.map((text, at) => (text === texts[at - 1] ? '' : text));

/** A fill that hides what is behind it. */
const soft = (ground: string, color: string) => {
  const [one, other] = [parts(ground), parts(color)];
  return `rgb(${one.map((value, at) => Math.round(value * 0.72 + other[at]! * 0.28)).join(' ')})`;
};
const parts = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
