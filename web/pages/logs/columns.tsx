import type { ReactNode } from 'react';
import { Badge, type Tone } from '../../design/badge.tsx';
import { formatDuration, formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { Icon } from '../../design/icon.tsx';
import type { Column } from '../../design/table.tsx';
import type { LogEntry } from './entries.ts';
import { type Names, shortId } from './names.ts';

export type AddTerm = (field: string, value: string | number | null, isNot: boolean) => void;

export const isFailed = ({ status, failed_by }: Pick<LogEntry, 'status' | 'failed_by'>): boolean =>
  status >= 400 || failed_by !== null;

export const toneOf = ({ status, failed_by }: Pick<LogEntry, 'status' | 'failed_by'>): Tone =>
  status >= 500 || (status < 400 && failed_by !== null) ? 'bad' : status >= 400 ? 'warn' : 'good';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_MS = 86_400_000;

/** To the second, with the day where it is not the last one. */
export const formatClock = (at: number, now = Date.now()): string =>
  now - at < DAY_MS ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`;

/** A value of a row that the log can be filtered by: the button beside it does. */
function Cell({
  field,
  value,
  add,
  children,
}: {
  readonly field: string;
  readonly value: string | number | null;
  readonly add: AddTerm;
  readonly children: ReactNode;
}) {
  return (
    <span className="logs-cell">
      <span className="truncate">{children}</span>
      <button
        type="button"
        className="logs-cell-filter"
        tabIndex={-1}
        title={`Only ${field}:${value ?? 'none'} · with Shift: everything else`}
        aria-label={`Only ${field} ${value ?? 'none'}`}
        onClick={(event) => add(field, value, event.shiftKey)}
      >
        <Icon name="filter" size={12} />
      </button>
    </span>
  );
}

/** Longer bars for longer calls, by orders of magnitude: 10 ms to 100 s. */
const lengthOf = (ms: number): number => Math.min(1, Math.max(0.03, Math.log10(Math.max(ms, 10) / 10) / 4));

export function columnsOf({
  names,
  add,
  isNarrow,
  isCalls,
}: {
  readonly names: Names;
  readonly add: AddTerm;
  /** Beside an open entry there is room for less. */
  readonly isNarrow: boolean;
  readonly isCalls: boolean;
}): readonly Column<LogEntry>[] {
  const status: Column<LogEntry> = {
    id: 'status',
    header: 'Status',
    width: '92px',
    cell: (entry) => (
      <Cell field="status" value={entry.status} add={add}>
        <Badge tone={toneOf(entry)} dot>
          {entry.status}
        </Badge>
      </Cell>
    ),
  };
  const time: Column<LogEntry> = {
    id: 'time',
    header: 'Time',
    width: '106px',
    cell: ({ created_at }) => (
      <time className="numeric soft" dateTime={new Date(created_at).toISOString()} title={formatTime(created_at)}>
        {formatClock(created_at)}
      </time>
    ),
  };
  const what: Column<LogEntry> = isCalls
    ? {
        id: 'model',
        header: 'Model',
        cell: (entry) =>
          entry.model ? (
            <Cell field="model" value={entry.model} add={add}>
              <strong className="logs-model">{entry.model}</strong>
              {entry.error_code && <span className="logs-error"> {entry.error_code}</span>}
            </Cell>
          ) : (
            <Cell field={entry.error_code ? 'error' : 'path'} value={entry.error_code ?? entry.path} add={add}>
              <span className={entry.error_code ? 'logs-error' : 'soft'}>{entry.error_code ?? entry.path}</span>
            </Cell>
          ),
      }
    : {
        id: 'path',
        header: 'Request',
        cell: (entry) => (
          <Cell field="path" value={entry.path} add={add}>
            <span className="soft">{entry.method}</span> {entry.path || 'several requests of strangers'}
            {entry.error_code && <span className="logs-error"> {entry.error_code}</span>}
          </Cell>
        ),
      };
  const duration: Column<LogEntry> = {
    id: 'duration',
    header: 'Took',
    width: '132px',
    align: 'end',
    hideBelow: 'small',
    cell: (entry) => (
      <span className="logs-took" title={tookText(entry)}>
        <span className="logs-took-track">
          <span
            className={isFailed(entry) ? 'logs-took-bar logs-took-failed' : 'logs-took-bar'}
            style={{ width: `${lengthOf(entry.duration_ms) * 100}%` }}
          />
        </span>
        {formatDuration(entry.duration_ms)}
      </span>
    ),
  };
  const cost: Column<LogEntry> = {
    id: 'cost',
    header: 'Cost',
    width: '104px',
    align: 'end',
    hideBelow: 'small',
    cell: (entry) => (entry.cost === null ? <span className="soft">–</span> : formatMoney(entry.cost)),
  };
  if (isNarrow) return [time, status, what, { ...duration, hideBelow: 'medium' }];
  return [
    time,
    status,
    what,
    {
      id: 'provider',
      header: 'Provider',
      width: '130px',
      hideBelow: 'large',
      cell: ({ provider, virtual_key }) => (
        <Cell field="provider" value={provider} add={add}>
          <span className="soft" title={virtual_key ? `virtual key ${virtual_key}` : undefined}>
            {provider ?? '–'}
          </span>
        </Cell>
      ),
    },
    {
      id: 'caller',
      header: 'Caller',
      width: '140px',
      hideBelow: 'medium',
      cell: ({ api_key_id, user_id }) =>
        api_key_id ? (
          <Cell field="api_key" value={api_key_id} add={add}>
            {names.apiKey(api_key_id)}
          </Cell>
        ) : user_id ? (
          <Cell field="user" value={user_id} add={add}>
            <span className="soft">user {shortId(user_id)}</span>
          </Cell>
        ) : (
          <span className="soft">–</span>
        ),
    },
    {
      id: 'marks',
      header: <span className="hidden-visually">Marks</span>,
      width: '92px',
      hideBelow: 'large',
      cell: (entry) => <Marks entry={entry} />,
    },
    {
      id: 'tokens',
      header: 'Tokens',
      width: '118px',
      align: 'end',
      hideBelow: 'medium',
      cell: ({ input_tokens, output_tokens }) =>
        input_tokens === null && output_tokens === null ? (
          <span className="soft">–</span>
        ) : (
          <span title="of the request → of the answer">
            {formatNumber(input_tokens ?? 0)} <span className="soft">→</span> {formatNumber(output_tokens ?? 0)}
          </span>
        ),
    },
    cost,
    duration,
  ];
}

const tookText = ({ first_byte_ms, duration_ms }: LogEntry): string =>
  `${first_byte_ms === null ? '' : `first byte after ${formatDuration(first_byte_ms)}, `}all after ${formatDuration(duration_ms)}`;

/** What is out of the ordinary with a call. */
function Marks({ entry }: { readonly entry: LogEntry }) {
  const verdicts = [
    ...(entry.hook_results?.before_request_hooks ?? []),
    ...(entry.hook_results?.after_request_hooks ?? []),
  ] as readonly { readonly verdict?: boolean | null }[];
  const isCaught = verdicts.some(({ verdict }) => verdict === false);
  return (
    <span className="logs-marks">
      {entry.is_stream && (
        <span title="streamed">
          <Icon name="pulse" size={14} />
        </span>
      )}
      {(entry.attempt_count ?? 1) > 1 && (
        <span className="logs-mark-warn" title={`a provider was asked ${entry.attempt_count} times`}>
          <Icon name="refresh" size={13} />
          {entry.attempt_count}
        </span>
      )}
      {entry.attempt_count === 0 && !isFailed(entry) && entry.provider !== null && (
        <span title="answered from the cache">
          <Icon name="layers" size={14} />
        </span>
      )}
      {verdicts.length > 0 && (
        <span
          className={isCaught ? 'logs-mark-bad' : undefined}
          title={isCaught ? 'a guardrail found something' : 'guardrails passed it'}
        >
          <Icon name="shield" size={14} />
        </span>
      )}
      {entry.session_id !== null && (
        <span title={`session ${entry.session_id}`}>
          <Icon name="tree" size={14} />
        </span>
      )}
    </span>
  );
}
