import type { ReactNode } from 'react';
import { formatDuration } from './format.ts';

export interface WaterfallBar {
  /** What it is, as a class of the style sheet. */
  readonly kind: 'wait' | 'connect' | 'answer' | 'stream' | 'failed' | 'guardrail' | 'cache' | 'call' | 'span';
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

export interface WaterfallRow {
  readonly key: string;
  readonly label: ReactNode;
  readonly note?: ReactNode;
  /** How deep it stands in the tree. */
  readonly depth?: number;
  readonly bars: readonly WaterfallBar[];
  readonly isOpen?: boolean;
  readonly onOpen?: () => void;
}

/** Things that took time, one below the other, each where it began. */
export function Waterfall({
  label,
  rows,
  totalMs,
}: {
  readonly label: string;
  readonly rows: readonly WaterfallRow[];
  readonly totalMs: number;
}) {
  const most = Math.max(totalMs, 1);
  const share = (ms: number) => `${Math.min(100, Math.max(0, (ms / most) * 100))}%`;
  return (
    <section className="waterfall" aria-label={label}>
      <div className="waterfall-scale" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <span key={part} style={{ left: `${part * 100}%` }}>
            {formatDuration(most * part)}
          </span>
        ))}
      </div>
      <ol>
        {rows.map((row) => (
          <li key={row.key} className={`waterfall-row ${row.isOpen ? 'waterfall-open' : ''}`}>
            <Head row={row} />
            <div className="waterfall-lane">
              {row.bars.map((bar) => (
                <span
                  key={`${bar.kind}-${bar.name}-${bar.startMs}`}
                  className={`waterfall-bar waterfall-${bar.kind}`}
                  style={{ left: share(bar.startMs), width: share(bar.endMs - bar.startMs) }}
                  title={`${bar.name}: ${formatDuration(bar.endMs - bar.startMs)}, from ${formatDuration(bar.startMs)} on`}
                >
                  <span className="hidden-visually">
                    {bar.name} {formatDuration(bar.endMs - bar.startMs)}
                  </span>
                </span>
              ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Head({ row }: { readonly row: WaterfallRow }) {
  const content = (
    <>
      <span className="waterfall-label truncate">{row.label}</span>
      {row.note && <span className="waterfall-note">{row.note}</span>}
    </>
  );
  const style = row.depth ? { paddingLeft: row.depth * 16 } : undefined;
  return row.onOpen ? (
    <button type="button" className="waterfall-head" style={style} aria-pressed={row.isOpen} onClick={row.onOpen}>
      {content}
    </button>
  ) : (
    <div className="waterfall-head" style={style}>
      {content}
    </div>
  );
}
