/** A loss at a step of the training; null where it was not told. */
export interface LossPoint {
  readonly step: number;
  readonly train: number | null;
  readonly valid: number | null;
}

const WIDTH = 480;
const HEIGHT = 150;
const LEFT = 38;
const BOTTOM = 20;
const TOP = 8;

/** Training and validation loss over the steps, as lines. */
export function LossCurve({ points }: { readonly points: readonly LossPoint[] }) {
  const losses = points.flatMap(({ train, valid }) => [train, valid]).filter((each): each is number => each !== null);
  const most = Math.max(...losses);
  const least = Math.min(0, ...losses);
  const first = points[0]!.step;
  const last = points.at(-1)!.step;
  const x = (step: number) => LEFT + ((step - first) / Math.max(1, last - first)) * (WIDTH - LEFT - 4);
  const y = (loss: number) => TOP + (1 - (loss - least) / Math.max(1e-9, most - least)) * (HEIGHT - TOP - BOTTOM);
  const line = (of: 'train' | 'valid') =>
    points
      .filter((point) => point[of] !== null)
      .map((point) => `${x(point.step).toFixed(1)},${y(point[of]!).toFixed(1)}`)
      .join(' ');
  const hasValid = points.some(({ valid }) => valid !== null);
  const end = [...points].reverse().find(({ train }) => train !== null)?.train;
  return (
    <figure className="tuning-loss">
      <figcaption>
        <strong>Loss</strong>
        <span className="tuning-key tuning-train">
          training{end !== undefined && end !== null && ` ${end.toFixed(3)}`}
        </span>
        {hasValid && <span className="tuning-key tuning-valid">validation</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Loss from step ${first} to ${last}, ${most.toFixed(2)} at most`}
      >
        {[most, (most + least) / 2, least].map((loss) => (
          <g key={loss}>
            <line x1={LEFT} x2={WIDTH} y1={y(loss)} y2={y(loss)} />
            <text x={LEFT - 6} y={y(loss) + 3.5} textAnchor="end">
              {loss.toFixed(2)}
            </text>
          </g>
        ))}
        <text x={LEFT} y={HEIGHT - 4}>
          step {first}
        </text>
        <text x={WIDTH} y={HEIGHT - 4} textAnchor="end">
          {last}
        </text>
        <polyline className="tuning-train" points={line('train')} />
        {hasValid && <polyline className="tuning-valid" points={line('valid')} />}
      </svg>
    </figure>
  );
}
