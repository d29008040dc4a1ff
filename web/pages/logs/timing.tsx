import { Badge } from '../../design/badge.tsx';
import { formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { Stack } from '../../design/layout.tsx';
import { Note } from '../../design/states.tsx';
import { Waterfall, type WaterfallBar, type WaterfallRow } from '../../design/waterfall.tsx';
import type { Attempt, LogDetail } from './entries.ts';

const REASONS: Readonly<Record<string, string>> = {
  retry: 'retry',
  fallback: 'fallback',
  stream_options_refused: 'asked again without usage',
  circuit_open: 'circuit open',
};

const isGood = ({ status, error_code }: Attempt): boolean => status !== null && status < 400 && error_code === null;

function barsOf(attempt: Attempt): WaterfallBar[] {
  const { started_ms, connect_ms, first_byte_ms, ended_ms, cache, guardrails } = attempt;
  const bars: WaterfallBar[] = [];
  if (cache)
    bars.push({
      kind: 'cache',
      name: `cache ${cache.status.toLowerCase()}`,
      startMs: cache.started_ms,
      endMs: cache.started_ms + cache.duration_ms,
    });
  for (const each of guardrails)
    bars.push({
      kind: each.verdict === false ? 'failed' : 'guardrail',
      name: `guardrail ${each.id}`,
      startMs: each.started_ms,
      endMs: each.started_ms + each.duration_ms,
    });
  if (attempt.skipped) return bars;
  const connected = started_ms + (connect_ms ?? 0);
  if (connect_ms !== null) bars.push({ kind: 'connect', name: 'connecting', startMs: started_ms, endMs: connected });
  const answered = first_byte_ms ?? ended_ms;
  const failed = !isGood(attempt);
  bars.push({
    kind: failed ? 'failed' : 'answer',
    name: first_byte_ms === null ? 'waiting, no answer came' : 'waiting for the answer',
    startMs: connected,
    endMs: answered,
  });
  if (first_byte_ms !== null && ended_ms > first_byte_ms)
    bars.push({ kind: failed ? 'failed' : 'stream', name: 'answering', startMs: first_byte_ms, endMs: ended_ms });
  return bars;
}

const rowOf = (attempt: Attempt, index: number): WaterfallRow => ({
  key: String(index),
  label: (
    <span className="timing-target">
      <strong>{attempt.model ?? attempt.provider ?? attempt.target}</strong>
      <span className="soft small truncate">
        {[attempt.provider, attempt.virtual_key && `@${attempt.virtual_key}`, attempt.target]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </span>
  ),
  note: (
    <>
      {attempt.reason && <Badge tone="info">{REASONS[attempt.reason] ?? attempt.reason}</Badge>}
      {attempt.skipped ? (
        <Badge tone="warn">not asked</Badge>
      ) : (
        <Badge tone={isGood(attempt) ? 'good' : 'bad'}>{attempt.status ?? 'no answer'}</Badge>
      )}
    </>
  ),
  bars: barsOf(attempt),
});

/** Every request to a provider, when it began and what became of it. */
export function Timing({ entry }: { readonly entry: LogDetail }) {
  const { attempts, cache } = entry;
  const rows: WaterfallRow[] = [
    {
      key: 'call',
      label: (
        <span className="timing-target">
          <strong>The call</strong>
          <span className="soft small truncate">
            {entry.method} {entry.path}
          </span>
        </span>
      ),
      note: formatDuration(entry.duration_ms),
      bars: [
        {
          kind: 'wait',
          name: 'until the first byte',
          startMs: 0,
          endMs: entry.first_byte_ms ?? entry.duration_ms,
        },
        ...(entry.first_byte_ms !== null
          ? [{ kind: 'call' as const, name: 'answering', startMs: entry.first_byte_ms, endMs: entry.duration_ms }]
          : []),
      ],
    },
    ...(cache
      ? [
          {
            key: 'cache',
            label: <strong>From the cache</strong>,
            note: <Badge tone="info">{cache.status.toLowerCase()}</Badge>,
            bars: [
              {
                kind: 'cache' as const,
                name: 'found',
                startMs: cache.started_ms,
                endMs: cache.started_ms + cache.duration_ms,
              },
            ],
          },
        ]
      : []),
    ...attempts.map(rowOf),
  ];
  const totalMs = Math.max(entry.duration_ms, ...attempts.map(({ ended_ms }) => ended_ms));
  const causes = attempts.filter(({ error_code }) => error_code !== null);
  return (
    <Stack gap={4}>
      <Waterfall label="When each attempt began and ended" rows={rows} totalMs={totalMs} />
      <ul className="timing-legend small soft" aria-label="Colours">
        <li data-kind="connect">connecting</li>
        <li data-kind="answer">waiting for the answer</li>
        <li data-kind="stream">answering</li>
        <li data-kind="guardrail">guardrail</li>
        <li data-kind="cache">cache</li>
        <li data-kind="failed">failed</li>
      </ul>
      {attempts.length === 0 && !cache && <Note>No provider was asked: the gateway answered by itself.</Note>}
      {causes.length > 0 && (
        <ul className="timing-causes">
          {causes.map((attempt, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts keep their order
            <li key={index}>
              <code>{attempt.target}</code> was not used: <code className="logs-error">{attempt.error_code}</code>
              {attempt.status !== null && <span className="soft"> after status {attempt.status}</span>}
            </li>
          ))}
        </ul>
      )}
      {attempts.length > 1 && (
        <table className="timing-table">
          <thead>
            <tr>
              <th>Attempt</th>
              <th>Host</th>
              <th>Tokens</th>
              <th>Cost</th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((attempt, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: attempts keep their order
              <tr key={index}>
                <td>
                  <code>{attempt.target}</code>
                </td>
                <td className="soft">{attempt.host ?? '–'}</td>
                <td>{attempt.total_tokens === null ? '–' : formatNumber(attempt.total_tokens)}</td>
                <td>{attempt.cost === null ? '–' : formatMoney(attempt.cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Stack>
  );
}
