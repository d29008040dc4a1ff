import type { ReactNode } from 'react';
import { ApiFault } from '../api/fault.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

/** Where nothing is yet: what would be here, and the action with which it begins. */
export const EmptyState = ({
  icon = 'layers',
  title,
  children,
  action,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) => (
  <div className="empty">
    <span className="empty-icon">
      <Icon name={icon} size={20} />
    </span>
    <h2>{title}</h2>
    {children && <p className="soft">{children}</p>}
    {action}
  </div>
);

/** What to do about a failure, by its code; the message of the server says what happened. */
const NEXT: Readonly<Record<string, string>> = {
  insufficient_scope: 'Ask an administrator of the workspace for this right.',
  store_unavailable: 'The database does not answer. Calls to models go on; try again in a moment.',
  rate_limited: 'Wait a moment, then try again.',
  csrf_token_missing: 'Load the page again.',
  network: 'Check that the gateway runs and that you are connected, then try again.',
};

export const adviceFor = (error: unknown): string | null =>
  error instanceof ApiFault && error.code ? (NEXT[error.code] ?? null) : null;

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function ErrorNote({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const advice = adviceFor(error);
  return (
    <div className="note note-bad" role="alert">
      <Icon name="warn" />
      <div>
        <strong>{messageOf(error)}</strong>
        {advice && <p>{advice}</p>}
        {error instanceof ApiFault && error.requestId && (
          <p className="small">
            Request <code>{error.requestId}</code>
          </p>
        )}
      </div>
      {onRetry && (
        <Button size="small" icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export const Note = ({
  tone = 'info',
  children,
}: {
  readonly tone?: 'info' | 'warn' | 'good' | 'bad';
  readonly children: ReactNode;
}) => (
  <div className={`note note-${tone}`}>
    <Icon name={tone === 'good' ? 'check' : tone === 'info' ? 'info' : 'warn'} />
    <div>{children}</div>
  </div>
);

/** Holds the place of what is being loaded. */
export const Skeleton = ({ lines = 3 }: { readonly lines?: number }) => (
  <div className="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
      <span key={index} style={{ width: `${92 - ((index * 17) % 38)}%` }} />
    ))}
  </div>
);

/** How far something is; without a value, that it is under way. */
export const Progress = ({
  label,
  value,
  most = 1,
  tone = 'accent',
}: {
  readonly label: string;
  readonly value?: number;
  readonly most?: number;
  readonly tone?: 'accent' | 'good' | 'warn' | 'bad';
}) => {
  const share = value === undefined ? null : most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
  return (
    <div
      className={`progress progress-${tone}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
    >
      <span className={share === null ? 'progress-endless' : ''} style={{ width: `${(share ?? 0.35) * 100}%` }} />
    </div>
  );
};
