import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { IconButton } from '../../design/button.tsx';
import { copyText } from '../../design/copy.tsx';
import { formatDuration, formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { Menu, Tabs } from '../../design/menu.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { toast } from '../../design/toast.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { draftOfCall } from '../playground/draft.ts';
import { fragmentOf } from '../playground/share.ts';
import { type AddTerm, toneOf } from './columns.tsx';
import { Conversation } from './conversation.tsx';
import { curlOf } from './curl.ts';
import type { LogDetail } from './entries.ts';
import { EntryFacts } from './entry-facts.tsx';
import { Guardrails, verdictsOf } from './guardrails.tsx';
import type { Names } from './names.ts';
import { RawBodies } from './raw-bodies.tsx';
import { Timing } from './timing.tsx';

export interface EntryPanelProps {
  readonly id: string;
  readonly tab: string;
  readonly onTab: (tab: string) => void;
  readonly names: Names;
  readonly onFilter?: AddTerm;
  readonly onClose: () => void;
  readonly onPrevious: (() => void) | null;
  readonly onNext: (() => void) | null;
}

/** One entry beside the list: what was said, when, by whom, for how much. */
export function EntryPanel(props: EntryPanelProps) {
  const { id, onClose, onPrevious, onNext } = props;
  const found = useApi('/v1/logs/{id}', { params: { id } });
  const entry = found.data;
  return (
    <aside className="card entry" aria-label="Log entry">
      <div className="entry-head">
        <div className="entry-title">
          {entry ? (
            <>
              <Badge tone={toneOf(entry)} dot>
                {entry.status}
              </Badge>
              <strong className="truncate">{entry.model ?? `${entry.method} ${entry.path}`}</strong>
            </>
          ) : (
            <strong className="truncate">{id}</strong>
          )}
        </div>
        <div className="entry-actions">
          {entry && <EntryActions entry={entry} />}
          <IconButton
            size="small"
            icon="up"
            label="Previous (k)"
            disabled={!onPrevious}
            onClick={onPrevious ?? undefined}
          />
          <IconButton size="small" icon="down" label="Next (j)" disabled={!onNext} onClick={onNext ?? undefined} />
          <IconButton size="small" icon="close" label="Close (Esc)" onClick={onClose} />
        </div>
      </div>
      {found.error ? (
        <div className="entry-body">
          <ErrorNote error={found.error} onRetry={() => void found.refetch()} />
        </div>
      ) : entry ? (
        <Opened entry={entry} {...props} />
      ) : (
        <Skeleton lines={8} />
      )}
    </aside>
  );
}

function Opened({ entry, tab, onTab, names, onFilter }: { readonly entry: LogDetail } & EntryPanelProps) {
  const verdicts = verdictsOf(entry);
  const failed = verdicts.filter(({ verdict }) => verdict === false).length;
  const tabs = [
    { value: 'messages', label: 'Conversation', content: <Conversation entry={entry} /> },
    {
      value: 'timing',
      label: entry.attempts.length > 1 ? `Attempts ${entry.attempts.length}` : 'Timing',
      content: <Timing entry={entry} />,
    },
    ...(verdicts.length > 0
      ? [
          {
            value: 'guardrails',
            label: failed > 0 ? `Guardrails ${failed} of ${verdicts.length} failed` : `Guardrails ${verdicts.length}`,
            content: <Guardrails verdicts={verdicts} />,
          },
        ]
      : []),
    { value: 'raw', label: 'Raw', content: <RawBodies entry={entry} /> },
    { value: 'facts', label: 'Details', content: <EntryFacts entry={entry} names={names} onFilter={onFilter} /> },
  ];
  return (
    <div className="entry-body">
      <dl className="entry-sums">
        <Sum name="Took" value={formatDuration(entry.duration_ms)} />
        <Sum name="First byte" value={entry.first_byte_ms === null ? '–' : formatDuration(entry.first_byte_ms)} />
        <Sum
          name="Tokens"
          value={
            entry.input_tokens === null && entry.output_tokens === null
              ? '–'
              : `${formatNumber(entry.input_tokens ?? 0)} → ${formatNumber(entry.output_tokens ?? 0)}`
          }
        />
        <Sum name="Cost" value={entry.cost === null ? '–' : formatMoney(entry.cost)} />
        <Sum name="When" value={formatTime(entry.created_at)} />
      </dl>
      <Tabs
        label="Parts of the entry"
        tabs={tabs}
        value={tabs.some(({ value }) => value === tab) ? tab : 'messages'}
        onChange={onTab}
      />
    </div>
  );
}

const Sum = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function EntryActions({ entry }: { readonly entry: LogDetail }) {
  const may = useMay();
  const navigate = useNavigate();
  const copy = async (text: string, what: string) =>
    toast(
      (await copyText(text))
        ? { title: `${what} is copied.`, tone: 'good' }
        : { title: 'The browser does not let pages copy here.', tone: 'bad' },
    );
  const draft = may('completions.write') ? draftOfCall(entry) : null;
  const play = async () => {
    if (draft) await navigate({ to: '/playground', hash: await fragmentOf(draft) });
  };
  useShortcut('y', 'Copy as curl', () => void copy(curlOf(entry), 'The curl command'));
  useShortcut('p', 'Open in the playground', () => void play());
  return (
    <>
      {may('feedbacks.write') && <Feedback key={entry.id} entry={entry} />}
      {draft && <IconButton size="small" icon="play" label="Open in the playground (p)" onClick={() => void play()} />}
      <Menu
        label="Copy"
        trigger={<IconButton size="small" icon="copy" label="Copy" />}
        items={[
          { label: 'As curl', icon: 'copy', onSelect: () => void copy(curlOf(entry), 'The curl command') },
          { label: 'Link to this entry', icon: 'external', onSelect: () => void copy(location.href, 'The link') },
          { label: 'Id of the request', icon: 'copy', onSelect: () => void copy(entry.id, 'The id') },
          { label: 'Id of the trace', icon: 'copy', onSelect: () => void copy(entry.trace_id, 'The id') },
        ]}
      />
    </>
  );
}

const GOOD = 10;
const BAD = -10;

/** Rates the answer: what people say of it is counted with the figures. */
function Feedback({ entry }: { readonly entry: LogDetail }) {
  const [given, setGiven] = useState<{ readonly id: string | null; readonly value: number } | null>(null);
  const rate = useAction(
    async (value: number) => {
      if (given?.id) await api.put('/v1/feedback/{id}', { params: { id: given.id }, body: { value } });
      const id =
        given?.id ??
        (await api.post('/v1/feedback', { body: { trace_id: entry.trace_id, value, metadata: { source: 'console' } } }))
          .feedback_ids[0]!;
      return { id, value };
    },
    { onDone: setGiven, changes: ['/v1/analytics/graphs/feedbacks'] },
  );
  const button = (value: number, icon: 'thumb' | 'thumb-down', label: string) => (
    <IconButton
      size="small"
      icon={icon}
      label={label}
      aria-pressed={given?.value === value}
      disabled={rate.isPending}
      className={given?.value === value ? `entry-rated entry-rated-${value > 0 ? 'good' : 'bad'}` : ''}
      onClick={() => rate.mutate(value)}
    />
  );
  return (
    <>
      {button(GOOD, 'thumb', 'A good answer')}
      {button(BAD, 'thumb-down', 'A bad answer')}
    </>
  );
}
