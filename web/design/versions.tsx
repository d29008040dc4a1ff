import { type ReactNode, useState } from 'react';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { DiffView } from './diff-view.tsx';
import { Card } from './layout.tsx';
import { ErrorNote } from './states.tsx';
import { Ago } from './time.tsx';

export interface Version {
  readonly id: string;
  readonly created_at: string;
  /** What it says, as text that can be compared. */
  readonly text: string;
}

/** What something was before, newest first; what changed since; and the way back. */
export function VersionList({
  versions,
  total,
  currentId,
  onRestore,
  isBusy = false,
  fault,
  note,
}: {
  readonly versions: readonly Version[];
  /** Of all, also of those that are not in the list. */
  readonly total: number;
  readonly currentId: string;
  /** Null: not allowed, or not now. */
  readonly onRestore: ((id: string) => void) | null;
  readonly isBusy?: boolean;
  readonly fault?: unknown;
  readonly note?: ReactNode;
}) {
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = versions.find(({ id }) => id === chosen) ?? versions[1] ?? versions[0];
  const current = versions.find(({ id }) => id === currentId);
  if (!shown || !current) return null;
  const number = (id: string) => total - versions.findIndex((each) => each.id === id);
  return (
    <div className="versions">
      <ul className="versions-list" aria-label="Versions">
        {versions.map((version) => (
          <li key={version.id}>
            <button
              type="button"
              aria-pressed={version.id === shown.id}
              className="versions-item"
              onClick={() => setChosen(version.id)}
            >
              <strong>Version {number(version.id)}</strong>
              {version.id === currentId && <Badge tone="good">in use</Badge>}
              <span className="soft small">
                <Ago at={version.created_at} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      <Card
        title={shown.id === current.id ? 'In use now' : `From version ${number(shown.id)} to what is in use`}
        actions={
          onRestore &&
          shown.id !== current.id && (
            <Button icon="refresh" isBusy={isBusy} onClick={() => onRestore(shown.id)}>
              Restore version {number(shown.id)}
            </Button>
          )
        }
      >
        <div className="stack gap-3">
          {note}
          {fault ? <ErrorNote error={fault} /> : null}
          {shown.id === current.id ? (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
            <pre className="versions-text" tabIndex={0}>
              {shown.text}
            </pre>
          ) : (
            <DiffView label="What changed" before={shown.text} after={current.text} />
          )}
        </div>
      </Card>
    </div>
  );
}
