import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import { IconButton } from '../../design/button.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { formatBytes, formatMoney, formatNumber } from '../../design/format.ts';
import { KeyValue, Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import type { AddTerm } from './columns.tsx';
import type { LogDetail } from './entries.ts';
import type { Names } from './names.ts';

type Row = readonly [ReactNode, ReactNode];

/** Who, where, how much, and the headers of both ways. */
export function EntryFacts({
  entry,
  names,
  onFilter,
}: {
  readonly entry: LogDetail;
  readonly names: Names;
  readonly onFilter?: AddTerm;
}) {
  const value = (field: string, raw: string | number | null, shown: ReactNode = raw): ReactNode =>
    raw === null ? (
      <span className="soft">–</span>
    ) : (
      <span className="fact">
        <span className="fact-value">{shown}</span>
        {onFilter && (
          <>
            <IconButton
              size="small"
              icon="filter"
              label={`Only ${field} ${raw}`}
              onClick={() => onFilter(field, raw, false)}
            />
            <IconButton
              size="small"
              icon="close"
              label={`Without ${field} ${raw}`}
              onClick={() => onFilter(field, raw, true)}
            />
          </>
        )}
      </span>
    );
  const rows: readonly Row[] = [
    ['Request', <Copied key="id" text={entry.id} />],
    ['Trace', value('trace', entry.trace_id, <code>{entry.trace_id}</code>)],
    [
      'Session',
      entry.session_id === null
        ? value('session', null)
        : value(
            'session',
            entry.session_id,
            <Link to={'/sessions/$id' as string} params={{ id: entry.session_id } as never}>
              {entry.session_id}
            </Link>,
          ),
    ],
    ['Path', value('path', entry.path, `${entry.method} ${entry.path}`)],
    ['Provider', value('provider', entry.provider)],
    ['Virtual key', value('virtual_key', entry.virtual_key)],
    ['Model', value('model', entry.model)],
    ['API key', value('api_key', entry.api_key_id, entry.api_key_id && names.apiKey(entry.api_key_id))],
    ['User', value('user', entry.user_id)],
    ['Address', value('address', entry.client_address)],
    ['Failed by', value('failed_by', entry.failed_by)],
    ['Error', value('error', entry.error_code)],
    ['Ratings', <Ratings key="ratings" entry={entry} />],
    ['Size', `${formatBytes(entry.request_bytes)} asked, ${formatBytes(entry.response_bytes)} answered`],
  ];
  const metadata = Object.entries(entry.metadata ?? {});
  return (
    <Stack gap={6}>
      <TokenKinds entry={entry} />
      <KeyValue rows={rows} />
      {metadata.length > 0 && (
        <section>
          <h3>Metadata</h3>
          <KeyValue
            rows={metadata.map(([key, text]): Row => [<code key={key}>{key}</code>, value(`meta.${key}`, text)])}
          />
        </section>
      )}
      <Headers title="Headers of the request" headers={entry.request?.headers} />
      <Headers title="Headers of the answer" headers={entry.response?.headers} />
    </Stack>
  );
}

const HOUR_MS = 3_600_000;

/** What people have said of the answer, here or in the application. */
function Ratings({ entry }: { readonly entry: LogDetail }) {
  const may = useMay();
  const { slug } = useWorkspace();
  const [until] = useState(() => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  const { data } = useApi(
    '/v1/analytics/graphs/feedbacks/scores',
    {
      query: {
        time_of_generation_min: String(entry.created_at - HOUR_MS),
        time_of_generation_max: String(until),
        workspace_slug: slug,
        trace_id: entry.trace_id,
      },
    },
    { enabled: may('analytics.view') },
  );
  const scores = Object.entries(data?.summary.scores ?? {}).filter(([, count]) => count > 0);
  if (scores.length === 0) return <span className="soft">–</span>;
  return scores.map(([score, count]) => `${count} × ${Number(score) > 0 ? '+' : ''}${score}`).join(', ');
}

const Copied = ({ text }: { readonly text: string }) => (
  <span className="fact">
    <code className="fact-value">{text}</code>
    <CopyButton text={text} />
  </span>
);

/** Tokens by kind as one bar, with what each kind cost where that is known: what was read anew, what came from the provider's cache, what was thought, what was said. */
function TokenKinds({ entry }: { readonly entry: LogDetail }) {
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, cost_details: paid } = entry;
  if (input_tokens === null && output_tokens === null) return null;
  const cached = Math.min(cached_tokens ?? 0, input_tokens ?? 0);
  const reasoning = Math.min(reasoning_tokens ?? 0, output_tokens ?? 0);
  const kinds = [
    { name: 'input', count: (input_tokens ?? 0) - cached, paid: paid?.input },
    { name: 'cached input', count: cached, paid: paid?.cached_input },
    { name: 'reasoning', count: reasoning, paid: paid?.reasoning },
    { name: 'output', count: (output_tokens ?? 0) - reasoning, paid: paid?.output },
  ].filter(({ count }) => count > 0);
  return (
    <section className="token-kinds">
      <div className="token-kinds-bar" aria-hidden="true">
        {kinds.map(({ name, count }) => (
          <span key={name} data-kind={name} style={{ flexGrow: count }} />
        ))}
      </div>
      <ul className="small">
        {kinds.map(({ name, count, paid: dollars }) => (
          <li key={name} data-kind={name}>
            {name} <strong className="numeric">{formatNumber(count)}</strong>
            {dollars !== undefined && <span className="numeric soft"> {formatMoney(dollars)}</span>}
          </li>
        ))}
        <li className="token-kinds-cost">
          cost <strong className="numeric">{cost === null ? 'unknown' : formatMoney(cost)}</strong>
        </li>
      </ul>
    </section>
  );
}

function Headers({
  title,
  headers,
}: {
  readonly title: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
}) {
  const rows = Object.entries(headers ?? {}).map(([name, text]): Row => [<code key={name}>{name}</code>, text]);
  if (rows.length === 0) return null;
  return (
    <details className="entry-fold">
      <summary>
        {title} <span className="soft">{rows.length}</span>
      </summary>
      <KeyValue rows={rows} />
    </details>
  );
}
