import type { ReactNode } from 'react';

const MOST_POINTS = 60;

/** The means of neighbours, where there are more points than can be seen. */
function thinned(values: readonly (number | null)[]): (number | null)[] {
  const each = Math.ceil(values.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(values.length / each) || 0 }, (_, at) => {
    const known = values.slice(at * each, (at + 1) * each).filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
}

/** A line as wide as its place, without axes. */
export function Sparkline({
  values,
  color = '--series-1',
  label,
}: {
  readonly values: readonly (number | null)[];
  readonly color?: string;
  readonly label?: string;
}) {
  const shown = thinned(values);
  const most = Math.max(...shown.map((value) => value ?? 0), 0) || 1;
  const step = 100 / Math.max(1, shown.length - 1);
  const points = shown.flatMap((value, at) => (value === null ? [] : [[at * step, 27 - (value / most) * 24] as const]));
  const line = points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(' ');
  const [first, last] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  return (
    <svg
      className="spark"
      viewBox="0 0 100 28"
      preserveAspectRatio="none"
      role={label ? 'img' : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
      style={{ '--swatch': `var(${color})` } as React.CSSProperties}
    >
      {points.length > 1 && (
        <>
          <polygon points={`${first},28 ${line} ${last},28`} />
          <polyline points={line} vectorEffect="non-scaling-stroke" />
        </>
      )}
      {points.length === 1 && (
        // Of no length, with round ends: a dot that is not stretched with the picture.
        <polyline className="spark-dot" points={`${line} ${line}`} vectorEffect="non-scaling-stroke" />
      )}
    </svg>
  );
}

export interface Bar {
  readonly id: string;
  readonly label: ReactNode;
  readonly value: number;
  readonly text: string;
  /** A second figure beside it. */
  readonly more?: ReactNode;
  readonly color?: string;
  readonly onOpen?: () => void;
}

/** A ranking: each row with a bar behind it that says how much it is of the longest. */
export function BarList({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const most = Math.max(...bars.map(({ value }) => value), 0) || 1;
  return (
    <ul className="bar-list" aria-label={label}>
      {bars.map((bar) => {
        const content = (
          <>
            <span
              className="bar-fill"
              style={
                {
                  width: `${Math.max(0, (bar.value / most) * 100)}%`,
                  '--swatch': `var(${bar.color ?? '--series-1'})`,
                } as React.CSSProperties
              }
            />
            <span className="bar-label truncate">{bar.label}</span>
            {bar.more && <span className="bar-more numeric">{bar.more}</span>}
            <span className="bar-value numeric">{bar.text}</span>
          </>
        );
        return (
          <li key={bar.id}>
            {bar.onOpen ? (
              <button type="button" className="bar-row" onClick={bar.onOpen}>
                {content}
              </button>
            ) : (
              <div className="bar-row">{content}</div>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** How a figure has changed since the time before; `better`: in which direction that is good. */
export function Delta({
  now,
  before,
  better,
}: {
  readonly now: number | null;
  readonly before: number | null;
  readonly better?: 'more' | 'less';
}) {
  if (now === null || before === null || before === 0) return null;
  const change = (now - before) / before;
  const size = Math.abs(change);
  if (size < 0.001) return <span className="delta delta-plain">±0 %</span>;
  const tone = !better ? 'plain' : change > 0 === (better === 'more') ? 'good' : 'bad';
  const text = size >= 10 ? `×${(1 + change).toFixed(0)}` : `${(size * 100).toFixed(size < 0.1 ? 1 : 0)} %`;
  return (
    <span className={`delta delta-${tone}`}>
      <span aria-hidden="true">{change > 0 ? '▲' : '▼'}</span>
      <span className="hidden-visually">{change > 0 ? 'up by' : 'down by'}</span> {text}
    </span>
  );
}

/** One figure, large; what it was before; a line of its course. */
export const Stat = ({
  label,
  value,
  delta,
  about,
  values,
  color,
}: {
  readonly label: string;
  readonly value: ReactNode;
  readonly delta?: ReactNode;
  readonly about?: ReactNode;
  readonly values?: readonly (number | null)[];
  readonly color?: string;
}) => (
  <section className="stat" aria-label={label}>
    <h3 className="stat-label">{label}</h3>
    <p className="stat-value numeric">
      {value}
      {delta}
    </p>
    <p className="stat-about truncate">{about}</p>
    {values && <Sparkline values={values} color={color} />}
  </section>
);
