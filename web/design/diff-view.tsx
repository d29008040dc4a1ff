import { useMemo } from 'react';
import { diffLines, folded } from './diff.ts';

const SIGNS = { same: ' ', gone: '−', new: '+' } as const;

/** Two texts against each other, line by line. */
export function DiffView({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const lines = useMemo(() => folded(diffLines(before, after)), [before, after]);
  if (before === after) return <p className="diff-same soft">Both are the same.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
    <section className="diff" tabIndex={0} aria-label={label}>
      <pre>
        {lines.map((line, index) =>
          line === null ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines keep their order
            <span key={index} className="diff-fold">
              {'  …\n'}
            </span>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines keep their order
            <span key={index} className={`diff-${line.kind}`}>
              {`${SIGNS[line.kind]} ${line.text}\n`}
            </span>
          ),
        )}
      </pre>
    </section>
  );
}
